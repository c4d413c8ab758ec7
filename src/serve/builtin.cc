#include "serve/builtin.h"

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
  made.policy = policy;
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

void add_streams(Json& output, const Report& report) {
  add_stream(output, "stdout", report.out);
  add_stream(output, "stderr", report.err);
}

void present_python(ToolResult& result) {
  if (!result.ok) return;
  Json answer = std::move(result.output);
  result.output = nullptr;
  const auto fail = [&](Outcome outcome, std::string message) {
    result.ok = false;
    result.report.outcome = outcome;
    result.report.message = message;
    result.error = std::move(message);
  };
  if (!answer.is_object()) return fail(Outcome::tool_error, "the cell's answer is not an object");
  if (const auto fault = answer.find("not_run"); fault != answer.end() && fault->is_string())
    return fail(Outcome::invalid_arguments, fault->get<std::string>());
  result.output = {{"value", std::move(answer["value"])}};
  result.report.exit_code = 0;
  add_streams(result.output, result.report);
  for (const char* key : {"images", "files"})
    if (auto list = answer.find(key); list != answer.end() && list->is_array())
      result.output[key] = std::move(*list);
  if (const auto more = answer.find("files_left_out");
      more != answer.end() && more->is_number_unsigned())
    result.output["files_left_out"] = *more;
}

}  // namespace brig::serve
