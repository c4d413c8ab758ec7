// What this machine and this user can enforce, found by trying it in a child.
#pragma once

#include <brig/policy.h>

#include <cstdint>
#include <string>
#include <vector>

namespace brig {

struct Layer {
  std::string name;  // "user_namespace", "landlock", "cgroup_memory", ...
  bool present = false;
  std::string detail;     // what was found, or the error: "ABI 7", "clone: Operation not permitted"
  std::string fix;        // how to get it, empty if present
  bool required = false;  // the jail floor needs it
};

struct Capabilities {
  std::vector<Layer> layers;
  bool jail = false;  // each floor: would a Runner with it start?
  bool landlock = false;
  bool process = false;

  // The seed's get_capabilities, with true values.
  std::string backend = "brig";
  bool available = false;
  std::string isolation_level;  // the best floor that works here
  bool filesystem_isolation = false;
  bool network_isolation = false;
  std::uint64_t memory_limit_mb = 0;  // of `policy`
  double timeout = 0;                 // seconds, of `policy`
};

// Takes tens of milliseconds; leaves nothing behind.
Capabilities probe(const Policy& policy = {});

std::string to_json(const Capabilities& capabilities, int indent = -1);

}  // namespace brig
