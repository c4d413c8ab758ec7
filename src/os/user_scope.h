// A cgroup of one's own without root: the user's systemd makes a scope for a process and delegates it. This is
// what `systemd-run --user --scope -p Delegate=yes` asks for, without that program.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "os/cgroup.h"

namespace brig {

// Where the user's service manager listens: $XDG_RUNTIME_DIR/systemd/private, or below /run/user. Empty if
// there is none, if this process is root, or if it does not live in the machine's own pid and cgroup
// namespaces: there its numbers and paths are not the manager's.
std::string user_manager_socket();

// Moves `pid` into a new scope, with all that it starts from then on; the scope goes when they have gone.
// Returns the path of its cgroup, as /proc/PID/cgroup has it, which the user may then divide. Waits no longer
// than `patience`. Empty: `why_not` says why, and the process may or may not be in a scope of that name.
std::string enter_user_scope(const std::string& socket, pid_t pid,
                             std::chrono::milliseconds patience, std::string& why_not);

// The two together: cgroups in a new scope for `pid`. Without memory if that failed, and why_not says why.
CgroupLayout make_scope_cgroups(const CgroupLimits& limits, const std::string& socket, pid_t pid);

}  // namespace brig
