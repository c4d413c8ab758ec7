// run_command: a command of the caller's, in a cell like any other. Its files are put into the workspace before, and
// images that it has left there come back.
#pragma once

#include <brig/tool.h>

namespace brig::serve {

Tool run_command_tool();

}  // namespace brig::serve
