// What can be seen of this process's surroundings, for the reason and the advice in messages.
// Whoever started brig can fake all of it, so no protection depends on it.
#pragma once

#include <string>

namespace brig {

// Whether Docker, podman or Kubernetes has marked these surroundings. The mark alone proves
// nothing: machines made from an image have it too.
bool in_container();

bool in_firejail();

// Whether this process runs in a cell of another brig.
bool in_cell();

// Whether the root directory is not the root of a mount. A chroot to a mount point can't be
// detected.
bool in_chroot();

// Whether this process runs under a seccomp filter.
bool under_filter();

// The name of the AppArmor profile that is enforced on this process, or "".
std::string apparmor_profile();

// The first path below /proc that something is mounted on, or "". If there is one, the kernel gives
// no user namespace a fresh /proc.
std::string covered_in_proc();

// 0, or the errno with which the kernel refuses a user namespace. Tries it in a child that ends at
// once.
int try_user_namespace();

}  // namespace brig
