// Mounts of the new root: each is made or copied while no process can see it, and attached last.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <errno.h>

#include "helper/root_parts.h"
#include "os/sys.h"

namespace brig::helper {

using wire::Stage;

namespace {

// Makes the file `name` with bytes that the plan holds.
bool write_bytes(int dir, const char* name, const Plan& plan, const PlanList<char>& bytes) {
  // The file is executable: the linker only needs to read a library, but a library may be a program
  // too.
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

// Mounts a held file on top of what a mount of the host's has there: a library in /usr, or in a
// listed directory.
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
  unlinkat(root, kHeld, 0);  // last: a file without a name can't be attached
  errno = error;
  return ok;
}

// Returns a detached copy of the mount at the step's source, or -1.
int copy_of_source(const Plan& plan, const RootStep& step, int old_root) {
  const char* path = text(plan, step.source);
  const unsigned how = sys::kOpenTreeClone | sys::kOpenTreeCloexec | sys::kAtRecursive;
  if (step.flags & (kBindFollow | kBindDevice)) return sys::open_tree(old_root, path + 1, how);
  const int source = open_below(old_root, path, O_PATH);
  if (source < 0) return -1;
  const int tree = sys::open_tree(source, "", AT_EMPTY_PATH | how);
  const int error = errno;
  close(source);
  errno = error;
  return tree;
}

// Returns whether the source is what the host saw at its path when the plan was made; if not, sets
// errno.
bool is_as_planned(const Plan& plan, const RootStep& step, const struct stat& info) {
  // The map was made for the owner that the host saw at this path. Somebody who may rename there
  // may have put another directory in its place since, and the cell would act as an owner that this
  // directory does not have.
  if (step.id_map >= 0) {
    const IdMap& map = begin_of(plan, plan.id_maps)[step.id_map];
    if (info.st_uid != map.uid || info.st_gid != map.gid ||
        !((step.flags & kBindWritable) || S_ISREG(info.st_mode))) {
      errno = ESTALE;
      return false;
    }
  }
  if ((step.flags & kBindDevice) &&
      (!S_ISCHR(info.st_mode) || info.st_rdev != makedev(step.mode >> 8, step.mode & 255))) {
    errno = ENODEV;  // something else stands where the device should be
    return false;
  }
  return true;
}

// Returns the stage that failed, or none.
Stage set_attributes(const RootStep& step, int tree, const int* id_map_fds) {
  sys::MountAttr attributes{.set = sys::kAttrNosuid, .clear = 0, .propagation = 0, .userns_fd = 0};
  if (!(step.flags & kBindWritable)) attributes.set |= sys::kAttrRdonly;
  if (!(step.flags & kBindDevice)) attributes.set |= sys::kAttrNodev;
  if (step.flags & (kBindDevice | kBindNoexec)) attributes.set |= sys::kAttrNoexec;
  if (step.flags & kBindDevice) attributes.set &= ~sys::kAttrRdonly;
  if (step.id_map >= 0) {
    sys::MountAttr id_map{.set = sys::kAttrIdmap,
                          .clear = 0,
                          .propagation = 0,
                          .userns_fd = static_cast<uint64_t>(id_map_fds[step.id_map])};
    if (sys::mount_setattr(tree, "", AT_EMPTY_PATH | sys::kAtRecursive, &id_map) != 0)
      return Stage::id_mapped_mount;
  }
  if (sys::mount_setattr(tree, "", AT_EMPTY_PATH | sys::kAtRecursive, &attributes) != 0)
    return Stage::bind_attributes;
  return Stage::none;
}

}  // namespace

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
  const int tree = copy_of_source(plan, step, old_root);
  if (tree < 0 && errno == ENOENT && (step.flags & kBindOptional)) return true;
  if (tree < 0) return fail(failure, Stage::bind_source, index);
  struct stat info;
  if (fstat(tree, &info) != 0 || !is_as_planned(plan, step, info)) {
    fail(failure, Stage::bind_source, index);
    close(tree);
    return false;
  }
  Stage stage = set_attributes(step, tree, id_map_fds);
  if (stage == Stage::none && !make_node(root, device, step, plan, S_ISDIR(info.st_mode)))
    stage = Stage::bind_target;
  if (stage == Stage::none && !attach(tree, root, text(plan, step.target), is_own(step)))
    stage = Stage::bind_attach;
  const int error = errno;
  close(tree);
  errno = error;
  return stage == Stage::none || fail(failure, stage, index);
}

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

}  // namespace brig::helper
