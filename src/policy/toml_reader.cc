#include "policy/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace brig {
namespace {

// in_quotes() without the quotes.
std::string bare(std::string_view text) {
  const std::string quoted_text = in_quotes(text);
  return quoted_text.substr(1, quoted_text.size() - 2);
}

}  // namespace

std::vector<TomlEntry> TomlReader::entries(
    const ConfigTable& table, const TomlScope& scope, Names known,
    const std::function<std::string(std::string_view key)>& home) {
  std::vector<TomlEntry> result;
  for (const auto& [key, line, node] : table.members) {
    TomlEntry entry{key, scope.prefix + bare(key), &node, line};
    if (known.empty() || std::find(known.begin(), known.end(), key) != known.end())
      result.push_back(std::move(entry));
    else
      unknown(entry, scope, known, home ? home(key) : "");
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const TomlEntry& a, const TomlEntry& b) { return a.line < b.line; });
  return result;
}

void TomlReader::unknown(const TomlEntry& entry, const TomlScope& scope, Names known,
                         const std::string& home) {
  std::string message = entry.node->as_table() && scope.table.empty()
                            ? fmt::format("unknown table [{}]", bare(entry.key))
                            : fmt::format("unknown key {}", in_quotes(entry.key));
  if (!scope.table.empty()) message += fmt::format(" in [{}]", scope.table);
  if (!home.empty())
    message += fmt::format("; it belongs in [{}]", home);
  else if (const auto near = nearest(entry.key, known))
    message += fmt::format("; did you mean '{}'?", *near);
  else
    message += fmt::format("; known keys: {}", fmt::join(known, ", "));
  faults_.add(entry.line, message);
}

void TomlReader::fault(const TomlEntry& entry, std::string_view message) {
  faults_.add(entry.line, fmt::format("{}: {}", entry.shown, message));
}

void TomlReader::expected(const TomlEntry& entry, std::string_view what) {
  const std::string* text = entry.node->as_string();
  fault(entry, fmt::format("expected {}, got {}", what,
                           text != nullptr ? in_quotes(*text) : entry.node->type_name()));
}

std::optional<std::string> TomlReader::string(const TomlEntry& entry, std::string_view what) {
  if (const auto* text = entry.node->as_string()) return *text;
  expected(entry, what);
  return std::nullopt;
}

std::optional<bool> TomlReader::boolean(const TomlEntry& entry) {
  if (const auto* value = entry.node->as_boolean()) return *value;
  expected(entry, "true or false");
  return std::nullopt;
}

const ConfigTable* TomlReader::table(const TomlEntry& entry, std::string_view what) {
  const ConfigTable* result = entry.node->as_table();
  if (result == nullptr) expected(entry, what);
  return result;
}

std::optional<std::vector<std::string>> TomlReader::strings(const TomlEntry& entry,
                                                            std::string_view what) {
  const ConfigArray* array = entry.node->as_array();
  if (array == nullptr) {
    expected(entry, what);
    return std::nullopt;
  }
  std::vector<std::string> result;
  for (std::size_t i = 0; i < array->size(); ++i)
    if (auto text = string(item(entry, i, (*array)[i]), "a string"))
      result.push_back(std::move(*text));
  if (result.size() < array->size()) return std::nullopt;
  return result;
}

TomlEntry TomlReader::item(const TomlEntry& array, std::size_t index, const ConfigNode& node) {
  return {{}, fmt::format("{}[{}]", array.shown, index), &node, node.line};
}

}  // namespace brig
