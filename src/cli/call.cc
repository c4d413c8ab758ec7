// `brig call`: one tool of a manifest, once.
#include <brig/brig.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>

#include "base/error.h"
#include "base/fd.h"
#include "base/own_thread.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/streams.h"
#include "cli/watch_printer.h"
#include "json/json_text.h"
#include "os/event.h"
#include "sandbox/refused_result.h"

namespace brig::cli {
namespace {

constexpr int kToolFailed = 1;
constexpr std::size_t kMaxArguments = 64_MiB;

struct CallOptions {
  std::string manifest, tool, arguments = "{}";
  bool json = false, watch = false;
};

std::string read_all(int fd, const std::string& name) {
  std::string text;
  char chunk[65536];
  for (;;) {
    const ssize_t size = read(fd, chunk, sizeof chunk);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) throw_sys("reading {}", name);
    if (size == 0) return text;
    text.append(chunk, static_cast<std::size_t>(size));
    if (text.size() > kMaxArguments)
      throw_error(ErrorKind::config, "reading {}: it is longer than {}", name,
                  format_size(kMaxArguments));
  }
}

// JSON itself, @file or - for stdin.
std::string text_of(const std::string& word) {
  if (word == "-") return read_all(0, "stdin");
  if (!word.starts_with('@')) return word;
  const std::string path = word.substr(1);
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) throw_sys("opening {}", in_quotes(path));
  return read_all(fd.get(), in_quotes(path));
}

std::string unknown(const std::string& name, const Toolbox& tools) {
  std::vector<std::string_view> names;
  const auto all = tools.list();
  names.reserve(all.size());
  for (const auto& tool : all) names.push_back(tool->name);
  const auto meant = nearest(name, names);
  return fmt::format(
      "unknown tool: {}; {}", in_quotes(name),
      meant ? fmt::format("did you mean '{}'?", *meant) : "`brig tools` lists the tools");
}

// Calls `cancel` when a signal comes, until it is true: the call may not have begun yet.
class Canceller {
 public:
  Canceller(int signals, std::function<bool()> cancel)
      : done_(make_event()), thread_([this, signals, cancel = std::move(cancel)] {
          pollfd wait[] = {{signals, POLLIN, 0}, {done_.get(), POLLIN, 0}};
          while (poll(wait, 2, -1) < 0) {
          }
          if (!wait[0].revents) return;
          // Left unread until here, for a Passer that waits must see it too.
          while (!cancel() && poll(wait + 1, 1, 10) == 0) {
          }
        }) {}
  ~Canceller() {
    signal_event(done_);
    thread_.join();
  }
  Canceller(const Canceller&) = delete;
  Canceller& operator=(const Canceller&) = delete;

 private:
  UniqueFd done_;
  OwnThread thread_;
};

// If the tool is a command, the toolbox holds it alone: the policies of other tools would need
// zygotes too. Otherwise it must be a tool that is loaded.
Toolbox toolbox_with(const std::string& name, const Manifest& manifest) {
  const auto command = manifest.tools.find(name);
  if (!command) return loaded_of(manifest);
  Toolbox tools;
  tools.add(*command);
  return tools;
}

ToolResult run_tool(const std::string& name, Json arguments, const Manifest& manifest, bool watch,
                    int signals) {
  Sandbox box(toolbox_with(name, manifest), manifest.policy, {.concurrency = 1, .ready_max = 1});
  Limits limits = manifest.policy.limits;
  for (const auto& tool : box.list_tools())
    if (tool->name == name && tool->options.policy) limits = tool->options.policy->limits;
  Passer passer(Passer::Clock::now() + limits.timeout + limits.grace, signals);
  WatchPrinter printer(passer);
  std::shared_ptr<void> watching;
  // Few events: one can hold 64 KiB of output, and all are printed before the result is.
  if (watch) watching = box.watch([&](const Event& event) { printer.print(event); }, 64);
  const Canceller canceller(signals, [&] { return box.cancel("call"); });
  return box.call(name, std::move(arguments), "call");
}

