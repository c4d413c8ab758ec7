// run_command: what it is called with, and what it does inside its cell.
#pragma once

#include <brig/tool.h>

namespace brig::serve {

Tool run_command_tool();

}  // namespace brig::serve
