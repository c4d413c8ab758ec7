// Opening paths without following symlinks. brig-helper uses it too, so it includes no header of
// libstdc++.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/sys.h"

namespace brig {

struct OpenBelow {
  int flags = O_PATH;       // O_CLOEXEC is always added.
  bool one_device = false;  // Refuses mount points on the way.
};

namespace beneath {

inline int failed(int error, int fd = -1, int other = -1) {
  if (fd >= 0) close(fd);
  if (other >= 0) close(other);
  errno = error;
  return -1;
}

// Opens one component. A symlink is opened only as itself, for callers that ask for that.
inline int step(int dir, const char* name, int flags) {
  struct stat info;
  const int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &info) != 0) return failed(errno, fd);
  const bool takes_link = (flags & O_PATH) && (flags & O_NOFOLLOW);
  if (S_ISLNK(info.st_mode) && !takes_link) return failed(ELOOP, fd);
  if ((flags & O_DIRECTORY) && !S_ISDIR(info.st_mode)) return failed(ENOTDIR, fd);
  if (flags & O_PATH) return fd;
  close(fd);
  return openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC);
}

// Does component by component what openat2 does at once.
inline int walk(int dir, const char* path, const OpenBelow& how) {
  struct stat top, info;
  int at =
      openat(dir, dir == AT_FDCWD && *path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (at < 0 || fstat(at, &top) != 0) return failed(errno, at);
  for (bool last = false; !last;) {
    while (*path == '/') ++path;
    const char* end = strchrnul(path, '/');
    char name[256];
    const size_t size = static_cast<size_t>(end - path);
    if (size >= sizeof name) return failed(ENAMETOOLONG, at);
    memcpy(name, path, size);
    name[size] = '\0';
    if (!strcmp(name, "..")) return failed(EXDEV, at);
    path = end;
    last = !*path;
    const int next = step(at, size ? name : ".", last ? how.flags : O_PATH | O_DIRECTORY);
    if (next < 0) return failed(errno, at);
    if (how.one_device && (fstat(next, &info) != 0 || info.st_dev != top.st_dev))
      return failed(EXDEV, at, next);
    close(at);
    at = next;
  }
  return at;
}

}  // namespace beneath

// Opens `path` below `dir`, or from the root if `dir` is AT_FDCWD. A symlink on the way or at the
// end is an error (ELOOP), except that O_PATH | O_NOFOLLOW opens one at the end as itself. This
// takes one call per component where openat2 is hidden: systemd's RestrictSUIDSGID=, which
// DynamicUser= implies, hides it.
inline int open_below(int dir, const char* path, const OpenBelow& how) {
  const int fd = sys::openat2(dir, path,
                              {.flags = static_cast<uint64_t>(how.flags | O_CLOEXEC),
                               .mode = 0,
                               .resolve = sys::kResolveNoSymlinks | sys::kResolveNoMagiclinks |
                                          (dir == AT_FDCWD ? 0 : sys::kResolveBeneath) |
                                          (how.one_device ? sys::kResolveNoXdev : 0)});
  return fd < 0 && errno == ENOSYS ? beneath::walk(dir, path, how) : fd;
}

}  // namespace brig
