// The limits that a request asks for.
#pragma once

#include <brig/json.h>
#include <brig/policy.h>

#include <string>

namespace brig::serve {

// {"timeout": 5, "memory": "64M", ...}, or null for none. What is wrong with it, or "". Whether they are narrower than the
// policy's is the Sandbox's to say.
std::string read_limits(const Json& json, CallLimits& limits);

}  // namespace brig::serve
