#include "policy/option_words.h"

#include <algorithm>
#include <optional>

namespace brig {
namespace {

constexpr OptionWord kWords[] = {
    {"limits.timeout", "--timeout"},
    {"limits.grace", "--grace"},
    {"limits.cpu_time", "--cpu-time"},
    {"limits.memory", "--memory"},
    {"limits.processes", "--processes"},
    {"limits.output_total", "--output-total"},
    {"limits.output", "--output"},
    {"limits.scratch", "--scratch"},
    {"limits.file_size", "--file-size"},
    {"limits.open_files", "--open-files"},
    {"limits.cpus", "--cpus"},
    {"limits.connections", "--connections"},
    {"limits.upload", "--upload"},
    {"limits.download", "--download"},
    {"limits.connection_time", "--connection-time"},
    {"files.read", "--read"},
    {"files.write", "--write"},
    {"files.hide", "--hide"},
    {"files.read_optional", "--read-optional"},
    {"files.write_optional", "--write-optional"},
    {"files.noexec", "--noexec"},
    {"files.protect", "--protect"},
    {"files.working_directory", "--cwd"},
    {"files.root", "--root"},
    {"environment.passthrough", "--env"},
    {"environment.set", "--env"},
    {"environment.unset", "--unset"},
    {"network.allow", "--allow"},
    {"network.deny", "--deny"},
    {"network", "--net"},
    {"isolation", "--isolation"},
    {"user", "--user"},
    {"preset", "--preset"},
};

bool is_of_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

// The text as one word of a shell.
std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    return is_of_key(c) || (c >= 'A' && c <= 'Z') || c == '/' || c == ':' || c == '+' || c == ',';
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string word = "'";
  for (const char c : text) c == '\'' ? word += "'\\''" : word += c;
  return word + "'";
}

struct Value {
  std::string text;
  std::size_t size;  // With " = " and the brackets.
};

// The value if `rest` starts with ` = "x"`, ` = ["x"]` or ` = 64`.
std::optional<Value> value_at(std::string_view rest) {
  if (!rest.starts_with(" = ")) return std::nullopt;
  std::size_t at = 3;
  const bool list = rest.substr(at).starts_with('[');
  if (list) ++at;
  std::string text;
  if (rest.substr(at).starts_with('"')) {
    for (++at; at < rest.size() && rest[at] != '"'; ++at) {
      if (rest[at] == '\\' && at + 1 < rest.size()) ++at;
      text += rest[at];
    }
    if (at++ >= rest.size()) return std::nullopt;
  } else {
    while (at < rest.size() && is_of_key(rest[at])) text += rest[at++];
  }
  if (text.empty()) return std::nullopt;
  if (list && !rest.substr(at).starts_with(']')) return std::nullopt;
  return Value{std::move(text), at + (list ? 1 : 0)};
}

}  // namespace

std::span<const OptionWord> option_words() { return kWords; }

std::string in_option_words(std::string_view text, std::span<const std::string_view> only) {
  const auto has = [&](std::string_view option) {
    return only.empty() || std::find(only.begin(), only.end(), option) != only.end();
  };
  std::string result;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size();) {
    // An apostrophe inside a word, as in "can't", is not a quote.
    const bool in_word =
        at > 0 && at + 1 < text.size() && is_of_key(text[at - 1]) && is_of_key(text[at + 1]);
    if (text[at] == '\'' && (quoted || !in_word)) quoted = !quoted;
    const bool begins = !quoted && (at == 0 || !is_of_key(text[at - 1]));
    std::size_t end = at;
    while (begins && end < text.size() && is_of_key(text[end])) ++end;
    std::string_view word = text.substr(at, end - at);
    while (word.ends_with('.')) word.remove_suffix(1);
    const auto* found =
        std::find_if(std::begin(kWords), std::end(kWords),
                     [&](const OptionWord& each) { return each.key == word && has(each.option); });
    if (word.empty() || found == std::end(kWords)) {
      result += text[at++];
      continue;
    }
    const std::optional<Value> value = value_at(text.substr(at + word.size()));
    // "network" and "isolation" are words of English, too.
    if (!value && word.find('.') == std::string_view::npos) {
      result += word;
      at += word.size();
      continue;
    }
    result += found->option;
    at += word.size();
    if (!value) continue;
    result += " " + shell_word(value->text);
    at += value->size;
  }
  return result;
}

void use_option_words(Report& report) {
  report.message = in_option_words(report.message);
  for (Violation& each : report.violations) {
    each.rule = in_option_words(each.rule);
    each.grant = in_option_words(each.grant);
  }
}

}  // namespace brig
