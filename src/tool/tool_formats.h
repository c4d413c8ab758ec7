// Tools as others want them listed.
#pragma once

#include <brig/tool.h>

namespace brig {

// brig's own: name, description, input_schema, output_schema (or null), annotations.
Json tool_as_json(const Tool& tool);
// OpenAI's Chat Completions, and its Responses.
Json tool_as_chat_completions(const Tool& tool);
Json tool_as_responses(const Tool& tool);
// An item of MCP's tools/list.
Json tool_as_mcp(const Tool& tool);

}  // namespace brig
