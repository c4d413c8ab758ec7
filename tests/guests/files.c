// Reading and writing what was not given. Arguments: what to try, and paths of the host.
#include <linux/fs.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "guest.h"

struct how {
  unsigned long long flags, mode, resolve;
};

static void write_system(void) {
  static const char* const directories[] = {
      "/",    "/usr", "/usr/bin", "/usr/lib", "/etc",      "/bin",          "/lib",
      "/dev", "/var", "/run",     "/proc",    "/proc/sys", "/etc/ssl/certs"};
  for (unsigned i = 0; i < sizeof directories / sizeof *directories; ++i) {
    char name[256];
    snprintf(name, sizeof name, "%s/brig-escape", directories[i]);
    refused(name, open(name, O_WRONLY | O_CREAT, 0644));
    snprintf(name, sizeof name, "%s/brig-escape-dir", directories[i]);
    refused(name, mkdir(name, 0755));
  }
  static const char* const files[] = {"/usr/bin/env", "/etc/passwd", "/etc/hosts",
                                      "/etc/ld.so.cache", "/usr/bin/perl"};
  for (unsigned i = 0; i < sizeof files / sizeof *files; ++i) {
    char name[256];
    snprintf(name, sizeof name, "write %s", files[i]);
    refused(name, open_for_writing(files[i]));
    snprintf(name, sizeof name, "truncate %s", files[i]);
    refused(name, truncate(files[i], 0));
    snprintf(name, sizeof name, "chmod %s", files[i]);
    refused(name, chmod(files[i], 0777));
    snprintf(name, sizeof name, "unlink %s", files[i]);
    refused(name, unlink(files[i]));
    snprintf(name, sizeof name, "rename %s", files[i]);
    refused(name, rename(files[i], "/tmp/taken"));
    snprintf(name, sizeof name, "link %s", files[i]);
    refused(name, link(files[i], "/tmp/linked"));
    snprintf(name, sizeof name, "chown %s", files[i]);
    refused(name, chown(files[i], 1000, 1000));
  }
}

// Every spelling of one host path (absolute) that is not listed.
static void spellings(const char* path) {
  char spelled[4096];
  refused("plain", open_for_reading(path));
  static const char* const prefixes[] = {"/proc/self/root",   "/proc/self/root/proc/self/root",
                                         "/proc/self/cwd/..", "/proc/1/root",
                                         "/proc/1/cwd",       "/..",
                                         "/../../../..",      "//",
                                         "/usr/../",          "/tmp/../..",
                                         "/dev/fd/../../root"};
  for (unsigned i = 0; i < sizeof prefixes / sizeof *prefixes; ++i) {
    snprintf(spelled, sizeof spelled, "%s%s", prefixes[i], path);
    char name[128];
    snprintf(name, sizeof name, "through %s", prefixes[i]);
    refused(name, open_for_reading(spelled));
  }
  (void)!unlink("/tmp/way");
  works("symlink", symlink(path, "/tmp/way"));
  refused("through a symlink", open_for_reading("/tmp/way"));
  const int root = open("/", O_PATH | O_DIRECTORY);
  refused("openat the root", openat(root, path + 1, O_RDONLY));
  struct how how = {O_RDONLY, 0, 0};
  refused("openat2", syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how));
  how.resolve = 0x10;  // IN_ROOT
  refused("openat2 in root", syscall(SYS_openat2, root, path, &how, sizeof how));
  for (int fd = 0; fd < 3; ++fd) {
    snprintf(spelled, sizeof spelled, "/dev/fd/%d/..%s", fd, path);
    refused("through a stream", open_for_reading(spelled));
  }
  struct stat info;
  refused("stat", stat(path, &info));
  refused("access", access(path, F_OK));
  struct statfs fs;
  refused("statfs", statfs(path, &fs));
  refused("chdir", chdir(path));
  char link[256];
  refused("readlink", readlink(path, link, sizeof link));
  refused("inotify", inotify_add_watch(inotify_init(), path, IN_ALL_EVENTS));
}

