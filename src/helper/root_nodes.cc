// Nodes of the new root: directories, files and links.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <errno.h>
#include <string.h>

#include "helper/root_parts.h"
#include "os/open_below.h"

namespace brig::helper {
namespace {

// Makes a small new file with this text.
bool write_new(int dir, const char* path, const char* content) {
  const int fd = openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
  if (fd < 0) return false;
  const size_t size = strlen(content);
  const bool ok = write(fd, content, size) == static_cast<ssize_t>(size);
  const int error = errno;
  close(fd);
  if (!ok) unlinkat(dir, path, 0);
  errno = error;
  return ok;
}

// The parent of most of brig's own nodes exists already: one call makes such a node, without
// walking there.
bool make_quickly(int root, const RootStep& step, const Plan& plan, bool directory) {
  if (!is_own(step)) return false;
  const char* path = text(plan, step.target) + 1;
  if (step.op == RootOp::symlink) return symlinkat(text(plan, step.source), root, path) == 0;
  if (step.op == RootOp::file) return write_new(root, path, text(plan, step.source));
  return directory
             ? mkdirat(root, path, step.mode && step.op != RootOp::bind ? step.mode : 0755) == 0
             : mknodat(root, path, S_IFREG | 0444, 0) == 0;
}

}  // namespace

int open_below(int root, const char* path, int flags) {
  return brig::open_below(root, path[1] ? path + 1 : ".", {.flags = flags});
}

int open_parent(int root, dev_t root_device, const char* path, const char** last) {
  int dir = dup(root);
  const char* at = path + 1;
  for (const char* slash; dir >= 0 && (slash = strchr(at, '/')); at = slash + 1) {
    char name[256];
    const size_t size = static_cast<size_t>(slash - at);
    if (size >= sizeof name) {
      close(dir);
      errno = ENAMETOOLONG;
      return -1;
    }
    memcpy(name, at, size);
    name[size] = '\0';
    struct stat info;
    // lint: mkdir before open would also be asked of foreign file systems
    int next = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0 && errno == ENOENT && fstat(dir, &info) == 0 && info.st_dev == root_device) {
      if (mkdirat(dir, name, 0755) == 0)
        next = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    const int error = errno;
    close(dir);
    errno = error;
    dir = next;
  }
  *last = at;
  return dir;
}

bool is_own(const RootStep& step) {
  return step.op != RootOp::bind || (step.flags & (kBindOptional | kBindDevice));
}

bool make_node(int root, dev_t device, const RootStep& step, const Plan& plan, bool directory) {
  if (make_quickly(root, step, plan, directory)) return true;
  const char* name;
  const int dir = open_parent(root, device, text(plan, step.target), &name);
  if (dir < 0) return false;
  bool ok = false;
  struct stat info;
  if (step.op == RootOp::symlink) {
    ok = symlinkat(text(plan, step.source), dir, name) == 0 || errno == EEXIST;
  } else if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
    ok = directory ? S_ISDIR(info.st_mode) : !S_ISDIR(info.st_mode) && !S_ISLNK(info.st_mode);
    if (!ok) errno = S_ISLNK(info.st_mode) ? ELOOP : directory ? ENOTDIR : EISDIR;
  } else if (fstat(dir, &info) == 0 && info.st_dev != device) {
    errno = ENOENT;
  } else if (directory) {
    ok = mkdirat(dir, name, step.mode ? step.mode : 0755) == 0;
  } else {
    ok = write_new(dir, name, step.op == RootOp::file ? text(plan, step.source) : "");
  }
  const int error = errno;
  close(dir);
  errno = error;
  return ok;
}

bool copy_file(int old_root, int root, dev_t device, const RootStep& step, const Plan& plan) {
  const int from = openat(old_root, text(plan, step.source) + 1, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (from < 0) return errno == ENOENT || errno == EACCES;
  struct stat info;
  if (fstat(from, &info) != 0 || !S_ISREG(info.st_mode) || !(info.st_mode & S_IROTH)) {
    close(from);  // not everyone may read it, so root's rights must not copy it
    return true;
  }
  int to = openat(root, text(plan, step.target) + 1, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
  if (to < 0 && errno == ENOENT) {
    const char* name;
    const int dir = open_parent(root, device, text(plan, step.target), &name);
    if (dir >= 0) {
      to = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
      close(dir);
    }
  }
  bool ok = to >= 0;
  // Most of these files fit in it, and it fits in a stack of 64 KiB (ulimit -s 64).
  char buffer[16384];
  ssize_t size = 0;
  while (ok && (size = read(from, buffer, sizeof buffer)) > 0) {
    ok = write(to, buffer, static_cast<size_t>(size)) == size;
    if (size == info.st_size) size = 0;  // the whole file was read at once
    if (size == 0) break;
  }
  ok = ok && size == 0;
  const int error = errno;
  close(from);
  if (to >= 0) close(to);
  errno = error;
  return ok;
}

}  // namespace brig::helper
