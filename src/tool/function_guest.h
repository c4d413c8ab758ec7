// The inside of a function's cell: it finds the function, calls it and sends its answer.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <brig/tool.h>

namespace brig {

using Functions = std::map<std::string, std::shared_ptr<const Tool>>;

// Sets the functions of cells that are forked from this process from now on. `functions` must
// outlive the process's use of them.
void serve_functions(const Functions& functions);

}  // namespace brig
