#include "http/token_file.h"

#include <array>
#include <cmath>

#include "base/text.h"
#include "policy/toml_reader.h"

namespace brig::serve {
namespace {

constexpr std::array<std::string_view, 1> kTop = {"token"};
constexpr std::array<std::string_view, 7> kToken = {"name", "token",       "sha256", "tools",
                                                    "rate", "concurrency", "admin"};
constexpr std::size_t kLongestName = 64;

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestName) return false;
  for (const char c : name)
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '-' &&
        c != '_' && c != '.')
      return false;
  return true;
}

std::optional<double> number_of(const ConfigNode& node) {
  if (const auto* whole = node.as_integer()) return static_cast<double>(*whole);
  if (const auto* real = node.as_real()) return *real;
  return {};
}

TokenTable read_one(const ConfigTable& table, std::size_t line, TomlReader& reader) {
  TokenTable one;
  for (const TomlEntry& entry : reader.entries(table, {"token", "token: "}, kToken)) {
    if (entry.key == "name") {
      if (const auto name = reader.string(entry, "a name")) one.name = *name;
      if (!is_name(one.name)) reader.expected(entry, "1 to 64 letters, digits, '-', '_' and '.'");
    } else if (entry.key == "token") {
      if (const auto token = reader.string(entry, "a token")) one.token = *token;
    } else if (entry.key == "sha256") {
      if (const auto digest = reader.string(entry, "a digest")) one.sha256 = *digest;
    } else if (entry.key == "tools") {
      if (const auto tools = reader.strings(entry, "names of tools")) {
        one.tools = *tools;
        // None would otherwise mean all.
        if (tools->empty())
          reader.fault(entry, "lists no tool; to allow nothing, remove the token");
      }
    } else if (entry.key == "admin") {
      one.admin = reader.boolean(entry).value_or(false);
    } else if (entry.key == "rate") {
      const auto rate = number_of(*entry.node);
      if (rate && *rate > 0 && *rate <= 1e6)
        one.rate = *rate;
      else
        reader.expected(entry, "a number of calls per second above 0");
    } else {
      const auto count = number_of(*entry.node);
      if (count && *count > 0 && *count <= 10'000 && *count == std::floor(*count))
        one.concurrency = static_cast<unsigned>(*count);
      else
        reader.expected(entry, "a number of calls at once from 1 to 10000");
    }
  }
  if (!table.contains("name")) reader.faults().add(line, "token: name is missing");
  if (table.contains("token") == table.contains("sha256"))
    reader.faults().add(line, "token: give either token or sha256");
  return one;
}

}  // namespace

void read_token_tables(std::string_view text, const std::string& name,
                       const std::function<void(TokenTable)>& take) {
  const ConfigTable top = parse_toml(text, name, "token file");
  TomlFaults faults(name);
  TomlReader reader(faults);
  std::vector<TokenTable> tables;
  for (const TomlEntry& entry : reader.entries(top, {}, kTop)) {
    const ConfigArray* array = entry.node->as_array();
    if (array == nullptr) {
      reader.expected(entry, "tables, [[token]]");
      continue;
    }
    for (std::size_t i = 0; i < array->size(); ++i) {
      const TomlEntry item = TomlReader::item(entry, i, (*array)[i]);
      if (const auto* table = reader.table(item, "a table, [[token]]"))
        tables.push_back(read_one(*table, item.line, reader));
    }
  }
  faults.throw_if_any();
  for (TokenTable& each : tables) take(std::move(each));
}

}  // namespace brig::serve
