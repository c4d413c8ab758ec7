// The options of `brig run` in place of a policy's keys: "--memory" for "limits.memory". brig makes
// its messages with the policy's keys, and the command line replaces them by its options.
#pragma once

#include <brig/report.h>

#include <span>
#include <string>
#include <string_view>

namespace brig {

struct OptionWord {
  std::string_view key;     // "limits.timeout"
  std::string_view option;  // "--timeout"
};
// Every key that has an option. A key without one stays as it is; users set it in a file (--policy
// FILE).
std::span<const OptionWord> option_words();

// The text with each key replaced by its option, except inside '...', where names and paths stand.
// A key with its value, such as files.read = ["/x y"], becomes the words to type: --read '/x y'.
// `only`: the options that the sub-command has; empty: all.
std::string in_option_words(std::string_view text, std::span<const std::string_view> only = {});
// Replaces the keys in the report's message and in its violations' rules and grants.
void use_option_words(Report& report);

}  // namespace brig
