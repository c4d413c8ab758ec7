#include "policy/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace brig {
namespace {

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "an array";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a float";
    case toml::node_type::boolean: return "a boolean";
    case toml::node_type::date: return "a date";
    case toml::node_type::time: return "a time";
    case toml::node_type::date_time: return "a date and time";
    case toml::node_type::none: break;
  }
  return "nothing";
}

// in_quotes() without the quotes.
std::string bare(std::string_view text) {
  const std::string quoted_text = in_quotes(text);
  return quoted_text.substr(1, quoted_text.size() - 2);
}

}  // namespace

std::vector<TomlEntry> TomlReader::entries(
    const toml::table& table, const TomlScope& scope, Names known,
    const std::function<std::string(std::string_view key)>& home) {
  std::vector<TomlEntry> result;
  for (auto&& [key, node] : table) {
    TomlEntry entry{key.str(), scope.prefix + bare(key.str()), &node, key.source().begin.line};
    if (known.empty() || std::find(known.begin(), known.end(), key.str()) != known.end())
      result.push_back(std::move(entry));
    else
      unknown(entry, scope, known, home ? home(key.str()) : "");
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const TomlEntry& a, const TomlEntry& b) { return a.line < b.line; });
  return result;
}

void TomlReader::unknown(const TomlEntry& entry, const TomlScope& scope, Names known,
                         const std::string& home) {
  std::string message = entry.node->is_table() && scope.table.empty()
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
  const toml::value<std::string>* text = entry.node->as_string();
  fault(entry, fmt::format("expected {}, got {}", what,
                           text != nullptr ? in_quotes(text->get()) : type_name(*entry.node)));
}

std::optional<std::string> TomlReader::string(const TomlEntry& entry, std::string_view what) {
  if (const auto* text = entry.node->as_string()) return text->get();
  expected(entry, what);
  return std::nullopt;
}

std::optional<bool> TomlReader::boolean(const TomlEntry& entry) {
  if (const auto* value = entry.node->as_boolean()) return value->get();
  expected(entry, "true or false");
  return std::nullopt;
}

const toml::table* TomlReader::table(const TomlEntry& entry, std::string_view what) {
  const toml::table* result = entry.node->as_table();
  if (result == nullptr) expected(entry, what);
  return result;
}

std::optional<std::vector<std::string>> TomlReader::strings(const TomlEntry& entry,
                                                            std::string_view what) {
  const toml::array* array = entry.node->as_array();
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

TomlEntry TomlReader::item(const TomlEntry& array, std::size_t index, const toml::node& node) {
  return {{}, fmt::format("{}[{}]", array.shown, index), &node, node.source().begin.line};
}

}  // namespace brig
