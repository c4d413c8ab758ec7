// What is wrong with a policy, and where. validate() names the field; the TOML reader also names
// the line.
#pragma once

#include <brig/policy.h>

#include <string>
#include <string_view>
#include <vector>

namespace brig {

struct PolicyFault {
  std::string field;  // "limits.memory", "files.read", "environment.set"
  // Which of several values: an index or a name. Empty if the field has only one.
  std::string item;
  std::string text;  // "value: reason; fix"
  bool operator==(const PolicyFault&) const = default;
};

// Returns all faults, in the order of the struct. Looks at the disk (lstat and readlink of each
// listed path) and opens nothing. Throws nothing but std::bad_alloc.
std::vector<PolicyFault> find_faults(const Policy& policy);

// Whether files.read may hold that path: it exists, and neither a symlink nor one of the cell's own
// places is on the way.
bool can_be_read(const std::string& path);

// The range of a field of Limits for a message: "4 MiB to 1 EiB". `name` must be such a field.
std::string limit_range(std::string_view name);

}  // namespace brig
