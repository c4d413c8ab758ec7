// Reads the values of TOML tables. Nothing throws: a wrong value is noted with its line and left
// out.
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
  std::string shown;  // Its full name for a message: "limits.memory".
  const ConfigNode* node;
  std::size_t line;
};

// Where a table stands, as messages call it.
struct TomlScope {
  std::string table;   // "limits", or "" for the file itself.
  std::string prefix;  // Stands before the names of its keys: "limits.".
};

class TomlReader {
 public:
  using Names = std::span<const std::string_view>;

  explicit TomlReader(TomlFaults& faults) : faults_(faults) {}

  // The entries of a table whose keys are in `known`, in the order of the file; all entries if
  // `known` is empty. Notes a fault for every other key. `home` returns the table that an unknown
  // key belongs in, or "".
  std::vector<TomlEntry> entries(const ConfigTable& table, const TomlScope& scope, Names known,
                                 const std::function<std::string(std::string_view key)>& home = {});

  // Each of these notes a fault and returns nothing if the value has another type. `what` says what
  // was expected: "a path".
  std::optional<std::string> string(const TomlEntry& entry, std::string_view what);
  std::optional<bool> boolean(const TomlEntry& entry);
  const ConfigTable* table(const TomlEntry& entry, std::string_view what);
  // Nothing if any item is not a string. Notes a fault for each of them.
  std::optional<std::vector<std::string>> strings(const TomlEntry& entry, std::string_view what);

  // Notes a fault: "limits.memory: message".
  void fault(const TomlEntry& entry, std::string_view message);
  void expected(const TomlEntry& entry, std::string_view what);
  TomlFaults& faults() { return faults_; }

  // An item of an array, with its own line, because an array may have many.
  static TomlEntry item(const TomlEntry& array, std::size_t index, const ConfigNode& node);

 private:
  void unknown(const TomlEntry& entry, const TomlScope& scope, Names known,
               const std::string& home);

  TomlFaults& faults_;
};

}  // namespace brig