int code_of(const ToolResult& result, int signals) {
  const Report& report = result.report;
  switch (report.outcome) {
    case Outcome::ok: return 0;
    case Outcome::tool_error:
    case Outcome::exit:
    case Outcome::denied:
    case Outcome::process_limit: return kToolFailed;
    case Outcome::timeout: return kTimedOut;
    case Outcome::memory_limit:
    case Outcome::output_limit: return kSignalBase + SIGKILL;
    case Outcome::signal: return kSignalBase + report.signal.value_or(0);
    case Outcome::cancelled: return kSignalBase + signal_from(signals);
    // With an errno: the manifest names a program that is not there, or can't be run.
    case Outcome::invalid_arguments: return report.exec_error ? kOwnFailure : kCannotRun;
    case Outcome::unknown_tool: return kNotFound;
    case Outcome::overloaded:
    case Outcome::internal: break;
  }
  return kOwnFailure;
}

// A result is data: nothing in it may move the cursor of the reader's terminal.
std::string printable_lines(std::string_view text) {
  std::string lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\n\t", at), text.size());
    lines += printable(text.substr(at, end - at));
    if (end < text.size()) lines += text[end];
    at = end + 1;
  }
  return lines;
}

int print(const ToolResult& result, bool json, int signals) {
  std::string text;
  const int indent = isatty(1) ? 2 : -1;
  if (json) {
    text = to_json(result, indent) + "\n";
    if (isatty(1)) text = printable_json(text);
  } else if (result.ok()) {
    text =
        result.output.is_string() ? result.output.get<std::string>() : result.output.dump(indent);
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    if (isatty(1)) text = result.output.is_string() ? printable_lines(text) : printable_json(text);
  } else {
    complain_lines(result.error);
  }
  put(text);
  return code_of(result, signals);
}

int call_tool(const CallOptions& options) {
  const Manifest manifest = manifest_of(options.manifest);
  if (!manifest.tools.find(options.tool) && !has_loaded(manifest))
    return print(refused_result(Outcome::unknown_tool, unknown(options.tool, manifest.tools)),
                 options.json, -1);
  std::string fault;
  std::optional<Json> arguments = json_from(text_of(options.arguments), fault);
  if (!arguments)
    return print(refused_result(Outcome::invalid_arguments,
                                json_refusal("the arguments are not JSON: ", fault)),
                 options.json, -1);
  const UniqueFd signals = signals_as_descriptor();
  const ToolResult result =
      run_tool(options.tool, std::move(*arguments), manifest, options.watch, signals.get());
  return print(result, options.json, signals.get());
}

}  // namespace

void add_call(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CallOptions>();
  CLI::App* call = app.add_subcommand("call", "Calls a tool of a manifest in a cell of its own.");
  call->add_option("NAME", options->tool, "The tool")->required();
  call->add_option("ARGUMENTS", options->arguments,
                   "A JSON object, @FILE that holds one, or - for stdin [{}]");
  call->add_option("--manifest", options->manifest, "Manifest [brig.toml]")->type_name("FILE");
  call->add_flag("--json", options->json, "Print the whole result as JSON instead of the output");
  call->add_flag("--watch", options->watch, "Print events of the call on stderr, as they happen");
  call->footer(
      "Prints the tool's result: text as it is, anything else as JSON.\n"
      "Examples:\n"
      "  brig call greet '{\"who\": \"you\"}'\n"
      "  brig call --manifest tools/brig.toml count_lines @arguments.json --json\n"
      "  echo '{\"who\": \"you\"}' | brig call greet - --watch\n"
      "Exit codes: 0 success, 1 the tool failed, 124 timeout, 125 brig failed or the manifest is\n"
      "wrong, 126 invalid arguments, 127 unknown tool, 128+N ended by signal N (137: the memory "
      "or\n"
      "output limit).");
  call->callback([options, &exit_code] { exit_code = call_tool(*options); });
}

}  // namespace brig::cli
