// The inside of a function's cell: finds the function, calls it, and sends its answer.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <brig/tool.h>

namespace brig {

using Functions = std::map<std::string, std::shared_ptr<const Tool>>;

// The functions of cells that are forked from this process from now on. `functions` must outlive it.
void serve_functions(const Functions& functions);

}  // namespace brig
