// Policies inside TOML files: a policy file is one, and a manifest holds several.
#pragma once

#include <brig/policy.h>

#include <array>
#include <string_view>

#include "policy/toml_reader.h"

namespace brig {

// The keys of a policy and of its [limits]. `wall_time` is the name of `timeout` in 0.1.
inline constexpr std::array<std::string_view, 9> kPolicyKeys = {
    "isolation", "network", "room", "limits", "files", "environment", "syscalls", "user", "preset"};
inline constexpr std::array<std::string_view, 17> kLimitKeys = {
    "timeout",      "grace",    "cpu_time",        "memory",    "processes",  "output",
    "output_total", "result",   "scratch",         "file_size", "open_files", "connections",
    "upload",       "download", "connection_time", "cpus",      "wall_time"};

struct PolicyPlace {
  TomlScope scope;
  std::size_t line = 1;
  bool flat = false;  // Whether the keys of [limits] may also stand directly in the table.
};

// Returns `base` changed by the table. A table is read key by key; any other value, also a list,
// replaces the base's. Notes every fault, except those that the base already has.
Policy read_policy(const ConfigTable& table, const PolicyPlace& place, const Policy& base,
                   TomlFaults& faults);

}  // namespace brig
