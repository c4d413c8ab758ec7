// Python tools, from the host's side: the interpreter that a zygote becomes, and what it needs to see.
#pragma once

#include <brig/python.h>
#include <brig/tool.h>

#include <memory>
#include <string>
#include <vector>

#include "cell/plan_builder.h"

namespace brig {

struct PythonRuntime {
  std::string key;                // what tells it from others
  std::vector<std::string> read;  // paths that its cells need to see
  std::shared_ptr<const Payload> payload;
};

bool is_module_name(const std::string& name);

// One that imports the modules, and lists their tools. Throws Error(config) for what is not there.
std::shared_ptr<const PythonRuntime> python_runtime(const Python& python);

// The files and package directories that its modules are, as far as that is seen from outside.
std::vector<std::string> python_sources(const Python& python);
// The directories in which they may lie.
std::vector<std::string> python_directories(const Python& python);

// One that does what `spec` says (python/brig/_cell.py has its members). `interpreter` is absolute; `read` is
// what it needs of the host's files, and as much of it as exists is used.
std::shared_ptr<const PythonRuntime> python_runtime(const std::string& title,
                                                    const std::string& interpreter,
                                                    const std::vector<std::string>& read,
                                                    const Json& spec);

}  // namespace brig
