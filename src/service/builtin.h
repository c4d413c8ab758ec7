// The built-in tools of a server that has no manifest: run_command and run_python.
#pragma once

#include <brig/sandbox.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace brig::serve {

inline constexpr const char* kRunCommand = "run_command";
inline constexpr const char* kRunPython = "run_python";

// Both tools, or run_command alone. `preload`: modules that run_python's interpreter imports ahead.
Toolbox builtin_tools(bool python, const std::vector<std::string>& preload);

// The modules of the command line, then those of a manifest, each once.
std::vector<std::string> preload_of(std::vector<std::string> named,
                                    const std::vector<std::string>& of_manifest);

struct Builtins {
  std::shared_ptr<Sandbox> sandbox;
  // Why there is no run_python; empty if there is.
  std::string missing;
  Policy policy;
};

// Throws Error, also if a module of `preload` can't be imported. Programs that are executed for it
// make the cells: no cell is a copy of this process.
Builtins make_builtins(const Policy& policy, const SandboxOptions& options,
                       const std::vector<std::string>& preload = {});

bool is_builtin(std::string_view tool);

// Adds what was written to stdout and stderr, as members of an output.
void add_streams(Json& output, const Report& report);

}  // namespace brig::serve
