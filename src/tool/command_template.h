// CommandTemplate: a tool that is a command. Its words hold {placeholders} for the tool's parameters:
//
//   {"convert", "--size={width}x{height}", "--", "{file}"}
//
// Each word stays one word, whatever a value holds: there is no shell, nothing is split, nothing is
// expanded twice. "{{" and "}}" stand for the braces themselves.
#pragma once

#include <brig/json.h>

#include <set>
#include <string>
#include <vector>

namespace brig {

class CommandTemplate {
 public:
  // `parameters`: the names that there are. Throws Error(config) for a placeholder that is none of them, a
  // brace that stands alone, or a program that a model could choose: the first word has no placeholder.
  // `defaults`: the values of those that a call need not give, as an object.
  CommandTemplate(const std::vector<std::string>& words, const std::set<std::string>& parameters,
                  Json defaults = Json::object());

  // The words of one call. Strings are taken as they are, all else as JSON text. A word that is nothing but the
  // placeholder of a parameter which was not given and has no default, or is null, is left out; elsewhere it is
  // the empty text.
  // Throws Error(config) for a value with a NUL byte, and for one that would make a word begin with '-' where
  // the template's does not, before a "--": the command would take it for an option.
  std::vector<std::string> expand(const Json& arguments) const;

 private:
  struct Piece {
    bool placeholder;
    std::string text;  // literal, or the parameter's name
  };
  std::vector<std::vector<Piece>> words_;
  Json defaults_;
};

}  // namespace brig