// What others open below a path that they see too.
static void watch(const char* path) {
  refused_with("inotify_init", syscall(SYS_inotify_init), ENOSYS, ENOSYS);
  refused_with("inotify_init1", inotify_init1(0), ENOSYS, ENOSYS);
  refused_with("inotify_add_watch", inotify_add_watch(0, path, IN_OPEN), ENOSYS, ENOSYS);
}

// A FIFO of the host's below a readable path.
static void fifo(const char* path) {
  refused_with("write to a FIFO", open(path, O_WRONLY | O_NONBLOCK), EACCES, EACCES);
  refused_with("read and write a FIFO", open(path, O_RDWR | O_NONBLOCK), EACCES, EACCES);
  works("read a FIFO", open(path, O_RDONLY | O_NONBLOCK));
}

// A lease on a file that others open would delay them.
static void leases(const char* path) {
  const int fd = open(path, O_RDONLY);
  works("open", fd);
  refused_with("read lease", fcntl(fd, F_SETLEASE, F_RDLCK), EPERM, EPERM);
  refused_with("write lease", fcntl(fd, F_SETLEASE, F_WRLCK), EPERM, EPERM);
  refused_with("lease with a dirty command",
               syscall(SYS_fcntl, fd, 1ul << 32 | F_SETLEASE, F_RDLCK), EPERM, EPERM);
  refused_with("notice", fcntl(open("/usr/bin", O_RDONLY), F_NOTIFY, DN_ACCESS), EPERM, EPERM);
  refused_with("delegation", syscall(SYS_fcntl, fd, 1040, 0), EPERM, EPERM);
}

static void watch_given(const char* path) {
  const int watcher = inotify_init1(0);
  works("inotify_init1", watcher);
  works("inotify_add_watch", inotify_add_watch(watcher, path, IN_OPEN));
}

static void handles(const char* path) {
  struct {
    struct file_handle head;
    char bytes[128];
  } handle = {.head = {.handle_bytes = 128}};
  int id;
  refused("name_to_handle_at", name_to_handle_at(AT_FDCWD, path, &handle.head, &id, 0));
  // "Shocker": inode 2 is the root of most file systems, whatever is mounted where.
  handle.head.handle_bytes = 8;
  handle.head.handle_type = 1;
  memcpy(handle.head.f_handle, "\2\0\0\0\0\0\0\0", 8);
  const int mount = open("/usr", O_RDONLY);
  refused("open_by_handle_at", open_by_handle_at(mount, &handle.head, O_RDONLY));
  refused("fanotify_init", syscall(SYS_fanotify_init, 0, 0));
  refused("fanotify_mark", syscall(SYS_fanotify_mark, 0, 1, 2, AT_FDCWD, path));
}

static void devices(const char* directory) {
  char name[4096];
  static const struct {
    const char* name;
    unsigned type, major, minor;
  } nodes[] = {{"mem", S_IFCHR, 1, 1},
               {"kmsg", S_IFCHR, 1, 11},
               {"null", S_IFCHR, 1, 3},
               {"disk", S_IFBLK, 254, 0},
               {"loop", S_IFBLK, 7, 0}};
  for (unsigned i = 0; i < sizeof nodes / sizeof *nodes; ++i) {
    char what[128];
    snprintf(name, sizeof name, "%s/node-%s", directory, nodes[i].name);
    snprintf(what, sizeof what, "mknod %s", nodes[i].name);
    refused(what, mknod(name, nodes[i].type | 0666, makedev(nodes[i].major, nodes[i].minor)));
    snprintf(what, sizeof what, "mknodat %s", nodes[i].name);
    refused(what,
            mknodat(AT_FDCWD, name, nodes[i].type | 0666, makedev(nodes[i].major, nodes[i].minor)));
  }
  // One that the host left there: nodev.
  snprintf(name, sizeof name, "%s/device", directory);
  if (access(name, F_OK) == 0) {
    refused("open the host's device node", open(name, O_RDWR));
    refused("read the host's device node", open(name, O_RDONLY));
  }
}

