// Builds the root file system of a jail from nothing: a small tmpfs, and on it only what the plan
// lists. Each source is taken as a detached copy of its mount (open_tree), gets its attributes,
// recursively, while nobody can see it, and is attached last.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <errno.h>
#include <string.h>

#include "helper/root_parts.h"
#include "os/sys.h"

namespace brig::helper {
namespace {

using wire::Stage;

// The new root is staged on /proc: it exists wherever brig can run, and no source lies below it.
constexpr const char* kStage = "/proc";

}  // namespace

bool stage_root(RootStage& stage, Failure& failure, const char* size) {
  // Nothing done here may propagate to the host, and nothing of the host's to here.
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return fail(failure, Stage::private_mounts);
  stage.old_root = openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  stage.root = new_mount("tmpfs", size, sys::kAttrNosuid | sys::kAttrNodev);
  if (stage.old_root < 0 || stage.root < 0) return fail(failure, Stage::root_tmpfs);
  // The fresh proc is made before the stage covers the host's: the kernel gives a user namespace a
  // new proc only while it can see another one, unobscured.
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
  // Open it by its name: the descriptor's mount is of another namespace and can't be copied. If
  // something else stands there by now, it is not the same file, and is not opened.
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
    // O_NONBLOCK: a FIFO may have no writer.
    view = openat(proc, link, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
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
