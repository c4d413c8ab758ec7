// The ids of a new user namespace.
#pragma once

#include "helper/failure.h"

namespace brig::helper {

// Maps user and group `inside` to `outside_uid` and `outside_gid` in this process's new user
// namespace. `proc` is a descriptor of a /proc.
bool map_ids(int proc, unsigned inside, unsigned outside_uid, unsigned outside_gid,
             Failure& failure);
// Maps `count` ids from there on, for another process. The caller needs root's rights above that
// namespace.
bool map_id_range(int proc, const char* process, unsigned inside, unsigned outside_uid,
                  unsigned outside_gid, unsigned count, Failure& failure);

}  // namespace brig::helper
