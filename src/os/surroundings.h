// Where this process stands, by what can be seen of it: for the reason and the advice in messages. Whoever
// started brig can make all of this look otherwise, so nothing that guards anything depends on it.
#pragma once

#include <string>

namespace brig {

// Docker, podman and Kubernetes mark what they start. The mark alone is no reason: machines that were made
// from an image have it too.
bool in_container();

bool in_firejail();

// In a cell of another brig.
bool in_cell();

// The root is no mount's root. One that is, in a chroot to a mount point, is not told apart.
bool in_chroot();

// This process is under a seccomp filter.
bool under_filter();

// The name of the AppArmor profile that is enforced on this process, or "".
std::string apparmor_profile();

// The first path below /proc that something is mounted on, or "". Then the kernel gives no user namespace a
// fresh /proc.
std::string covered_in_proc();

// 0, or the errno with which the kernel refuses a user namespace. One is made, by a child that ends at once.
int try_user_namespace();

}  // namespace brig
