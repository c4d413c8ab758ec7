// run_command: a command of the caller's, in a cell like any other. Its files are put into the workspace before, and what it has left there
// comes back: see left_files.h. Its output is {"exit_code" or "signal", "stdout", "stderr"} and that; also beside an error, if it was run.
#pragma once

#include <brig/tool.h>

namespace brig::serve {

Tool run_command_tool();

}  // namespace brig::serve
