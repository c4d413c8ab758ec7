// Python tools on the host's side: the interpreter that a zygote becomes, and what it needs to see.
#pragma once

#include <brig/python.h>
#include <brig/tool.h>

#include <memory>
#include <string>
#include <vector>

#include "cell/plan_builder.h"

namespace brig {

struct PythonRuntime {
  std::string key;                // Differs from every other runtime's.
  std::vector<std::string> read;  // Paths that its cells need to see.
  std::shared_ptr<const Payload> payload;
};

bool is_module_name(const std::string& name);

// A runtime that imports the modules and lists their tools. Throws Error(config) for a module that
// does not exist.
std::shared_ptr<const PythonRuntime> python_runtime(const Python& python);

// The files and package directories of its modules, as far as the host can tell.
std::vector<std::string> python_sources(const Python& python);
// The directories where the modules may be.
std::vector<std::string> python_directories(const Python& python);

// A runtime that does what `spec` says (python/brig/_cell.py has its members). `interpreter` is
// absolute. `read` lists the host's files that it needs; those that do not exist are ignored.
std::shared_ptr<const PythonRuntime> python_runtime(const std::string& title,
                                                    const std::string& interpreter,
                                                    const std::vector<std::string>& read,
                                                    const Json& spec);

}  // namespace brig
