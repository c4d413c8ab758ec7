#include "serve/builtin.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "serve/run_command.h"

namespace brig::serve {
namespace {

void add_stream(Json& output, const std::string& name, const Output& stream) {
  if (is_valid_utf8(stream.bytes))
    output[name] = stream.bytes;
  else
    output[name + "_base64"] = base64(stream.bytes);
  if (stream.truncated) output[name + "_total"] = stream.total;
}

}  // namespace

Builtins make_builtins(const Policy& policy, const SandboxOptions& options) {
  Builtins made;
  const auto tools = [](bool python) {
    Toolbox toolbox;
    toolbox.add(run_command_tool());
    if (python) toolbox.add_python({.modules = {"brig._builtin"}});
    return toolbox;
  };
  try {
    made.sandbox = std::make_shared<Sandbox>(tools(true), policy, options);
  } catch (const Error& error) {
    // Without an interpreter, or with one that won't start under this policy, the other is still of use. If that
    // can't be either, it says why.
    made.sandbox = std::make_shared<Sandbox>(tools(false), policy, options);
    made.missing = error.what();
  }
  return made;
}

bool is_builtin(std::string_view tool) { return tool == kRunCommand || tool == kRunPython; }

void present_builtin(ToolResult& result, std::string_view tool) {
  if (!result.ok) return;
  Json answer = std::move(result.output);
  result.output = Json::object();
  const auto fail = [&](Outcome outcome, std::string message) {
    result.ok = false;
    result.output = nullptr;
    result.report.outcome = outcome;
    result.report.message = message;
    result.error = std::move(message);
  };
  if (!answer.is_object()) return fail(Outcome::tool_error, "the cell's answer is not an object");
  const auto number = [&](const char* key) -> std::optional<int> {
    const auto found = answer.find(key);
    if (found == answer.end() || !found->is_number_integer()) return {};
    return found->get<int>();
  };
  if (const auto fault = answer.find("not_run"); fault != answer.end() && fault->is_string())
    return fail(Outcome::invalid_arguments, fault->get<std::string>());
  const auto was_refused = [&](std::string_view layer) {
    return std::any_of(result.report.violations.begin(), result.report.violations.end(),
                       [&](const Violation& each) { return each.layer == layer; });
  };
  if (tool == kRunCommand) {
    result.report.exit_code = number("exit_code");
    result.report.signal = number("signal");
    const bool failed = result.report.signal || result.report.exit_code.value_or(0) != 0;
    if (failed && was_refused("memory"))
      return fail(
          Outcome::memory_limit,
          "the command was ended: it needed more memory than it may have; make it use less, or "
          "have the operator raise limits.memory");
    if (failed && was_refused("processes"))
      return fail(
          Outcome::process_limit,
          "the command failed after it was refused a process; make it start fewer, or have the "
          "operator raise limits.processes");
    if (result.report.signal)
      return fail(Outcome::signal,
                  fmt::format("the command was ended by signal {}", *result.report.signal));

    if (!result.report.exit_code)
      return fail(Outcome::tool_error, "the cell's answer has no exit code");
    if (*result.report.exit_code != 0)
      return fail(Outcome::exit,
                  fmt::format("the command exited with code {}", *result.report.exit_code));
    result.output["exit_code"] = 0;
  } else {
    result.output["value"] = std::move(answer["value"]);
    result.report.exit_code = 0;
  }
  add_stream(result.output, "stdout", result.report.out);
  add_stream(result.output, "stderr", result.report.err);
  if (auto images = answer.find("images"); images != answer.end() && images->is_array())
    result.output["images"] = std::move(*images);
}

}  // namespace brig::serve
