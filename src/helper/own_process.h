// What a process of the helper changes about itself.
#pragma once

#include "wire/plan.h"

namespace brig::helper {

void set_name(const char* name);

// Sets the host's name in this UTS namespace. It protects nothing, so it is no failure if a
// container's filter refuses it.
bool set_names(const char* host);

bool load_filter(const Plan& plan, const PlanList<uint64_t>& program, unsigned flags,
                 int* listener);

// Moves this process into a cgroup and closes its entrance. A process that moves itself, alone,
// needs no lock against forks. To move another process means to wait for a grace period of the
// kernel, ten milliseconds and more, while every fork on the machine waits too.
bool enter_cgroup(int entrance);

}  // namespace brig::helper
