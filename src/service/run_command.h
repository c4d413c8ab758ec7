// run_command: a command of the caller's, in a cell like any other. Its files are put into the
// workspace first, and the files that it leaves there come back: see left_files.h. Its output has
// "exit_code" or "signal", "stdout", "stderr" and those files; it stands beside an error, too, if
// the command was run.
#pragma once

#include <brig/tool.h>

namespace brig::serve {

Tool run_command_tool();

}  // namespace brig::serve
