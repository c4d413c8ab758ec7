// Compiled once, here: toml++ is a library of headers, and costs each file that includes it seconds.
#define TOML_IMPLEMENTATION
#include "policy/toml_text.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "policy/toml.h"

namespace brig {
namespace {

constexpr std::size_t kMaxDotsPerLine = 32, kMaxDotsAnywhere = 2000;

// toml++ 3.3 makes one table per dot of a key and destroys them by recursion, so a megabyte of
// "a.a.a" overflows the stack. (3.4 has its own limit.) So this counts the dots outside strings and
// comments.
class DotCounter {
 public:
  // The first line with too many dots, or 0.
  static std::size_t excess(std::string_view text) { return DotCounter(text).run(); }

 private:
  explicit DotCounter(std::string_view text) : text_(text) {}

  std::size_t run() {
    if (const std::size_t line = excess_anywhere()) return line;
    std::size_t dots = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '"' || c == '\'') {
        skip_string(c);
      } else {
        if (c == '.' && ++dots > kMaxDotsPerLine) return line_;
        if (c == '\n') {
          dots = 0;
          ++line_;
        }
        ++at_;
      }
    }
    return 0;
  }

  // If the text is not TOML, toml++ may see no string where this class sees one. So the whole text
  // has a bound, wherever the dots are.
  std::size_t excess_anywhere() const {
    std::size_t dots = 0, line = 1;
    for (const char c : text_) {
      if (c == '.' && ++dots > kMaxDotsAnywhere) return line;
      if (c == '\n') {
        dots = 0;
        ++line;
      }
    }
    return 0;
  }

  // Moves from the opening quote to behind the closing one. A string on one line ends with the
  // line: if it was left open, the parser stops there, so what follows does not matter.
  void skip_string(char quote) {
    const std::string_view closing = quote == '"' ? "\"\"\"" : "'''";
    const bool many_lines = text_.substr(at_, 3) == closing;
    at_ += many_lines ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        if (!many_lines) return;
        ++line_;
      } else if (c == '\\' && quote == '"' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') {
        ++at_;
      } else if (many_lines ? text_.substr(at_, 3) == closing : c == quote) {
        at_ += many_lines ? 3 : 1;
        return;
      }
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

// A name is shown as it is, unless it could make one line look like two.
std::string shown(const std::string& name) {
  const bool plain = std::none_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  return plain ? name : in_quotes(name);
}

ConfigNode node_of(const toml::node& node);

ConfigTable table_of(const toml::table& table) {
  ConfigTable result;
  for (auto&& [key, node] : table)
    result.members.push_back({std::string(key.str()), key.source().begin.line, node_of(node)});
  return result;
}

ConfigNode node_of(const toml::node& node) {
  const auto made = [&](auto value) {
    return ConfigNode{std::move(value), node.source().begin.line};
  };
  switch (node.type()) {
    case toml::node_type::table: return made(table_of(*node.as_table()));
    case toml::node_type::array: {
      ConfigArray array;
      for (const toml::node& each : *node.as_array()) array.push_back(node_of(each));
      return made(std::move(array));
    }
    case toml::node_type::string: return made(node.as_string()->get());
    case toml::node_type::integer: return made(node.as_integer()->get());
    case toml::node_type::floating_point: return made(node.as_floating_point()->get());
    case toml::node_type::boolean: return made(node.as_boolean()->get());
    case toml::node_type::date: return made(ConfigNode::Other{"a date"});
    case toml::node_type::time: return made(ConfigNode::Other{"a time"});
    case toml::node_type::date_time: return made(ConfigNode::Other{"a date and time"});
    case toml::node_type::none: break;
  }
  return made(ConfigNode::Other{"nothing"});
}

}  // namespace

TomlFaults::TomlFaults(const std::string& name) : name_(shown(name)) {}

void TomlFaults::add(std::size_t line, std::string message) {
  ++count_;
  // Keeps twice as many as it reports, because faults may not come in the order of the file.
  if (list_.size() < 2 * kMost) list_.emplace_back(line, std::move(message));
}

void TomlFaults::throw_if_any() const {
  if (count_ == 0) return;
  auto sorted = list_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMost); ++i) {
    const auto& [line, message] = sorted[i];
    text += line == 0 ? fmt::format("{}{}: {}", i ? "\n" : "", name_, message)
                      : fmt::format("{}{}:{}: {}", i ? "\n" : "", name_, line, message);
  }
  if (count_ > kMost) text += fmt::format("\n{}: and {} more", name_, count_ - kMost);
  throw Error(ErrorKind::config, text);
}

ConfigTable parse_toml(std::string_view text, const std::string& name, std::string_view what) {
  TomlFaults faults(name);
  if (text.size() > kMaxTomlBytes) {
    faults.add(0,
               fmt::format("longer than {}; this is not a {}", format_size(kMaxTomlBytes), what));
  } else if (const std::size_t line = DotCounter::excess(text)) {
    faults.add(line, fmt::format("more than {} dots on one line; write the keys as tables",
                                 kMaxDotsPerLine));
  }
  faults.throw_if_any();
  try {
    return table_of(toml::parse(text));
  } catch (const toml::parse_error& error) {
    faults.add(error.source().begin.line, std::string(error.description()));
  }
  faults.throw_if_any();
  return {};
}

}  // namespace brig
