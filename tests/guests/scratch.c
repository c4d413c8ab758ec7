// The private file system: leaving things in it, finding what others left, filling it.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "guest.h"

static const char* const kPlaces[] = {"/tmp",       "/dev/shm",   "/var/tmp",
                                      "/workspace", 0 /* HOME */, 0 /* TMPDIR */};

static const char* place(int i) {
  const char* path = i == 4 ? getenv("HOME") : i == 5 ? getenv("TMPDIR") : kPlaces[i];
  return path ? path : "/tmp";
}

static void leave(void) {
  for (int i = 0; i < 6; ++i) {
    char path[4096];
    snprintf(path, sizeof path, "%s/left-behind-%d", place(i), i);
    const int fd = open(path, O_WRONLY | O_CREAT, 0666);
    works(path, fd >= 0 ? write(fd, "secret", 6) : -1);
  }
}

static void find(void) {
  for (int i = 0; i < 6; ++i) {
    char path[4096];
    snprintf(path, sizeof path, "%s/left-behind-%d", place(i), i);
    refused(path, access(path, F_OK));
  }
  // Fresh memory and fresh file blocks hold nothing of anyone's.
  const size_t size = 4 << 20;
  const char* block = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  size_t dirty = 0;
  for (size_t i = 0; i < size; ++i) dirty += block[i] != 0;
  const int fd = open("/tmp/fresh", O_RDWR | O_CREAT, 0600);
  if (ftruncate(fd, size) == 0) {
    const char* file = mmap(0, size, PROT_READ, MAP_SHARED, fd, 0);
    for (size_t i = 0; i < size; ++i) dirty += file[i] != 0;
  }
  holds("fresh pages are zero", dirty == 0);
}

// Writes until it is full; the bound is far above any limit a test sets.
static void fill(const char* directory, long limit_mib) {
  char path[4096];
  snprintf(path, sizeof path, "%s/big", directory);
  const int fd = open(path, O_WRONLY | O_CREAT, 0600);
  static char block[1 << 20];
  memset(block, 'x', sizeof block);
  long written = 0, got = 0;
  while (written < limit_mib << 20 && (got = write(fd, block, sizeof block)) > 0) written += got;
  refused_with("fill with one file", got, ENOSPC, ENOSPC);
  printf("wrote %ld bytes\n", written);
  (void)!ftruncate(fd, 0);
  refused_with("fallocate", fallocate(fd, 0, 0, (off_t)limit_mib << 20), ENOSPC, ENOSPC);
  works("a sparse file", ftruncate(fd, (off_t)1 << 40));  // costs nothing
  (void)!ftruncate(fd, 0);
  close(fd);
  // Inodes.
  long made = 0;
  int failed = 0;
  for (; made < 200000 && !failed; ++made) {
    snprintf(path, sizeof path, "%s/n%ld", directory, made);
    const int empty = open(path, O_WRONLY | O_CREAT, 0600);
    if (empty < 0)
      failed = errno;
    else
      close(empty);
  }
  errno = failed;
  refused_with("fill with empty files", failed ? -1 : 0, ENOSPC, ENOSPC);
  printf("made %ld files\n", made);
}

// A tree deeper than PATH_MAX, with names that break scripts, and modes that break rm.
static void deep(long depth) {
  long made = 0;
  for (; made < depth; ++made) {
    const char* name = made % 3 ? "a\nb \"'$(reboot)" : "-rf";
    if (mkdir(name, 0755) != 0) break;
    if (chdir(name) != 0) break;
    if (made % 100 == 0) {
      close(open("file\n", O_WRONLY | O_CREAT, 0));
      (void)!symlink("/etc", "link");
      mkdir("locked", 0);
    }
  }
  printf("depth %ld\n", made);
  chmod(".", 0);
  holds("a deep tree was made", made == depth);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (is(argv[1], "leave"))
    leave();
  else if (is(argv[1], "find"))
    find();
  else if (is(argv[1], "fill") && argc == 4)
    fill(argv[2], atol(argv[3]));
  else if (is(argv[1], "deep") && argc == 3)
    deep(atol(argv[2]));
  else
    return 2;
  return guest_failed;
}
