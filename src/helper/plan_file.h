// The plan as the host sends it: one message with one descriptor, which the helper maps read-only.
#pragma once

#include "wire/plan.h"

namespace brig::helper {

// Waits for the plan, which the host works out while the helper starts.
const Plan& receive_plan(int socket);
const Plan& map_plan(int socket, int file);  // Closes `file`.

}  // namespace brig::helper
