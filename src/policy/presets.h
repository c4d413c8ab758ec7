// Presets: how policies that name them are checked and made whole.
#pragma once

#include <brig/preset.h>

#include <optional>
#include <string>

namespace brig {

// What is wrong with an entry of Policy::preset: "there is no such preset; did you mean 'node'?".
// Nothing: the entry is valid.
std::optional<std::string> preset_fault(const std::string& entry);

// Calls validate() and with_presets(), and makes the caches, each a directory of mode 0700. Throws
// Error: `permission` for a cache that belongs to somebody else or that others can write to,
// `unsupported` for a cache on a floor that can't give it.
Policy whole_policy(Policy policy);

}  // namespace brig
