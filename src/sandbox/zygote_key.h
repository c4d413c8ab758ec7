// ZygoteKey: distinguishes the zygotes of a Sandbox. Two tools share a zygote only if both parts
// are equal. The compiler makes the comparison, so it can't leave out a field of a policy.
#pragma once

#include <brig/policy.h>

#include <string>

namespace brig {

struct ZygoteKey {
  // "function", "command", "library PATH", a Python runtime's own, ...
  std::string runtime;
  Policy policy;

  bool operator==(const ZygoteKey&) const = default;
};

}  // namespace brig
