// The ids of a new user namespace.
#pragma once

#include "helper/failure.h"

namespace brig::helper {

// Maps user and group `inside` to `outside_uid` and `outside_gid`, for this process' new user namespace. `proc` is a
// /proc.
bool map_ids(int proc, unsigned inside, unsigned outside_uid, unsigned outside_gid,
             Failure& failure);
// The same for `count` ids from there on, and another process: by who has root's rights above it.
bool map_id_range(int proc, const char* process, unsigned inside, unsigned outside_uid,
                  unsigned outside_gid, unsigned count, Failure& failure);

}  // namespace brig::helper
