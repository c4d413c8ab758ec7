// The plan, as the host sends it: one message with one descriptor, which is mapped read-only.
#pragma once

#include "wire/plan.h"

namespace brig::helper {

// The host works a plan out while the helper starts, and sends it then.
const Plan& receive_plan(int socket);
const Plan& map_plan(int socket, int file);  // closes it

}  // namespace brig::helper
