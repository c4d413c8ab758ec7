// CommandTemplate: a tool that is a command. Its words hold {placeholders} for the tool's
// parameters:
//
//   {"convert", "--size={width}x{height}", "--", "{file}"}
//
// Each word stays one word, whatever a value holds: there is no shell, nothing is split, and
// nothing is expanded twice. "{{" and "}}" stand for the braces themselves.
#pragma once

#include <brig/json.h>

#include <set>
#include <string>
#include <vector>

namespace brig {

class CommandTemplate {
 public:
  // `parameters` are the names that exist. Throws Error(config) for a placeholder without a
  // parameter, for a brace that stands alone, and for a program that a model could choose: the
  // first word may have no placeholder. `defaults` is an object with the values of parameters that
  // a call need not give.
  CommandTemplate(const std::vector<std::string>& words, const std::set<std::string>& parameters,
                  Json defaults = Json::object());

  // The words of one call. Strings are used as they are, everything else as JSON text. If a
  // parameter was not given and has no default, or is null, a word that is nothing but its
  // placeholder is left out, and in other words the placeholder becomes the empty text. Throws
  // Error(config) for a value with a NUL byte. Also for a value that would make a word before a
  // "--" begin with '-' although the template's word does not: the command would take it for an
  // option.
  std::vector<std::string> expand(const Json& arguments) const;

 private:
  struct Piece {
    bool placeholder;
    // Literal text, or the parameter's name.
    std::string text;
  };
  std::vector<std::vector<Piece>> words_;
  Json defaults_;
};

}  // namespace brig
