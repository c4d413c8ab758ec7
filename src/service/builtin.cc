#include "service/builtin.h"

#include <algorithm>

#include "base/error.h"
#include "cell/report_json.h"
#include "service/run_command.h"
#include "service/run_python.h"

namespace brig::serve {
namespace {

void add_stream(Json& output, const std::string& name, const Output& stream) {
  add_bytes(output, name, stream.bytes);
  if (!stream.truncated) return;
  output[name + "_bytes"] = stream.total;
  // The name before 0.2; until 0.3.
  output[name + "_total"] = stream.total;
}

}  // namespace

std::vector<std::string> preload_of(std::vector<std::string> named,
                                    const std::vector<std::string>& of_manifest) {
  named.insert(named.end(), of_manifest.begin(), of_manifest.end());
  std::vector<std::string> once;
  for (std::string& each : named)
    if (std::find(once.begin(), once.end(), each) == once.end()) once.push_back(std::move(each));
  return once;
}

Toolbox builtin_tools(bool python, const std::vector<std::string>& preload) {
  Toolbox toolbox;
  toolbox.add(run_command_tool());
  if (!python) return toolbox;
  Python interpreter;
  interpreter.modules = {"brig._builtin"};
  interpreter.preload = preload;
  toolbox.add_python(std::move(interpreter), {}, run_python_maker());
  return toolbox;
}

Builtins make_builtins(const Policy& policy, const SandboxOptions& options,
                       const std::vector<std::string>& preload) {
  Builtins made;
  made.policy = policy;
  try {
    made.sandbox = std::make_shared<Sandbox>(builtin_tools(true, preload), policy, options);
  } catch (const Error& error) {
    // An operator who names modules for it needs it.
    if (!preload.empty()) throw;
    // Without an interpreter, or with one that won't start under this policy, run_command is still
    // useful. If it can't start either, this throws the reason.
    made.sandbox = std::make_shared<Sandbox>(builtin_tools(false, preload), policy, options);
    made.missing = error.what();
  }
  return made;
}

bool is_builtin(std::string_view tool) { return tool == kRunCommand || tool == kRunPython; }

void add_streams(Json& output, const Report& report) {
  add_stream(output, "stdout", report.out);
  add_stream(output, "stderr", report.err);
}

}  // namespace brig::serve
