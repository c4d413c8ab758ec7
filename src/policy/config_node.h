// A configuration as a tree, whatever text it was read from: a TOML file (toml_text.h), or JSON (c_config.cc). Readers see no
// other form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace brig {

struct ConfigMember;
struct ConfigNode;
using ConfigArray = std::vector<ConfigNode>;

// Each key once, in the order of their bytes.
struct ConfigTable {
  std::vector<ConfigMember> members;

  // Null: there is none.
  const ConfigMember* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  // Null: there is no such key, or its value is no string.
  const std::string* string(std::string_view key) const;
};

// Line 0: the text has none.
struct ConfigNode {
  // A value of a type that no setting has: "a date".
  struct Other {
    const char* type;
  };
  std::variant<Other, bool, std::int64_t, double, std::string, ConfigArray, ConfigTable> value;
  std::size_t line = 0;

  // Null if it is of another type.
  const bool* as_boolean() const { return std::get_if<bool>(&value); }
  const std::int64_t* as_integer() const { return std::get_if<std::int64_t>(&value); }
  const double* as_real() const { return std::get_if<double>(&value); }
  const std::string* as_string() const { return std::get_if<std::string>(&value); }
  const ConfigArray* as_array() const { return std::get_if<ConfigArray>(&value); }
  const ConfigTable* as_table() const { return std::get_if<ConfigTable>(&value); }
  // "an integer", for a message.
  std::string_view type_name() const;
};

struct ConfigMember {
  std::string key;
  std::size_t line = 0;  // of the key
  ConfigNode node;
};

}  // namespace brig
