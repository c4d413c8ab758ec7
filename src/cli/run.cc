// `brig run`: one command in one cell.
#include <brig/capabilities.h>
#include <brig/command.h>
#include <brig/error.h>
#include <brig/policy.h>
#include <brig/report.h>
#include <brig/runner.h>
#include <brig/seed.h>
#include <brig/version.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/policy_options.h"
#include "cli/socket_input.h"
#include "cli/streams.h"
#include "cli/tty.h"
#include "policy/option_words.h"

namespace brig::cli {
namespace {

struct RunOptions {
  std::string policy_file, timeout, grace, cpu_time, memory, output, output_total, scratch,
      file_size, cwd, root, isolation;
  NetworkOptions network;
  std::optional<unsigned> processes, open_files;
  std::optional<double> cpus;
  std::vector<std::string> hide, env, command;
  PathOptions paths;
  WordOptions words;
  bool json = false, tty = false;
};

Policy policy_of(const RunOptions& options) {
  Policy policy = options.policy_file.empty() ? Policy{} : policy_of_file(options.policy_file);
  options.words.apply(policy);
  Limits& limits = policy.limits;
  if (!options.timeout.empty()) limits.timeout = duration_of("--timeout", options.timeout);
  if (!options.grace.empty()) limits.grace = duration_of("--grace", options.grace);
  if (!options.cpu_time.empty()) limits.cpu_time = duration_of("--cpu-time", options.cpu_time);
  if (!options.memory.empty()) set_size("--memory", options.memory, limits.memory);
  if (!options.output.empty()) set_size("--output", options.output, limits.output);
  if (!options.output_total.empty())
    set_size("--output-total", options.output_total, limits.output_total.emplace());
  if (!options.scratch.empty()) set_size("--scratch", options.scratch, limits.scratch);
  if (!options.file_size.empty())
    set_size("--file-size", options.file_size, limits.file_size.emplace());
  if (options.processes) limits.processes = *options.processes;
  if (options.open_files) limits.open_files = *options.open_files;
  if (options.cpus) limits.cpus = options.cpus;
  limits.named = limits.named || !options.cpu_time.empty() || !options.memory.empty() ||
                 options.processes || options.cpus;
  options.paths.add_to(policy.files);
  for (const std::string& path : options.hide) policy.files.hide.push_back(absolute(path));
  if (!options.cwd.empty()) policy.files.working_directory = absolute(options.cwd);
  if (!options.root.empty()) policy.files.root = absolute(options.root);
  for (const std::string& entry : options.env) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos)
      policy.environment.passthrough.push_back(entry);
    else
      policy.environment.set[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  options.network.apply(policy);
  for (const Isolation isolation : {Isolation::jail, Isolation::landlock, Isolation::process})
    if (options.isolation == to_string(isolation)) policy.isolation = isolation;
  return policy;
}

int code_of(const Report& report, int signal_descriptor) {
  switch (report.outcome) {
    case Outcome::ok: return 0;
    case Outcome::timeout: return kTimedOut;
    case Outcome::memory_limit:
    case Outcome::output_limit: return kSignalBase + SIGKILL;
    case Outcome::cancelled: return kSignalBase + signal_from(signal_descriptor);
    case Outcome::signal: return kSignalBase + report.signal.value_or(0);
    case Outcome::exit:
    case Outcome::process_limit: return report.exit_code.value_or(kOwnFailure);
    case Outcome::invalid_arguments:
      return report.exec_error == 0        ? kOwnFailure
             : report.exec_error == ENOENT ? kNotFound
                                           : kCannotRun;
    default: return kOwnFailure;
  }
}

int run_command(const RunOptions& options) {
  const Policy policy = policy_of(options);
  Command command;
  command.argv = options.command;
  const UniqueFd signals = signals_as_descriptor();
  command.cancel_fd = signals.get();
  std::unique_ptr<SocketInput> socket;
  if (!options.tty && !isatty(0) && options.policy_file != "-")
    command.stdin_fd = 0;  // main() has seen to it that 0 is open
  if (struct stat info; command.stdin_fd == 0 && fstat(0, &info) == 0 && S_ISSOCK(info.st_mode)) {
    socket = std::make_unique<SocketInput>(0);
    command.stdin_fd = socket->inside();
  }
  command.ignored_signals = ignored_signals();
  // `> log 2>&1`: two pipes would lose the order of what is written to both.
  command.join_output = !options.json && is_one_file(1, 2);
  std::unique_ptr<Tty> tty;
  if (options.tty && policy.isolation == Isolation::jail) {
    // Made in the cell, so that it has a name there.
    command.on_terminal = [&](int outside) { tty = std::make_unique<Tty>(outside); };
  } else if (options.tty) {
    tty = std::make_unique<Tty>();
    command.tty_fd = tty->inside();
  }
  Passer passer(Passer::Clock::now() + policy.limits.timeout + policy.limits.grace, signals.get());
  // Why some of the output is.
  std::string lost;
  OutputCallback live;
  if (!options.json)
    live = [&](Stream stream, std::string_view bytes) {
      if (!passer.pass(stream == Stream::out ? 1 : 2, bytes) && lost.empty()) lost = passer.why();
    };
  Report report;
  try {
    report = run(command, policy, live);
  } catch (const Error& error) {
    throw Error(error.kind(), in_option_words(error.what()));
  }
  use_option_words(report);
  tty.reset();
  if (options.json) {
    put((isatty(1) ? printable_json(to_json(report, 2)) : to_json(report)) + "\n");
  } else if (report.outcome != Outcome::ok &&
             (report.outcome != Outcome::exit || !report.violations.empty())) {
    complain(report.message);
  }
  if (!options.json) tell_what_appeared(report);
  const int code = code_of(report, signals.get());
  if (lost.empty() || report.outcome == Outcome::cancelled) return code;
  complain(lost + "; the output is incomplete");
  return code ? code : kOwnFailure;
}

void add_limit_options(CLI::App& run, RunOptions& options) {
  run.add_option("--timeout", options.timeout, "Time until the command is ended [30s]")
      ->type_name("TIME");
  run.add_option("--grace", options.grace, "Between SIGTERM and SIGKILL [500ms]")
      ->type_name("TIME");
  run.add_option("--cpu-time", options.cpu_time, "CPU time of the tree")->type_name("TIME");
  run.add_option("--memory", options.memory, "Memory of the tree [512M]")->type_name("SIZE");
  run.add_option("--processes", options.processes, "Processes and threads at once [128]")
      ->type_name("N");
  run.add_option("--cpus", options.cpus, "CPUs that it may use")->type_name("N");
  run.add_option("--output", options.output, "Bytes kept of each stream in the report [100K]")
      ->type_name("SIZE");
  run.add_option("--output-total", options.output_total, "Stop the command when it writes more")
      ->type_name("SIZE");
  run.add_option("--scratch", options.scratch, "Private file space: /tmp, HOME, /workspace [64M]")
      ->type_name("SIZE");
  run.add_option("--file-size", options.file_size, "Largest file it may write")->type_name("SIZE");
  run.add_option("--open-files", options.open_files, "Open files per process [256]")
      ->type_name("N");
}

}  // namespace

CLI::App& add_run(CLI::App& app, const std::vector<std::string>& command, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* run = app.add_subcommand("run", "Runs a command in a cell of its own.");
  run->add_option("--policy", options->policy_file,
                  "Policy file (TOML), or - for standard input; the options below come on top")
      ->type_name("FILE");
  add_word_options(*run, options->words);
  add_limit_options(*run, *options);
  // One value each: `--read A B` would swallow the command.
  const auto list = [&](const char* name, std::vector<std::string>& target, const char* help,
                        const char* type) {
    run->add_option(name, target, help)->type_name(type)->expected(1)->take_all();
  };
  add_path_options(*run, options->paths);
  list("--hide", options->hide, "Show PATH as empty (repeatable)", "PATH");
  run->add_option("--root", options->root, "Directory that replaces the host's system")
      ->type_name("DIR");
  add_network_options(*run, options->network);
  list("--env", options->env, "Pass variable K on, or set it to V (repeatable)", "K[=V]");
  run->add_option("--cwd", options->cwd, "Working directory in the cell [/workspace]")
      ->type_name("PATH");
  run->add_option("--isolation", options->isolation,
                  "Least isolation accepted: jail, landlock or process [jail]")
      ->type_name("FLOOR")
      ->check(CLI::IsMember({"jail", "landlock", "process"}));
  run->add_flag("--json", options->json, "Print the whole report as JSON instead of the output");
  run->add_flag("--tty", options->tty, "Give it a terminal of its own");
  run->footer(
      "The cell sees the system read-only, a private /tmp, HOME and /workspace, the safe part of "
      "the\n"
      "environment, and nothing else: no network, no file of yours that is not listed.\n"
      "Examples:\n"
      "  brig run -- gcc --version\n"
      "  brig run --write . --cwd . --timeout 2m -- make\n"
      "  brig run --allow api.github.com -- curl -s https://api.github.com/zen\n"
      "  brig run --net loopback --env DEBUG=1 --json -- ./server-test");
  run->callback([options, &command, &exit_code] {
    options->command = command;
    if (options->command.empty())
      throw_error(ErrorKind::config, "no command given: write brig run [OPTIONS] -- CMD [ARGS...]");
    exit_code = run_command(*options);
  });
  return *run;
}

}  // namespace brig::cli
