// The brig program: one file per sub-command.
#include <brig/capabilities.h>
#include <brig/command.h>
#include <brig/error.h>
#include <brig/policy.h>
#include <brig/report.h>
#include <brig/runner.h>
#include <brig/seed.h>
#include <brig/version.h>
#include <fcntl.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "cli/cli.h"

// A descriptor that the caller closed would be taken by the next file opened, and given to the
// tool.
static void open_standard_descriptors() {
  for (int fd = 0; fd < 3; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
      _exit(brig::cli::kOwnFailure);
}

static bool is_dashes(const char* word) { return word && !std::strcmp(word, "--"); }

// Index of "--", or of the first word behind `run` that is neither an option nor the value of one.
static int first_of_command(const CLI::App& run, int argc, char** argv) {
  int at = 2;
  while (at < argc && argv[at][0] == '-' && !is_dashes(argv[at])) {
    const std::string word = argv[at++];
    const CLI::Option* option = run.get_option_no_throw(word);
    // "--name value", not "--name=value".
    if (option && option->get_items_expected_max() > 0) ++at;
  }
  return std::min(at, argc);
}

// `brig help COMMAND` is `brig COMMAND --help`, and `brig version` is `brig --version`. False:
// `fault` says why not.
static bool plain_words(const CLI::App& app, int& argc, char** argv, std::string& fault) {
  static char help[] = "--help", version[] = "--version";
  const auto wrong = [&](int at) {
    fault = brig::cli::wrong_subcommand(app, at < argc ? argv[at] : nullptr);
    return !fault.empty();
  };
  if (wrong(1)) return false;
  if (argc == 2 && !std::strcmp(argv[1], "version")) argv[1] = version;
  if (std::strcmp(argv[1], "help") != 0) return true;
  if (argc == 2 || argv[2][0] == '-') {
    argv[1] = help;
    argc = 2;
  } else {
    if (wrong(2)) return false;
    argv[1] = argv[2];
    argv[2] = help;
    argc = 3;
  }
  argv[argc] = nullptr;
  return true;
}

static int run_program(int argc, char** argv) {
  CLI::App app("Runs commands and tools in fresh, locked cells.", "brig");
  app.set_version_flag("--version,-V", "brig " BRIG_VERSION);
  app.require_subcommand(1);
  brig::cli::set_words(app);
  app.footer(
      "Examples:\n"
      "  brig run -- python3 -c 'print(6*7)'\n"
      "  brig run --timeout 5s --memory 256M --read ~/data -- wc -l ~/data/big.csv\n"
      "  echo hello | brig run --json -- tr a-z A-Z\n"
      "  brig tools --manifest brig.toml\n"
      "  brig call greet '{\"who\": \"you\"}'\n"
      "  brig serve --manifest brig.toml\n"
      "  brig doctor\n"
      "`brig help COMMAND` shows more, `brig version` prints the version.\n"
      "Exit codes: 124 timeout, 125 brig failed, 126 can't be run, 127 not found, 128+N ended by\n"
      "signal N, otherwise the command's own.");
  int exit_code = 0;
  std::vector<std::string> command;
  const CLI::App& run = brig::cli::add_run(app, command, exit_code);
  brig::cli::add_tools(app, exit_code);
  brig::cli::add_call(app, exit_code);
  brig::cli::add_presets(app, exit_code);
  brig::cli::add_doctor(app, exit_code);
  brig::cli::add_server(app);
  // Taken off here, untouched: no option parser gets to see the command's own words.
  if (argc > 1 && std::string_view(argv[1]) == run.get_name()) {
    const int at = first_of_command(run, argc, argv);
    command.assign(argv + std::min(argc, at + is_dashes(argv[at])), argv + argc);
    argc = std::min(argc, at);
  }
  try {
    brig::cli::refuse_raised_rights();
    brig::cli::refuse_empty_values(app, argc, argv);
    if (std::string fault; !plain_words(app, argc, argv, fault)) {
      brig::cli::complain(fault);
      return brig::cli::kOwnFailure;
    }
    if (argc > 1 && brig::cli::is_of_server(argv[1])) brig::cli::run_server(argv);
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    brig::cli::complain(brig::cli::wrong_words(app, argc, argv, error.what()));
    return brig::cli::kOwnFailure;
  } catch (const std::exception& error) {
    brig::cli::complain_lines(error.what());
    return brig::cli::kOwnFailure;
  }
  return exit_code;
}

int main(int argc, char** argv) {
  open_standard_descriptors();
  signal(SIGXFSZ,
         SIG_IGN);  // `ulimit -f` counts memory files too: an error with a reason, not a death
  return brig::cli::finished(run_program(argc, argv));
}
