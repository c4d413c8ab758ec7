// What this machine and this user can enforce. brig finds out by trying each feature in a child.
#pragma once

#include <brig/policy.h>

#include <cstdint>
#include <string>
#include <vector>

namespace brig {

struct Layer {
  // "user_namespace", "landlock", "cgroup_memory", ...
  std::string name;
  bool present = false;
  // What the probe found, or the error: "ABI 7", "clone: Operation not permitted".
  std::string detail;
  // How to get the layer. Empty if it is present.
  std::string fix;
  // True if the jail floor needs this layer.
  bool required = false;
};

struct Capabilities {
  std::vector<Layer> layers;

  // For each floor: whether a Runner with Policy::isolation at that floor would start here.
  bool jail = false;
  bool landlock = false;
  bool process = false;

  // The members of the seed's get_capabilities, with true values.
  std::string backend = "brig";
  bool available = false;
  // The best floor that works here.
  std::string isolation_level;
  bool filesystem_isolation = false;
  bool network_isolation = false;
  // Limits of the policy that was passed to probe(), the second in seconds.
  std::uint64_t memory_limit_mb = 0;
  double timeout = 0;
};

// Tries every layer. Takes tens of milliseconds and leaves nothing behind. A missing layer is a
// result and not an error. Thread-safe.
[[nodiscard]] Capabilities probe(const Policy& policy = {});

// The capabilities as one JSON object. indent < 0: on one line.
[[nodiscard]] std::string to_json(const Capabilities& capabilities, int indent = -1);

}  // namespace brig
