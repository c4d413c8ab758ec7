// Tools as MCP lists them.
#pragma once

#include <brig/tool.h>

#include <optional>

#include "mcp/mcp.h"

namespace brig::serve {

bool is_object_schema(const Json& schema);
// Of tools/list. The older era wants an object's schema as outputSchema: another is listed as that of {"result": ...}, which
// is how its output then is sent. Hints are what the policy makes of those that the tool declares: what a cell can't do, its tool
// does not do.
// `builtin`: it is run_command or run_python, and described by brig.
Json mcp_tool(const Tool& tool, const Policy& policy, bool modern, bool builtin = false);
// What a call under that policy may use, in a sentence: "Limits: 30 s, 512 MiB of memory, no network; ..."
std::string limits_sentence(const Policy& policy);

std::optional<LogLevel> log_level_of(const Json& name);

}  // namespace brig::serve
