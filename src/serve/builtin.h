// The tools that a server has when it is given no others: run_command and run_python.
#pragma once

#include <brig/sandbox.h>

#include <memory>
#include <string>
#include <string_view>

namespace brig::serve {

inline constexpr const char* kRunCommand = "run_command";
inline constexpr const char* kRunPython = "run_python";

struct Builtins {
  std::shared_ptr<Sandbox> sandbox;
  std::string missing;  // why there is no run_python; empty if there is
  Policy policy;
};

// Throws Error. The cells are made by programs that are executed for it: none is a copy of this process.
Builtins make_builtins(const Policy& policy, const SandboxOptions& options);

bool is_builtin(std::string_view tool);

// What was written to stdout and stderr, as members of an output.
void add_streams(Json& output, const Report& report);

// What the cell of run_python answered and what it wrote, put together: output is {"value", "stdout", "stderr", "images"};
// and code that was not run is a call that failed. (The output of run_command is made like that from the start.)
void present_python(ToolResult& result);

}  // namespace brig::serve
