// The options that say what a cell may use. They have the same names and meaning in every
// sub-command that has them.
#pragma once

#include <brig/policy.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/network_options.h"
#include "cli/path_options.h"

namespace CLI {
class App;
}

namespace brig::cli {

// Each throws Error(config) that names the option and shows what it takes.
void set_size(const char* option, const std::string& value, std::uint64_t& target);
std::chrono::milliseconds duration_of(const char* option, const std::string& value);
// Makes a path absolute, from the current directory. Removes "."; leaves ".." for validate() to
// refuse.
std::string absolute(const std::string& path);

// The policy that --policy names; "-" is standard input.
Policy policy_of_file(const std::string& name);

// --user, --unset and --preset.
struct WordOptions {
  std::string user;
  std::vector<std::string> unset, preset;

  // The first one that was given, or null.
  const char* given() const;
  void apply(Policy& policy) const;
};
void add_word_options(CLI::App& app, WordOptions& options);

// The options of `brig mcp` for its built-in tools.
struct PolicyOptions {
  std::string policy_file, timeout, memory;
  NetworkOptions network;
  PathOptions paths;
  WordOptions words;

  // The first one that was given, or null.
  const char* given() const;
  Policy policy() const;
  // If an option was given: the text with these options in place of the policy's keys.
  std::string in_own_words(std::string_view text) const;
};
void add_policy_options(CLI::App& app, PolicyOptions& options);

}  // namespace brig::cli
