// Changing the shape of the file system: every call that could.
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "guest.h"

int main(void) {
  refused("mount tmpfs", mount("x", "/tmp", "tmpfs", 0, ""));
  refused("mount proc", mount("x", "/tmp", "proc", 0, ""));
  refused("mount overlay",
          mount("x", "/tmp", "overlay", 0, "lowerdir=/usr,upperdir=/tmp,workdir=/tmp"));
  refused("mount bind", mount("/", "/tmp", 0, MS_BIND | MS_REC, 0));
  refused("mount move", mount("/usr", "/tmp", 0, MS_MOVE, 0));
  refused("remount /usr writable", mount(0, "/usr", 0, MS_REMOUNT | MS_BIND, 0));
  refused("remount / writable", mount(0, "/", 0, MS_REMOUNT | MS_BIND, 0));
  refused("remount /proc writable", mount(0, "/proc", 0, MS_REMOUNT, 0));
  refused("make / shared", mount(0, "/", 0, MS_REC | MS_SHARED, 0));
  unsigned long attributes[4] = {0, 1 /* clear RDONLY */, 0, 0};
  refused("mount_setattr",
          syscall(SYS_mount_setattr, AT_FDCWD, "/usr", 0x8000, attributes, sizeof attributes));
  refused("open_tree clone", syscall(SYS_open_tree, AT_FDCWD, "/usr", 1));
  refused("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/usr", 0));
  refused("move_mount", syscall(SYS_move_mount, AT_FDCWD, "/usr", AT_FDCWD, "/tmp", 0));
  refused("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
  refused("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0));
  refused("fsmount", syscall(SYS_fsmount, 0, 0, 0));
  refused("fsconfig", syscall(SYS_fsconfig, 0, 6, 0, 0, 0));
  refused("open_tree_attr", syscall(467, AT_FDCWD, "/usr", 1, attributes, sizeof attributes));
  refused("umount /proc", umount2("/proc", MNT_DETACH));
  refused("umount /tmp", umount2("/tmp", MNT_DETACH));
  refused("umount /proc/kcore", umount2("/proc/kcore", MNT_DETACH));
  // The double chroot: out of the root by being beside it.
  mkdir("/tmp/jail", 0755);
  refused("chroot", chroot("/tmp/jail"));
  refused("pivot_root", syscall(SYS_pivot_root, "/tmp", "/tmp/jail"));
  for (int i = 0; i < 100; ++i) (void)!chdir("..");
  struct stat here, root;
  holds("a hundred .. end at the root", stat(".", &here) == 0 && stat("/", &root) == 0 &&
                                            here.st_ino == root.st_ino &&
                                            here.st_dev == root.st_dev);
  refused("write in the root", open("/escaped", O_WRONLY | O_CREAT, 0644));
  return guest_failed;
}
