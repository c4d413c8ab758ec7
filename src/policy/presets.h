// Presets, as cells are made from them, and as policies are checked.
#pragma once

#include <brig/preset.h>

#include <optional>
#include <string>

namespace brig {

// Why an entry of Policy::preset is none: "there is no such preset; did you mean 'node'?". Nothing: it is one.
std::optional<std::string> preset_fault(const std::string& entry);

// validate(), and with_presets() of it, whose caches are there then: a directory of mode 0700 each. Throws Error:
// permission for a cache that is somebody else's, or that others can write to; unsupported for one on a floor that can't give it.
Policy whole_policy(Policy policy);

}  // namespace brig
