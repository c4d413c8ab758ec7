// One [[command]] of a manifest.
#pragma once

#include <brig/tool.h>

#include <optional>

#include "policy/toml_reader.h"

namespace brig {

// Notes all that is wrong with it; nothing then. `ordinal`: which one it is, from 1 on, for one without a
// name. `base`: the policy that its own is made from.
std::optional<Tool> read_command(const ConfigTable& table, std::size_t line, std::size_t ordinal,
                                 const Policy& base, TomlFaults& faults);

}  // namespace brig
