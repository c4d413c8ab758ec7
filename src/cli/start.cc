// The checks that both programs make before they do anything.
#include <sys/auxv.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <string>

#include "base/error.h"
#include "cli/cli.h"

namespace brig::cli {

void refuse_raised_rights() {
  // Root gains nothing by it, and under SELinux a service manager starts root's services in this
  // way.
  if (getauxval(AT_SECURE) == 0 || getuid() == 0) return;
  throw Error(
      ErrorKind::permission,
      "started with more rights than its caller has (a set-user-ID or set-group-ID bit, file "
      "capabilities, or a security module): every user who may start it would get those "
      "rights. brig needs none of them: remove them with chmod u-s,g-s and setcap -r");
}

void refuse_empty_values(CLI::App& app, int argc, char** argv) {
  constexpr const char* kFault = "the value is empty";
  const auto not_empty = [](const std::string& value) { return value.empty() ? kFault : ""; };
  const CLI::App* chosen = nullptr;
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    if (argc > 1 && command->get_name() == argv[1]) chosen = command;
    for (CLI::Option* option : command->get_options())
      if (!option->get_positional() && option->get_items_expected_max() > 0)
        option->check(not_empty, "", "");
  }
  // The parser takes the next word for the value of "--name=".
  for (int i = 2; chosen && i < argc && std::string_view(argv[i]) != "--"; ++i) {
    std::string word = argv[i];
    if (!word.starts_with("--") || !word.ends_with('=')) continue;
    word.pop_back();
    if (chosen->get_option_no_throw(word)) throw_error(ErrorKind::config, "{}: {}", word, kFault);
  }
}

}  // namespace brig::cli
