// What this process may do, and where it stands: for the choice of a way, and for the advice in messages.
#pragma once

namespace brig {

// Root with the rights to mount and to change ids. Root of most containers has not all of them: there brig goes
// the way of an ordinary user.
bool has_root_rights();

// Whether uid 0 here is uid 0 of the machine, and not one that a user namespace maps to another. RLIMIT_NPROC
// does not bind it.
bool is_the_machines_root();

// Inside a container, as Docker, podman and Kubernetes mark it.
bool in_container();

}  // namespace brig
