// run_command: a command of the caller's, in a cell like any other. Its files are put into the workspace before, and images and
// files that it has left there come back: "images" and "files" of its output. The latter hold bytes, which only MCP hands out.
#pragma once

#include <brig/tool.h>

namespace brig::serve {

Tool run_command_tool();

}  // namespace brig::serve
