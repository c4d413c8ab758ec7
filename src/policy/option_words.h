// The words of `brig run` in place of a policy's: "--memory" for "limits.memory". Messages are made in the words of the
// policy; the command line says them in its own.
#pragma once

#include <brig/report.h>

#include <span>
#include <string>
#include <string_view>

namespace brig {

struct OptionWord {
  std::string_view key;     // limits.timeout
  std::string_view option;  // --timeout
};
// All that have an option. What has none keeps the words of the policy, as a file has them: --policy FILE.
std::span<const OptionWord> option_words();

// The text with every key outside of '...' (names and paths stand there) as an option; a key with its value, as in
// files.read = ["/x y"], as the words to type: --read '/x y'.
std::string in_option_words(std::string_view text);
// The message, and the rules and grants of its violations.
void use_option_words(Report& report);

}  // namespace brig
