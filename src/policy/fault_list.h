// How the faults of a policy are collected. Only for policy.cc and path_faults.cc.
#pragma once

#include <brig/policy.h>
#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "policy/policy_fault.h"

namespace brig {

using Faults = std::vector<PolicyFault>;
using Reason = std::optional<std::string>;  // "reason; fix", or nothing wrong

inline void note_fault(Faults& faults, std::string field, std::string item, std::string_view value,
                       const Reason& reason) {
  if (reason)
    faults.push_back(
        {std::move(field), std::move(item), fmt::format("{}: {}", in_quotes(value), *reason)});
}

// In path_faults.cc. Checks everything that `files` names; looks at the disk.
void find_file_faults(Faults& faults, const Files& files);

}  // namespace brig
