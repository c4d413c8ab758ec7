// A cgroup for this process below the one that a service manager gave it.
#pragma once

#include <string>

namespace brig {

// A cgroup (version 2) with processes of its own can't give limits to those below it. systemd starts a service in the
// very cgroup that it gives away with Delegate=, so a service moves into a leaf of it, "main", before it makes
// any for its cells. True if it did. Nothing happens where the cgroup is not this process' to use: not marked by
// systemd as given away, nor this user's own. Call it before any other process or thread is started.
bool move_into_own_leaf();

}  // namespace brig
