// A cgroup of its own for a process without root: the user's systemd makes a scope and delegates
// it. This does what `systemd-run --user --scope -p Delegate=yes` does, without that program.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "os/cgroup.h"

namespace brig {

// The socket of the user's service manager: $XDG_RUNTIME_DIR/systemd/private, or below /run/user.
// Empty if there is no such socket, if this process is root, or if it does not live in the
// machine's own pid and cgroup namespaces: there its numbers and paths differ from the manager's.
std::string user_manager_socket();

// Moves `pid`, with everything that it starts from then on, into a new scope, which goes when they
// have ended. Returns the path of its cgroup, as /proc/PID/cgroup has it; the user may divide that
// cgroup. Waits no longer than `patience`. On failure it returns "" and sets `why_not`; the process
// may then be in such a scope or not.
std::string enter_user_scope(const std::string& socket, pid_t pid,
                             std::chrono::milliseconds patience, std::string& why_not);

// Both together: cgroups in a new scope for `pid`. If that fails, the layout has no memory
// controller, and its why_not says why.
CgroupLayout make_scope_cgroups(const CgroupLimits& limits, const std::string& socket, pid_t pid);

}  // namespace brig
