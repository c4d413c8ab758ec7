// The words of a command line: suggestions for misspelt ones, and the form of help.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "base/text.h"
#include "cli/cli.h"

namespace brig::cli {
namespace {

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(each->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* each : command.get_options())
    for (const std::string& name : each->get_lnames()) names.push_back(name);
  return names;
}

// "; did you mean --timeout?", or ".". `dashes` stand before the suggestion.
std::string or_nearest(std::string_view word, const std::vector<std::string>& words,
                       std::string_view dashes = "") {
  const std::vector<std::string_view> known(words.begin(), words.end());
  const auto found = nearest(word, known);
  return found ? fmt::format("; did you mean {}{}?", dashes, *found) : ".";
}

class Formatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    if (app->get_name() == "run") return "Usage: " + name + " [OPTIONS] -- CMD [ARGS...]\n";
    return CLI::Formatter::make_usage(app, name);
  }
};

}  // namespace

void set_words(CLI::App& app) { app.formatter(std::make_shared<Formatter>()); }

std::string wrong_subcommand(const CLI::App& app, const char* word) {
  if (!word) return "no sub-command given; `brig help` lists them";
  std::vector<std::string> known = subcommands_of(app);
  known.insert(known.end(), {"help", "version"});
  if (word[0] == '-' || std::find(known.begin(), known.end(), word) != known.end()) return "";
  return fmt::format("unknown sub-command {}{} `brig help` lists them", in_quotes(word),
                     or_nearest(word, known));
}

std::string wrong_words(const CLI::App& app, int argc, char** argv, const std::string& otherwise) {
  const CLI::App* command = nullptr;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; }))
    if (argc > 1 && each->get_name() == argv[1]) command = each;
  const CLI::App& asked = command ? *command : app;
  const std::string name = command ? "brig " + command->get_name() : "brig";
  const std::string see = " See `" + name + " --help`";
  for (int i = command ? 2 : 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string word = argv[i], option = word.substr(0, word.find('='));
    if (option.find_first_not_of('-') == std::string_view::npos || word[0] != '-' ||
        asked.get_option_no_throw(option))
      continue;
    // -mFILE.
    if (word[1] != '-' && asked.get_option_no_throw(word.substr(0, 2))) continue;
    if (i > 1 && asked.get_option_no_throw(argv[i - 1]) &&
        asked.get_option_no_throw(argv[i - 1])->get_items_expected_max() > 0)
      continue;  // the value of one
    const std::string_view letters = std::string_view(option).substr(option.find_first_not_of('-'));
    return fmt::format("{}: unknown option {}{}{}", name, in_quotes(option),
                       or_nearest(letters, options_of(asked), "--"), see);
  }
  return name + ": " + otherwise + "." + see;
}

}  // namespace brig::cli
