// What can be done to a file of the host's that was only given as stdin, to be read. Argument: a
// writable directory, or nothing.
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>

#include "guest.h"

int main(int argc, char** argv) {
  if (argc > 1 && is(argv[1], "nonblock")) {
    puts(fcntl(0, F_SETFL, O_NONBLOCK) == 0 ? "set" : "not set");
    return 0;
  }
  // A pipe that has room again shows what is unread a second time to whoever fills it by that alone.
  if (argc > 1 && is(argv[1], "enlarge")) {
    static char bytes[1 << 20];
    if (fcntl(0, F_SETPIPE_SZ, 1 << 20) < 0) return 1;
    if (argc > 2) return 0;
    usleep(300 * 1000);
    const ssize_t first = read(0, bytes, sizeof bytes);
    usleep(300 * 1000);
    int left = 0;
    if (ioctl(0, FIONREAD, &left) != 0) return 1;
    printf("%zd %d\n", first, left);
    return 0;
  }
  char byte;
  works("read it", read(0, &byte, 1));
  refused("write", write(0, "x", 1));
  refused("pwrite", pwrite(0, "x", 1, 0));
  refused("ftruncate", ftruncate(0, 0));
  refused("fallocate", fallocate(0, 0, 0, 1 << 20));
  refused("map writable",
          mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 0, 0) == MAP_FAILED ? -1 : 0);
  refused("reopen read-write", open("/proc/self/fd/0", O_RDWR));
  refused("reopen by /dev/stdin", open("/dev/stdin", O_WRONLY));
  refused("truncate by /dev/stdin", truncate("/dev/stdin", 0));
  refused("reopen by openat", openat(0, "", O_RDWR));
  refused("parent", openat(0, "..", O_RDONLY));
  refused("fchdir", fchdir(0));
  if (argc > 1) {
    char path[4096];
    snprintf(path, sizeof path, "%s/stolen", argv[1]);
    refused("hard link", linkat(AT_FDCWD, "/proc/self/fd/0", AT_FDCWD, path, AT_SYMLINK_FOLLOW));
    refused("hard link by descriptor", linkat(0, "", AT_FDCWD, path, AT_EMPTY_PATH));
  }
  refused("fchmod", fchmod(0, 0666));
  refused("chmod by /proc", chmod("/proc/self/fd/0", 0666));
  refused("fchown", fchown(0, 1000, 1000));
  struct timespec times[2] = {{1, 0}, {1, 0}};
  refused("futimens", futimens(0, times));
  refused("fsetxattr", fsetxattr(0, "user.brig", "1", 1, 0));
  return guest_failed;
}
