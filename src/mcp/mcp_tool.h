// Tools in the form of tools/list.
#pragma once

#include <brig/tool.h>

#include <optional>

#include "mcp/mcp.h"

namespace brig::serve {

bool is_object_schema(const Json& schema);
// An entry of tools/list. The older era requires the schema of an object as outputSchema: another
// schema is listed as that of {"result": ...}, and the output is sent in that form. The policy
// limits the hints that the tool declares: what its cell can't do, the tool does not do. `builtin`:
// it is run_command or run_python, which brig itself describes.
Json mcp_tool(const Tool& tool, const Policy& policy, bool modern, bool builtin = false);
// A sentence about what a call under that policy may use: "Limits: 30 s, 512 MiB of memory, no
// network; ..."
std::string limits_sentence(const Policy& policy);

std::optional<LogLevel> log_level_of(const Json& name);

}  // namespace brig::serve
