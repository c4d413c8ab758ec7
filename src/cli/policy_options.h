// Options that say what a cell may use: the same words, with the same meaning, in every sub-command that has them.
#pragma once

#include <brig/policy.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/path_options.h"

namespace CLI {
class App;
}

namespace brig::cli {

// Each throws Error(config) that names the option and shows what it takes.
void set_size(const char* option, const std::string& value, std::uint64_t& target);
std::chrono::milliseconds duration_of(const char* option, const std::string& value);
// Relative to the current directory; "." goes, ".." is left for validate() to refuse.
std::string absolute(const std::string& path);

// The policy that --policy names; "-" is standard input.
Policy policy_of_file(const std::string& name);

// Who the command is, which variables it does not find, what toolchain it needs.
struct WordOptions {
  std::string user;
  std::vector<std::string> unset, preset;

  // The first one that was given, or null.
  const char* given() const;
  void apply(Policy& policy) const;
};
void add_word_options(CLI::App& app, WordOptions& options);

// Those of `brig mcp`, for its built-in tools.
struct PolicyOptions {
  std::string policy_file, timeout, memory, net;
  PathOptions paths;
  WordOptions words;

  // The first one that was given, or null.
  const char* given() const;
  Policy policy() const;
};
void add_policy_options(CLI::App& app, PolicyOptions& options);

}  // namespace brig::cli