// Out of a read-only path into a writable one, and back.
static void across(const char* readable, const char* writable) {
  char from[4096], to[4096];
  snprintf(from, sizeof from, "%s/file", readable);
  snprintf(to, sizeof to, "%s/taken", writable);
  works("read the listed file", open_for_reading(from));
  refused("write a read-only file", open_for_writing(from));
  refused("append", open(from, O_WRONLY | O_APPEND));
  refused("truncate", truncate(from, 0));
  refused("hard link out", link(from, to));
  refused("linkat out", linkat(AT_FDCWD, from, AT_FDCWD, to, 0));
  const int fd = open(from, O_RDONLY);
  char self[64];
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  refused("linkat of the descriptor", linkat(AT_FDCWD, self, AT_FDCWD, to, AT_SYMLINK_FOLLOW));
  refused("reopen for writing", open(self, O_RDWR));
  refused("fchmod", fchmod(fd, 0777));
  refused("ftruncate", ftruncate(fd, 0));
  refused("rename out", rename(from, to));
  char own[4096], onto[4096];
  snprintf(own, sizeof own, "%s/own", writable);
  snprintf(onto, sizeof onto, "%s/planted", readable);
  works("make a file of one's own", open(own, O_WRONLY | O_CREAT, 0644));
  refused("rename in", rename(own, onto));
  refused("rename over", rename(own, from));
  refused("exchange", syscall(SYS_renameat2, AT_FDCWD, own, AT_FDCWD, from, RENAME_EXCHANGE));
  refused("exchange the other way",
          syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, own, RENAME_EXCHANGE));
  refused("link in", link(own, onto));
  refused("rename the listed directory", rename(readable, to));
  refused("remove the listed directory", rmdir(readable));
  refused("symlink in", symlink("/etc/shadow", onto));
  refused("set a user attribute", syscall(SYS_setxattr, from, "user.brig", "1", 1, 0));
}

// Below a writable path stands one that is only readable: move its parent away and take its place.
static void replace(const char* writable) {
  char parent[4096], moved[4096], inner[4096], planted[4096];
  snprintf(parent, sizeof parent, "%s/parent", writable);
  snprintf(moved, sizeof moved, "%s/moved", writable);
  snprintf(inner, sizeof inner, "%s/parent/protected", writable);
  snprintf(planted, sizeof planted, "%s/parent/protected/file", writable);
  refused("write the protected file", open_for_writing(planted));
  refused("rename the protected directory", rename(inner, moved));
  refused("remove the protected directory", rmdir(inner));
  refused("exchange the protected directory",
          syscall(SYS_renameat2, AT_FDCWD, inner, AT_FDCWD, writable, RENAME_EXCHANGE));
  refused("rename its parent", rename(parent, moved));
  mkdir(parent, 0755);
  mkdir(inner, 0755);
  refused("plant another in its place", open(planted, O_WRONLY | O_CREAT | O_EXCL, 0644));
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (is(argv[1], "write-system"))
    write_system();
  else if (is(argv[1], "spellings") && argc == 3)
    spellings(argv[2]);
  else if (is(argv[1], "handles") && argc == 3)
    handles(argv[2]);
  else if (is(argv[1], "fifo") && argc == 3)
    fifo(argv[2]);
  else if (is(argv[1], "leases") && argc == 3)
    leases(argv[2]);
  else if (is(argv[1], "watch") && argc == 3)
    watch(argv[2]);
  else if (is(argv[1], "watch-given") && argc == 3)
    watch_given(argv[2]);
  else if (is(argv[1], "devices") && argc == 3)
    devices(argv[2]);
  else if (is(argv[1], "across") && argc == 4)
    across(argv[2], argv[3]);
  else if (is(argv[1], "replace") && argc == 3)
    replace(argv[2]);
  else if (is(argv[1], "write") && argc == 3)
    refused("write", open(argv[2], O_WRONLY | O_CREAT, 0644));
  else if (is(argv[1], "read") && argc == 3)
    refused("read", open_for_reading(argv[2]));
  else
    return 2;
  return guest_failed;
}
