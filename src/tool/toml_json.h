// JSON values that are written in TOML: the schemas and defaults of a manifest.
#pragma once

#include <brig/json.h>

#include <optional>
#include <string>
#include <vector>

#include "policy/toml_reader.h"

namespace brig {

// The JSON value. Notes what JSON does not have (dates, infinity) and what is nested too deep, and
// then returns nothing.
std::optional<Json> json_from_toml(TomlReader& reader, const TomlEntry& entry);

// The parts of a JSON Pointer.
std::vector<std::string> parts_of(const std::string& pointer);
// The line of what a pointer refers to within `entry`, or of the nearest thing around it.
std::size_t line_of(const TomlEntry& entry, const std::string& pointer);

}  // namespace brig
