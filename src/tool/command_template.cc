#include "tool/command_template.h"

#include "base/error.h"
#include "base/text.h"
#include "json/json_text.h"

namespace brig {
namespace {

std::string text_of(const Json& value, const std::string& name) {
  if (value.is_string()) return value.get<std::string>();
  std::string fault;
  std::optional<std::string> text = json_text(value, fault);
  if (!text) throw_error(ErrorKind::config, "/{}: it holds {}", name, fault);
  return std::move(*text);
}

}  // namespace

CommandTemplate::CommandTemplate(const std::vector<std::string>& words,
                                 const std::set<std::string>& parameters, Json defaults)
    : defaults_(std::move(defaults)) {
  if (words.empty() || words[0].empty()) throw Error(ErrorKind::config, "argv: it has no program");
  for (const std::string& word : words) {
    const auto refuse = [&](const std::string& why) {
      throw_error(ErrorKind::config, "argv: {}: {}", in_quotes(word), why);
    };
    if (word.find('\0') != std::string::npos) refuse("holds a NUL byte");
    std::vector<Piece> pieces;
    std::string literal;
    for (std::size_t i = 0; i < word.size(); ++i) {
      const char c = word[i];
      if ((c == '{' || c == '}') && i + 1 < word.size() && word[i + 1] == c) {
        literal += c;
        ++i;
      } else if (c == '}') {
        refuse("a '}' without its '{'; write \"}}\" for the character itself");
      } else if (c == '{') {
        const std::size_t end = word.find('}', i);
        if (end == std::string::npos)
          refuse("a '{' without its '}'; write \"{{\" for the character itself");
        const std::string name = word.substr(i + 1, end - i - 1);
        if (!parameters.contains(name)) {
          const std::vector<std::string_view> known(parameters.begin(), parameters.end());
          const auto meant = nearest(name, known);
          refuse(fmt::format("{} is not a parameter{}", in_quotes(name),
                             meant ? fmt::format("; did you mean '{}'?", *meant) : ""));
        }
        if (!literal.empty()) pieces.push_back({false, std::exchange(literal, "")});
        pieces.push_back({true, name});
        i = end;
      } else {
        literal += c;
      }
    }
    if (!literal.empty() || pieces.empty()) pieces.push_back({false, literal});
    if (words_.empty() && (pieces.size() > 1 || pieces[0].placeholder))
      refuse("the program itself can't be a parameter");
    words_.push_back(std::move(pieces));
  }
}

std::vector<std::string> CommandTemplate::expand(const Json& arguments) const {
  std::vector<std::string> result;
  // Whether a word that begins with '-' may be an option.
  bool options = true;
  for (const std::vector<Piece>& pieces : words_) {
    std::string word;
    bool given = false;
    for (const Piece& piece : pieces) {
      if (!piece.placeholder) {
        word += piece.text;
        given = true;
        continue;
      }
      auto found = arguments.find(piece.text);
      if (found == arguments.end()) {
        found = defaults_.find(piece.text);
        if (found == defaults_.end()) continue;
      }
      if (found->is_null()) continue;
      given = true;
      std::string value = text_of(*found, piece.text);
      if (value.find('\0') != std::string::npos)
        throw_error(ErrorKind::config,
                    "/{}: expected text without a NUL byte: no command can receive it", piece.text);
      if (options && word.empty() && value.starts_with('-'))
        throw_error(
            ErrorKind::config,
            "/{}: expected text that does not begin with '-': the command would take it for an "
            "option",
            piece.text);
      word += value;
    }
    if (!given) continue;
    if (pieces.size() == 1 && !pieces[0].placeholder && word == "--") options = false;
    result.push_back(std::move(word));
  }
  return result;
}

}  // namespace brig
