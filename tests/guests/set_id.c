// Making set-user-ID and set-group-ID files on a writable path, where the host would find them.
// Argument: the directory.
#include <sys/stat.h>

#include "guest.h"

static char path[4096];
static const char* at(const char* directory, const char* name) {
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const char* dir = argv[1];
  const int fd = open(at(dir, "plain"), O_RDWR | O_CREAT, 0755);
  works("make a plain file", fd);
  works("chmod a plain mode", chmod(path, 0700));
  (void)!write(fd, "#!/bin/sh\n", 10);
  refused("chmod u+s", chmod(path, 04755));
  refused("chmod g+s", chmod(path, 02755));
  refused("chmod ug+s", chmod(path, 06777));
  refused("chmod with a dirty upper half", syscall(SYS_chmod, path, 04755ul | 1ul << 32));
  refused("fchmod u+s", fchmod(fd, 04755));
  refused("fchmodat u+s", fchmodat(AT_FDCWD, path, 04755, 0));
  refused("fchmodat2 u+s", syscall(452, AT_FDCWD, path, 04755, 0));
  struct {
    unsigned long long flags, mode, resolve;
  } how = {O_WRONLY | O_CREAT, 04755, 0};
  refused("openat2 u+s", syscall(SYS_openat2, AT_FDCWD, at(dir, "openat2"), &how, sizeof how));
  refused("open u+s", syscall(SYS_open, at(dir, "open"), O_WRONLY | O_CREAT, 04755));
  refused("openat u+s",
          syscall(SYS_openat, AT_FDCWD, at(dir, "openat"), O_WRONLY | O_CREAT, 04755));
  refused("openat g+s",
          syscall(SYS_openat, AT_FDCWD, at(dir, "openat-g"), O_WRONLY | O_CREAT, 02755));
  refused("openat with dirty flags", syscall(SYS_openat, AT_FDCWD, at(dir, "openat-d"),
                                             1ul << 40 | O_WRONLY | O_CREAT, 04755));
  refused("creat u+s", syscall(SYS_creat, at(dir, "creat"), 04755));
  refused("mknod u+s", syscall(SYS_mknod, at(dir, "mknod"), S_IFREG | 04755, 0));
  refused("mknodat u+s", syscall(SYS_mknodat, AT_FDCWD, at(dir, "mknodat"), S_IFREG | 04755, 0));
  refused("mkdir g+s", syscall(SYS_mkdir, at(dir, "mkdir"), 02755));
  refused("mkdirat g+s", syscall(SYS_mkdirat, AT_FDCWD, at(dir, "mkdirat"), 02755));
  // A file without a name needs no O_CREAT, and gets its name later.
  const long nameless = syscall(SYS_openat, AT_FDCWD, dir, O_TMPFILE | O_RDWR, 04755);
  struct stat info;
  if (nameless >= 0 && fstat((int)nameless, &info) == 0 && !(info.st_mode & (S_ISUID | S_ISGID))) {
    errno = ENOTSUP;  // made, but without the bit
    refused("O_TMPFILE u+s", -1);
  } else {
    refused("O_TMPFILE u+s", nameless);
  }
  const long older = syscall(SYS_open, dir, O_TMPFILE | O_RDWR, 06755);
  if (older >= 0 && fstat((int)older, &info) == 0 && !(info.st_mode & (S_ISUID | S_ISGID))) {
    errno = ENOTSUP;
    refused("open O_TMPFILE ug+s", -1);
  } else {
    refused("open O_TMPFILE ug+s", older);
  }
  const long fds[] = {nameless, older};
  for (int i = 0; i < 2; ++i)
    if (fds[i] >= 0) {
      char self[64];
      snprintf(self, sizeof self, "/proc/self/fd/%ld", fds[i]);
      (void)!linkat(AT_FDCWD, self, AT_FDCWD, at(dir, i ? "nameless-2" : "nameless"),
                    AT_SYMLINK_FOLLOW);
    }
  refused("file capability",
          syscall(SYS_setxattr, at(dir, "plain"), "security.capability",
                  "\1\0\0\2\377\377\377\377\0\0\0\0\377\377\377\377\0\0\0\0", 20, 0));
  const uid_t other = getuid() == 0 ? 1000 : 0;  // the only id that a cell has is its own
  refused("chown", chown(at(dir, "plain"), other, other));
  refused("chgrp", chown(at(dir, "plain"), (uid_t)-1, 4));
  return guest_failed;
}
