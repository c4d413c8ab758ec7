// Policies inside of TOML files: a policy file is one, a manifest holds several.
#pragma once

#include <brig/policy.h>

#include <array>
#include <string_view>

#include "policy/toml_reader.h"

namespace brig {

// The keys of a policy, and of its [limits]. `wall_time` is what `timeout` was called in 0.1.
inline constexpr std::array<std::string_view, 8> kPolicyKeys = {
    "isolation", "network", "limits", "files", "environment", "syscalls", "user", "preset"};
inline constexpr std::array<std::string_view, 13> kLimitKeys = {
    "timeout", "grace",   "cpu_time",  "memory",     "processes", "output",   "output_total",
    "result",  "scratch", "file_size", "open_files", "cpus",      "wall_time"};

struct PolicyPlace {
  TomlScope scope;
  std::size_t line = 1;
  bool flat = false;  // the keys of [limits] may stand there directly, too
};

// `base` with what `table` says: a table is read key by key, any other value takes the place of the base's,
// lists too. What is wrong is noted, but what is wrong with the base is not noted again.
Policy read_policy(const ConfigTable& table, const PolicyPlace& place, const Policy& base,
                   TomlFaults& faults);

}  // namespace brig
