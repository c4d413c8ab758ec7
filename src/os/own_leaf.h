// A cgroup for this process, below the one that its service manager gave it.
#pragma once

#include <string>

namespace brig {

// A cgroup (version 2) that holds processes can't give limits to cgroups below it. systemd starts a
// service in the very cgroup that it gives away with Delegate=, so a service moves into a leaf of
// it, "main", before it makes cgroups for its cells. Returns true if this process has moved. It
// does nothing where the cgroup is not this process's to use: neither marked by systemd as
// delegated nor owned by this user. Call it before the process starts any other process or thread.
bool move_into_own_leaf();

}  // namespace brig
