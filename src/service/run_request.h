// The limits and the network that a request asks for.
#pragma once

#include <brig/json.h>
#include <brig/policy.h>

#include <optional>
#include <string>

namespace brig::serve {

// Reads {"timeout": 5, "memory": "64M", ...}, or null for none. Returns what is wrong with it, or
// "". The Sandbox checks whether the limits are narrower than the policy's.
std::string read_limits(const Json& json, CallLimits& limits);
// Reads "none", or {"allow": ["api.github.com:443", ...]}; null for the policy's own. Returns what
// is wrong with it, or "". The Sandbox checks whether it is narrower than the policy's.
std::string read_network(const Json& json, std::optional<Network>& network);

}  // namespace brig::serve
