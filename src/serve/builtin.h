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
};

// Before anything secret is read: run_command's cells are copies of this process as it is now. Throws Error.
Builtins make_builtins(const Policy& policy, const SandboxOptions& options);

bool is_builtin(std::string_view tool);
// What the cell answered and what it wrote, put together: output is {"exit_code" or "value", "stdout", "stderr",
// "images"}; and a command that failed is a call that failed.
void present_builtin(ToolResult& result, std::string_view tool);

}  // namespace brig::serve
