// TOML from text to a table: bounded in size and depth, and every mistake is reported with its
// line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/config_node.h"

namespace brig {

inline constexpr std::size_t kMaxTomlBytes = 1 << 20;

// Everything that is wrong with one file.
class TomlFaults {
 public:
  // `name` stands for the file in the messages.
  explicit TomlFaults(const std::string& name);

  // Line 0 stands for the file as a whole.
  void add(std::size_t line, std::string message);
  std::size_t count() const { return count_; }
  // Throws Error(config) if there are any faults: "file:line: what is wrong", one per line, in the
  // order of the file. It counts those beyond kMost.
  void throw_if_any() const;

  static constexpr std::size_t kMost = 100;

 private:
  std::string name_;
  std::size_t count_ = 0;
  std::vector<std::pair<std::size_t, std::string>> list_;
};

// Throws Error(config) for text that is too long, too deep or not TOML. `what` says what the text
// should be: "policy". The parser stops at a mistake of syntax, so only the first of those is
// reported.
ConfigTable parse_toml(std::string_view text, const std::string& name, std::string_view what);

}  // namespace brig
