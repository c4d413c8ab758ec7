// One [[command]] of a manifest.
#pragma once

#include <brig/tool.h>

#include <optional>

#include "policy/toml_reader.h"

namespace brig {

// Reads one command. Notes every mistake and then returns nothing. `ordinal` counts commands from 1
// and stands for one without a name. `base` is the policy that the command's own is made from.
std::optional<Tool> read_command(const ConfigTable& table, std::size_t line, std::size_t ordinal,
                                 const Policy& base, TomlFaults& faults);

}  // namespace brig
