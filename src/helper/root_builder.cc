// Builds the root file system of a jail from nothing: a small tmpfs, and on it only what the plan
// lists. Each source is taken as a detached copy of its mount (open_tree), gets its attributes,
// recursively, while nobody can see it, and is attached last.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <errno.h>
#include <string.h>

#include "helper/helper.h"
#include "os/open_below.h"
#include "os/sys.h"

namespace brig::helper {
namespace {

using wire::Stage;

// The new root is staged on /proc: it exists wherever brig can run, and no source lies below it.
constexpr const char* kStage = "/proc";
constexpr const char* kEmptyFile = ".brig-empty";

int new_mount(const char* type, const char* size, unsigned attributes) {
  const int fs = sys::fsopen(type, 1 /* FSOPEN_CLOEXEC */);
  if (fs < 0) return -1;
  int mount = -1;
  if (!size || (sys::fsconfig_string(fs, "size", size) == 0 &&
                sys::fsconfig_string(fs, "mode", "0755") == 0))
    if (sys::fsconfig_create(fs) == 0)
      mount = sys::fsmount(fs, 1 /* FSMOUNT_CLOEXEC */, attributes);
  const int error = errno;
  close(fs);
  errno = error;
  return mount;
}

// Opens `path` below `root`, never through a symlink: a component that someone swapped for one is
// an error, not another place.
int open_below(int root, const char* path, int flags) {
  return brig::open_below(root, path[1] ? path + 1 : ".", {.flags = flags});
}

// Opens the directory that holds the last component of `path`, making missing ones, but only on the
// root tmpfs itself: below a bind the host's own tree would be changed. `*last` is the component.
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

// brig's own steps come before any path of the policy's, so they can't meet a host's tree on the way:
// they take paths whole where others walk.
bool is_own(const RootStep& step) {
  return step.op != RootOp::bind || (step.flags & (kBindOptional | kBindDevice));
}

// A new small file with this text.
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

// Most of brig's own nodes have their parent already: one call, without walking there.
bool make_quickly(int root, const RootStep& step, const Plan& plan, bool directory) {
  if (!is_own(step)) return false;
  const char* path = text(plan, step.target) + 1;
  if (step.op == RootOp::symlink) return symlinkat(text(plan, step.source), root, path) == 0;
  if (step.op == RootOp::file) return write_new(root, path, text(plan, step.source));
  return directory
             ? mkdirat(root, path, step.mode && step.op != RootOp::bind ? step.mode : 0755) == 0
             : mknodat(root, path, S_IFREG | 0444, 0) == 0;
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

// Copies a small host file. Not there: nothing to copy.
bool copy_file(int old_root, int root, dev_t device, const RootStep& step, const Plan& plan) {
  const int from = openat(old_root, text(plan, step.source) + 1, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (from < 0) return errno == ENOENT || errno == EACCES;
  struct stat info;
  if (fstat(from, &info) != 0 || !S_ISREG(info.st_mode) || !(info.st_mode & S_IROTH)) {
    close(from);  // not for everyone's eyes: root's rights must not copy it
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
  char buffer[16384];  // what these files mostly fit in, and a stack of 64 KiB (ulimit -s 64) too
  ssize_t size = 0;
  while (ok && (size = read(from, buffer, sizeof buffer)) > 0) {
    ok = write(to, buffer, static_cast<size_t>(size)) == size;
    if (size == info.st_size) size = 0;  // all of it at once
    if (size == 0) break;
  }
  ok = ok && size == 0;
  const int error = errno;
  close(from);
  if (to >= 0) close(to);
  errno = error;
  return ok;
}

bool attach(int tree, int root, const char* target, bool own) {
  if (own) return sys::move_mount(tree, "", root, target + 1, sys::kMoveMountFromEmpty) == 0;
  const int at = open_below(root, target, O_PATH);
  if (at < 0) return false;
  const bool ok =
      sys::move_mount(tree, "", at, "", sys::kMoveMountFromEmpty | sys::kMoveMountToEmpty) == 0;
  const int error = errno;
  close(at);
  errno = error;
  return ok;
}

// Makes `name` of the bytes that the plan holds.
bool write_bytes(int dir, const char* name, const Plan& plan, const PlanList<char>& bytes) {
  // Executable: the linker asks for no more than reading, but a library may be a program too.
  const int to = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
  if (to < 0) return false;
  bool ok = true;
  for (size_t at = 0; ok && at < bytes.count;) {
    const ssize_t size = write(to, begin_of(plan, bytes) + at, bytes.count - at);
    if (size < 0 && errno == EINTR) continue;
    ok = size > 0;
    at += ok ? static_cast<size_t>(size) : 0;
  }
  const int error = errno;
  close(to);
  errno = error;
  return ok;
}

// On top of what a mount of the host's has there: a library in /usr, or in a listed directory.
bool mount_held(int root, dev_t device, const RootStep& step, const Plan& plan,
                const PlanList<char>& bytes) {
  constexpr const char* kHeld = ".brig-held";
  if (!write_bytes(root, kHeld, plan, bytes)) return false;
  const int tree = sys::open_tree(root, kHeld, sys::kOpenTreeClone | sys::kOpenTreeCloexec);
  sys::MountAttr attributes{.set = sys::kAttrRdonly | sys::kAttrNosuid | sys::kAttrNodev,
                            .clear = 0,
                            .propagation = 0,
                            .userns_fd = 0};
  const bool ok = tree >= 0 && sys::mount_setattr(tree, "", AT_EMPTY_PATH, &attributes) == 0 &&
                  make_node(root, device, step, plan, false) &&
                  attach(tree, root, text(plan, step.target), false);
  const int error = errno;
  if (tree >= 0) close(tree);
  unlinkat(root, kHeld, 0);  // last: what has no name can't be attached
  errno = error;
  return ok;
}

bool write_held(int root, dev_t device, const RootStep& step, const Plan& plan) {
  const PlanList<char>& bytes = begin_of(plan, plan.held)[step.mode];
  const char* name;
  const int dir = open_parent(root, device, text(plan, step.target), &name);
  if (dir < 0) return false;
  struct stat info;
  const bool own = fstat(dir, &info) == 0 && info.st_dev == device;
  bool ok = own && write_bytes(dir, name, plan, bytes);
  int error = errno;
  close(dir);
  if (!own || (!ok && error == EEXIST)) {
    ok = mount_held(root, device, step, plan, bytes);
    error = errno;
  }
  errno = error;
  return ok;
}

bool bind(const Plan& plan, const RootStep& step, unsigned index, int old_root, int root,
          dev_t device, const int* id_map_fds, Failure& failure) {
  const char* path = text(plan, step.source);
  const unsigned how = sys::kOpenTreeClone | sys::kOpenTreeCloexec | sys::kAtRecursive;
  int tree = -1;
  if (step.flags & (kBindFollow | kBindDevice)) {
    tree = sys::open_tree(old_root, path + 1, how);
  } else if (const int source = open_below(old_root, path, O_PATH); source >= 0) {
    tree = sys::open_tree(source, "", AT_EMPTY_PATH | how);
    const int error = errno;
    close(source);
    errno = error;
  }
  if (tree < 0 && errno == ENOENT && (step.flags & kBindOptional)) return true;
  if (tree < 0) return fail(failure, Stage::bind_source, index);
  struct stat info;
  bool ok = fstat(tree, &info) == 0;
  // The map was made for the owner that the host saw at this path. Someone who may rename there may have
  // put another directory in its place since: then the cell would act as an owner that this one has not.
  if (ok && step.id_map >= 0) {
    const IdMap& map = begin_of(plan, plan.id_maps)[step.id_map];
    ok = info.st_uid == map.uid && info.st_gid == map.gid &&
         ((step.flags & kBindWritable) || S_ISREG(info.st_mode));
    if (!ok) errno = ESTALE;
  }
  if (ok && (step.flags & kBindDevice) &&
      (!S_ISCHR(info.st_mode) || info.st_rdev != makedev(step.mode >> 8, step.mode & 255))) {
    errno = ENODEV;  // something else stands where the device should be
    ok = false;
  }
  if (!ok) {
    fail(failure, Stage::bind_source, index);
    close(tree);
    return false;
  }

  sys::MountAttr attributes{.set = sys::kAttrNosuid, .clear = 0, .propagation = 0, .userns_fd = 0};
  if (!(step.flags & kBindWritable)) attributes.set |= sys::kAttrRdonly;
  if (!(step.flags & kBindDevice)) attributes.set |= sys::kAttrNodev;
  if (step.flags & (kBindDevice | kBindNoexec)) attributes.set |= sys::kAttrNoexec;
  if (step.flags & kBindDevice) attributes.set &= ~sys::kAttrRdonly;
  Stage stage = Stage::none;
  if (step.id_map >= 0) {
    sys::MountAttr id_map{.set = sys::kAttrIdmap,
                          .clear = 0,
                          .propagation = 0,
                          .userns_fd = static_cast<uint64_t>(id_map_fds[step.id_map])};
    if (sys::mount_setattr(tree, "", AT_EMPTY_PATH | sys::kAtRecursive, &id_map) != 0)
      stage = Stage::id_mapped_mount;
  }
  if (stage == Stage::none &&
      sys::mount_setattr(tree, "", AT_EMPTY_PATH | sys::kAtRecursive, &attributes) != 0)
    stage = Stage::bind_attributes;
  if (stage == Stage::none && !make_node(root, device, step, plan, S_ISDIR(info.st_mode)))
    stage = Stage::bind_target;
  if (stage == Stage::none && !attach(tree, root, text(plan, step.target), is_own(step)))
    stage = Stage::bind_attach;
  const int error = errno;
  close(tree);
  errno = error;
  return stage == Stage::none || fail(failure, stage, index);
}

// What is there is taken by one descriptor, and put on itself: it has the owner map and the attributes of the mount that it
// is part of. A symlink at the end is kept as a link.
bool onto_itself(const Plan& plan, const RootStep& step, unsigned index, int root,
                 Failure& failure) {
  const int at = open_below(root, text(plan, step.target), O_PATH | O_NOFOLLOW);
  if (at < 0) return fail(failure, Stage::bind_target, index);
  const int tree = sys::open_tree(
      at, "", AT_EMPTY_PATH | sys::kOpenTreeClone | sys::kOpenTreeCloexec | sys::kAtRecursive);
  sys::MountAttr read_only{.set = sys::kAttrRdonly, .clear = 0, .propagation = 0, .userns_fd = 0};
  Stage stage = Stage::none;
  if (tree < 0)
    stage = Stage::bind_source;
  else if (!(step.flags & kBindWritable) &&
           sys::mount_setattr(tree, "", AT_EMPTY_PATH | sys::kAtRecursive, &read_only) != 0)
    stage = Stage::bind_attributes;
  else if (sys::move_mount(tree, "", at, "", sys::kMoveMountFromEmpty | sys::kMoveMountToEmpty) !=
           0)
    stage = Stage::bind_attach;
  const int error = errno;
  if (tree >= 0) close(tree);
  close(at);
  errno = error;
  return stage == Stage::none || fail(failure, stage, index);
}

// Hides what is at target, whatever it is.
bool cover(const Plan& plan, const RootStep& step, unsigned index, int root, Failure& failure) {
  const int at = open_below(root, text(plan, step.target), O_PATH);
  if (at < 0)
    return ((step.flags & kBindOptional) && errno == ENOENT) ||
           fail(failure, Stage::bind_target, index);
  struct stat info;
  int tree = -1;
  if (fstat(at, &info) == 0) {
    tree = S_ISDIR(info.st_mode)
               ? new_mount("tmpfs", "4k",
                           sys::kAttrRdonly | sys::kAttrNosuid | sys::kAttrNodev | sys::kAttrNoexec)
               : sys::open_tree(root, kEmptyFile, sys::kOpenTreeClone | sys::kOpenTreeCloexec);
  }
  if (tree >= 0 && !S_ISDIR(info.st_mode)) {
    sys::MountAttr attributes{
        .set = sys::kAttrRdonly | sys::kAttrNosuid | sys::kAttrNodev | sys::kAttrNoexec,
        .clear = 0,
        .propagation = 0,
        .userns_fd = 0};
    if (sys::mount_setattr(tree, "", AT_EMPTY_PATH, &attributes) != 0)
      return fail(failure, Stage::bind_attributes, index);
  }
  const bool ok =
      tree >= 0 &&
      sys::move_mount(tree, "", at, "", sys::kMoveMountFromEmpty | sys::kMoveMountToEmpty) == 0;
  const int error = errno;
  if (tree >= 0) close(tree);
  close(at);
  errno = error;
  return ok || fail(failure, Stage::bind_attach, index);
}

}  // namespace

bool stage_root(RootStage& stage, Failure& failure, const char* size) {
  // Nothing done here may propagate to the host, or the other way.
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return fail(failure, Stage::private_mounts);
  stage.old_root = openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  stage.root = new_mount("tmpfs", size, sys::kAttrNosuid | sys::kAttrNodev);
  if (stage.old_root < 0 || stage.root < 0) return fail(failure, Stage::root_tmpfs);
  // The fresh proc is made before the stage covers the host's: the kernel lets a user namespace
  // have one only while it can see another, unobscured.
  stage.proc = new_mount("proc", nullptr, sys::kAttrNosuid | sys::kAttrNodev | sys::kAttrNoexec);
  if (stage.proc < 0) return fail(failure, Stage::proc);
  return true;
}

int view_of(int proc, int input) {
  char link[64] = "self/fd/", number[24], path[4096];
  strcat(link, decimal(number, static_cast<unsigned long>(input)));
  const ssize_t size = readlinkat(proc, link, path, sizeof path - 1);
  struct stat given, found;
  if (size <= 0 || path[0] != '/' || fstat(input, &given) != 0) return -1;
  path[size] = '\0';
  // By its name, since a mount of another namespace, which the descriptor's is, can't be copied. Whatever else may stand
  // there by now is not the same file, and not opened.
  const int tree = sys::open_tree(
      AT_FDCWD, path, sys::kOpenTreeClone | sys::kOpenTreeCloexec | AT_SYMLINK_NOFOLLOW);
  if (tree < 0) return -1;
  sys::MountAttr attributes{
      .set = sys::kAttrRdonly | sys::kAttrNosuid | sys::kAttrNodev | sys::kAttrNoexec,
      .clear = 0,
      .propagation = 0,
      .userns_fd = 0};
  int view = -1;
  if (fstat(tree, &found) == 0 && found.st_dev == given.st_dev && found.st_ino == given.st_ino &&
      (found.st_mode & S_IFMT) == (given.st_mode & S_IFMT) &&
      sys::mount_setattr(tree, "", AT_EMPTY_PATH, &attributes) == 0) {
    strcpy(link, "self/fd/");
    strcat(link, decimal(number, static_cast<unsigned long>(tree)));
    view = openat(proc, link,
                  O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);  // a FIFO without a writer
  }
  close(tree);
  if (view < 0) return -1;
  const int flags = fcntl(input, F_GETFL);
  const off_t offset = S_ISREG(given.st_mode) ? lseek(input, 0, SEEK_CUR) : 0;
  if (flags >= 0 && offset >= 0 && fcntl(view, F_SETFL, flags & O_NONBLOCK) == 0 &&
      (offset == 0 || lseek(view, offset, SEEK_SET) == offset))
    return view;
  close(view);
  return -1;
}

bool build_root(const Plan& plan, const RootStage& stage, const int* id_map_fds, Failure& failure) {
  const int old_root = stage.old_root, root = stage.root, proc = stage.proc;
  if (sys::move_mount(root, "", AT_FDCWD, kStage, sys::kMoveMountFromEmpty) != 0)
    return fail(failure, Stage::root_tmpfs, 1);

  struct stat info;
  if (fstat(root, &info) != 0) return fail(failure, Stage::root_tmpfs, 2);
  const int empty = openat(root, kEmptyFile, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
  if (empty < 0) return fail(failure, Stage::root_tmpfs, 3);
  close(empty);

  for (unsigned i = 0; i < plan.root.count; ++i) {
    const RootStep& step = begin_of(plan, plan.root)[i];
    bool ok = true;
    switch (step.op) {
      case RootOp::directory:
        ok = make_node(root, info.st_dev, step, plan, true) || fail(failure, Stage::make_node, i);
        break;
      case RootOp::symlink:
      case RootOp::file:
        ok = make_node(root, info.st_dev, step, plan, false) || fail(failure, Stage::make_node, i);
        break;
      case RootOp::copy:
        ok = copy_file(old_root, root, info.st_dev, step, plan) ||
             fail(failure, Stage::make_node, i);
        break;
      case RootOp::bind:
        ok = bind(plan, step, i, old_root, root, info.st_dev, id_map_fds, failure);
        break;
      case RootOp::held:
        ok = write_held(root, info.st_dev, step, plan) || fail(failure, Stage::make_node, i);
        break;
      case RootOp::cover: ok = cover(plan, step, i, root, failure); break;
      case RootOp::onto_itself: ok = onto_itself(plan, step, i, root, failure); break;
    }
    if (!ok) return false;
  }
  unlinkat(root, kEmptyFile, 0);
  if (!attach(proc, root, "/proc", true)) return fail(failure, Stage::proc, 1);
  close(proc);
  close(old_root);

  // pivot_root(2): with "." for both, the old root ends up on top of the new one and is detached.
  if (fchdir(root) != 0 || sys::pivot_root(".", ".") != 0) return fail(failure, Stage::pivot, 0);
  if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0) return fail(failure, Stage::pivot, 1);
  sys::MountAttr read_only{.set = sys::kAttrRdonly, .clear = 0, .propagation = 0, .userns_fd = 0};
  if (sys::mount_setattr(AT_FDCWD, "/", 0, &read_only) != 0)
    return fail(failure, Stage::read_only_root);
  close(root);
  return true;
}

}  // namespace brig::helper
