// Reads the values of TOML tables. Nothing throws: what is wrong is noted with its line and left out.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/toml_text.h"

namespace brig {

// One key of a table, or one item of an array.
struct TomlEntry {
  std::string_view key;
  std::string shown;  // its full name for a message: "limits.memory"
  const ConfigNode* node;
  std::size_t line;
};

// Where a table stands, as messages say it.
struct TomlScope {
  std::string table;   // "limits", or "" for the file itself
  std::string prefix;  // before the names of its keys: "limits."
};

class TomlReader {
 public:
  using Names = std::span<const std::string_view>;

  explicit TomlReader(TomlFaults& faults) : faults_(faults) {}

  // The keys of a table in the order of the file, those that are not in `known` left out; all if that is
  // empty. `home`: the table that a key which is not known here belongs in, or "".
  std::vector<TomlEntry> entries(const ConfigTable& table, const TomlScope& scope, Names known,
                                 const std::function<std::string(std::string_view key)>& home = {});

  // Nothing if the value is of another type: `what` was expected, "a path".
  std::optional<std::string> string(const TomlEntry& entry, std::string_view what);
  std::optional<bool> boolean(const TomlEntry& entry);
  const ConfigTable* table(const TomlEntry& entry, std::string_view what);
  // Nothing if any is not a string; each is told.
  std::optional<std::vector<std::string>> strings(const TomlEntry& entry, std::string_view what);

  // "limits.memory: message".
  void fault(const TomlEntry& entry, std::string_view message);
  void expected(const TomlEntry& entry, std::string_view what);
  TomlFaults& faults() { return faults_; }

  // An item of an array, with its own line: an array may have many.
  static TomlEntry item(const TomlEntry& array, std::size_t index, const ConfigNode& node);

 private:
  void unknown(const TomlEntry& entry, const TomlScope& scope, Names known,
               const std::string& home);

  TomlFaults& faults_;
};

}  // namespace brig
