#include "tool/toml_json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "json/json_text.h"

namespace brig {
namespace {

std::optional<Json> convert(TomlReader& reader, const TomlEntry& entry, unsigned depth) {
  if (depth > kMaxJsonDepth) {
    reader.fault(entry, fmt::format("nested deeper than {}", kMaxJsonDepth));
    return std::nullopt;
  }
  const ConfigNode& node = *entry.node;
  if (const auto* text = node.as_string()) return Json(*text);
  if (const auto* flag = node.as_boolean()) return Json(*flag);
  if (const auto* whole = node.as_integer()) return Json(*whole);
  if (const auto* real = node.as_real()) {
    if (std::isfinite(*real)) return Json(*real);
    reader.fault(entry, "JSON has no such number");
    return std::nullopt;
  }
  bool good = true;
  if (const auto* table = node.as_table()) {
    Json result = Json::object();
    for (const TomlEntry& each : reader.entries(*table, {"", entry.shown + "."}, {})) {
      std::optional<Json> value = convert(reader, each, depth + 1);
      good &= value.has_value();
      if (value) result[std::string(each.key)] = std::move(*value);
    }
    return good ? std::optional(std::move(result)) : std::nullopt;
  }
  if (const auto* array = node.as_array()) {
    Json result = Json::array();
    for (std::size_t i = 0; i < array->size(); ++i) {
      std::optional<Json> value =
          convert(reader, TomlReader::item(entry, i, (*array)[i]), depth + 1);
      good &= value.has_value();
      if (value) result.push_back(std::move(*value));
    }
    return good ? std::optional(std::move(result)) : std::nullopt;
  }
  reader.expected(entry, "a JSON value (a date is a string: write it in quotes)");
  return std::nullopt;
}

}  // namespace

std::optional<Json> json_from_toml(TomlReader& reader, const TomlEntry& entry) {
  return convert(reader, entry, 0);
}

std::vector<std::string> parts_of(const std::string& pointer) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      parts.emplace_back();
    } else if (!parts.empty()) {
      const bool escape = pointer[i] == '~' && i + 1 < pointer.size();
      parts.back() += !escape ? pointer[i] : pointer[++i] == '1' ? '/' : '~';
    }
  }
  return parts;
}

std::size_t line_of(const TomlEntry& entry, const std::string& pointer) {
  std::size_t line = entry.line;
  const ConfigNode* node = entry.node;
  for (const std::string& part : parts_of(pointer)) {
    if (const auto* table = node->as_table()) {
      const ConfigMember* found = table->find(part);
      if (!found) break;
      line = found->line;
      node = &found->node;
    } else if (const auto* array = node->as_array()) {
      std::size_t index = array->size();
      std::from_chars(part.data(), part.data() + part.size(), index);
      if (index >= array->size()) break;
      node = &(*array)[index];
      line = node->line;
    } else {
      break;
    }
  }
  return line;
}

}  // namespace brig
