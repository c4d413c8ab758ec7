// What a process of the helper changes about itself.
#pragma once

#include "wire/plan.h"

namespace brig::helper {

void set_name(const char* name);

// The host's name in this UTS namespace. It protects nothing: a container's filter that refuses it is no failure.
bool set_names(const char* host);

bool load_filter(const Plan& plan, const PlanList<uint64_t>& program, unsigned flags,
                 int* listener);

// Moves this process into a cgroup and closes its entrance. A process that moves itself, alone, needs no
// lock against forks: to be moved by another means to wait for a grace period of the kernel's, ten
// milliseconds and more, and to hold up every fork on the machine meanwhile.
bool enter_cgroup(int entrance);

}  // namespace brig::helper
