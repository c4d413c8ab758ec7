// What tells one zygote of a Sandbox from another. Two tools share a zygote only if both parts are the same:
// the comparison is the compiler's, so that no field of a policy can be left out of it.
#pragma once

#include <brig/policy.h>

#include <string>

namespace brig {

struct ZygoteKey {
  std::string runtime;  // "function", "command", "library PATH", a Python runtime's own, ...
  Policy policy;

  bool operator==(const ZygoteKey&) const = default;
};

}  // namespace brig
