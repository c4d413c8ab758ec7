// run_command: what it is called with, and what it does inside its cell.
#pragma once

#include <brig/tool.h>

namespace brig::serve {

Tool run_command_tool();

// What may be given as "files": a path and its text, or its bytes as {"base64": ...}.
Json files_schema();

}  // namespace brig::serve
