// What is wrong with a policy, and where: shared by validate(), which names the field, and the TOML
// reader, which names the line too.
#pragma once

#include <brig/policy.h>

#include <string>
#include <string_view>
#include <vector>

namespace brig {

struct PolicyFault {
  std::string field;  // "limits.memory", "files.read", "environment.set"
  std::string item;   // which one, where the field holds many: an index or a name; else empty
  std::string text;   // "value: reason; fix"
  bool operator==(const PolicyFault&) const = default;
};

// All faults, in the order of the struct. Looks at the disk (lstat and readlink on each listed
// path), opens nothing. Throws only std::bad_alloc.
std::vector<PolicyFault> find_faults(const Policy& policy);

// Whether files.read may hold that path: it is there, and no symlink or place of the cell's own is on the way.
bool can_be_read(const std::string& path);

// The range of a field of Limits for a message, "4 MiB to 1 EiB". `name` must be such a field.
std::string limit_range(std::string_view name);

}  // namespace brig
