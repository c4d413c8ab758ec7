// The locks of a cell.
#pragma once

#include "helper/failure.h"
#include "wire/plan.h"

namespace brig::helper {

// Locks this process, a cell's init. `proc` is a writable /proc, or -1. `scratch` is the private
// directory on floors without mounts, or "". `input` is a file that /dev/stdin may open, or -1.
// Sets `listener` to that of the lock filter, if the plan has one.
bool lock_cell(const Plan& plan, int proc, const char* scratch, int input, int* listener,
               Failure& failure);

// The limit of open files is for the tool alone, so the tool's process sets it. It is also how many
// descriptors its user may have in flight before sending another: if init had this limit, a cell
// with that many in flight would keep all others from sending their listener.
bool limit_files(const Plan& plan, Failure& failure);

}  // namespace brig::helper
