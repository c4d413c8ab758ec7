// The limits that a request asks for.
#pragma once

#include <brig/json.h>
#include <brig/policy.h>

#include <string>

namespace brig::serve {

// Reads {"timeout": 5, "memory": "64M", ...}, or null for none. Returns what is wrong with it, or
// "". The Sandbox checks whether the limits are narrower than the policy's.
std::string read_limits(const Json& json, CallLimits& limits);

}  // namespace brig::serve
