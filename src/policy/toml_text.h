// TOML from text to a table: bounded in size and depth, and every mistake told with its line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/config_node.h"

namespace brig {

inline constexpr std::size_t kMaxTomlBytes = 1 << 20;

// All that is wrong with one file.
class TomlFaults {
 public:
  // `name`: of the file, for the messages.
  explicit TomlFaults(const std::string& name);

  // Line 0: of the file as a whole.
  void add(std::size_t line, std::string message);
  std::size_t count() const { return count_; }
  // Error(config), if there is any: "file:line: what is wrong", one per line, in the order of the file. Beyond
  // kMost the rest is counted.
  void throw_if_any() const;

  static constexpr std::size_t kMost = 100;

 private:
  std::string name_;
  std::size_t count_ = 0;
  std::vector<std::pair<std::size_t, std::string>> list_;
};

// Throws Error(config) for what is too long (`what` it then is not: "policy"), too deep, or not TOML.
// There the parser stops: of those mistakes only the first is told.
ConfigTable parse_toml(std::string_view text, const std::string& name, std::string_view what);

}  // namespace brig
