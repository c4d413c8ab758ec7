// Lists of tools in the formats of other programs.
#pragma once

#include <brig/tool.h>

namespace brig {

// brig's own format: name, description, input_schema, output_schema (or null), annotations.
Json tool_as_json(const Tool& tool);
// The formats of OpenAI's Chat Completions and of its Responses.
Json tool_as_chat_completions(const Tool& tool);
Json tool_as_responses(const Tool& tool);
// An item of MCP's tools/list.
Json tool_as_mcp(const Tool& tool);

}  // namespace brig
