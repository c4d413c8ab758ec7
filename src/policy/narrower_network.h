// Whether the network that one call asks for is narrower than its policy's.
#pragma once

#include <brig/policy.h>

#include <string>

namespace brig {

// Why a call must not have `own` in a cell of `policy`, or "". A call may ask for Network::none,
// with which it reaches no host, or for a list of hosts of which network.allow of the policy covers
// each.
std::string why_not_narrower(const Network& own, const Network& policy);

}  // namespace brig
