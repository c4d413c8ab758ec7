#include "cli/path_options.h"

#include <CLI/App.hpp>

#include "cli/cli.h"
#include "cli/policy_options.h"
#include "policy/listed_path.h"
#include "policy/option_words.h"

namespace brig::cli {
namespace {

// "sub:/data": the first part is a path of this machine's, the other one the cell's.
std::string absolute_listed(const std::string& text) {
  // validate() has the words for this.
  if (places_in(text) > 1) return text;
  const ListedPath listed = listed_path(text);
  const std::string path = absolute(listed.path);
  return places_in(text) ? listed_text(path, listed.at) : listed_text(path);
}

}  // namespace

const char* PathOptions::given() const {
  if (!read.empty()) return "--read";
  if (!write.empty()) return "--write";
  if (!read_optional.empty()) return "--read-optional";
  if (!write_optional.empty()) return "--write-optional";
  if (!noexec.empty()) return "--noexec";
  if (!protect.empty()) return "--protect";
  return nullptr;
}

void PathOptions::add_to(Files& files) const {
  for (const std::string& text : read) files.read.push_back(absolute_listed(text));
  for (const std::string& text : write) files.write.push_back(absolute_listed(text));
  for (const std::string& text : read_optional)
    files.read_optional.push_back(absolute_listed(text));
  for (const std::string& text : write_optional)
    files.write_optional.push_back(absolute_listed(text));
  for (const std::string& path : noexec) files.noexec.push_back(absolute(path));
  for (const std::string& path : protect)
    files.protect.push_back(path.starts_with('@') ? path : absolute(path));
}

void add_path_options(CLI::App& app, PathOptions& options) {
  // One value each: `--read A B` would swallow the command.
  const auto list = [&](const char* name, std::vector<std::string>& target, const char* help,
                        const char* type) {
    app.add_option(name, target, help)->type_name(type)->expected(1)->take_all();
  };
  list("--read", options.read, "Let the cell read PATH, and find it at PLACE (repeatable)",
       "PATH[:PLACE]");
  list("--write", options.write, "Let the cell read and write PATH (repeatable)", "PATH[:PLACE]");
  list("--read-optional", options.read_optional, "Same as --read, if PATH exists (repeatable)",
       "PATH[:PLACE]");
  list("--write-optional", options.write_optional, "Same as --write, if PATH exists (repeatable)",
       "PATH[:PLACE]");
  list("--noexec", options.noexec, "Let nothing below the listed PATH be executed (repeatable)",
       "PATH");
  list("--protect", options.protect,
       "Keep PATH read-only inside a writable one; @default: .git/hooks, .envrc ... (repeatable)",
       "PATH");
}

void tell_what_appeared(const Report& report) {
  for (const Violation& each : report.violations)
    if (each.code == "file.appeared") complain(in_option_words(sentence(each)));
}

}  // namespace brig::cli
