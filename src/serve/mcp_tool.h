// Tools and their results as MCP has them.
#pragma once

#include <brig/sandbox.h>

#include <optional>

#include "serve/mcp.h"

namespace brig::serve {

// Of tools/list. The older era wants an object's schema as outputSchema: another is listed as that of {"result": ...}, which
// is how its output then is sent.
Json mcp_tool(const Tool& tool, bool modern);
// Of tools/call. `tool` may be gone by now: null.
Json mcp_result(ToolResult result, const Tool* tool, const std::string& name, bool modern);

std::optional<LogLevel> log_level_of(const Json& name);

}  // namespace brig::serve
