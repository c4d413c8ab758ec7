// Lists of tools in the formats of other programs.
#pragma once

#include <brig/tool.h>

namespace brig {

// brig's own format: name, description, input_schema, output_schema (or null), annotations.
Json tool_as_json(const Tool& tool);
// Where the annotations of a tool in that format are: in its "annotations", or, as brig wrote them
// before 0.2, beside its name. The name of an annotation is that of its member in ToolAnnotations.
const Json& annotations_of(const Json& tool);
// Reads them. `flag(object, name, otherwise)` reads one.
template <typename Flag>
ToolAnnotations read_annotations(const Json& tool, const Flag& flag) {
  const Json& from = annotations_of(tool);
  const ToolAnnotations usual;
  return {flag(from, "read_only", usual.read_only), flag(from, "destructive", usual.destructive),
          flag(from, "idempotent", usual.idempotent), flag(from, "open_world", usual.open_world)};
}
// The formats of OpenAI's Chat Completions and of its Responses.
Json tool_as_chat_completions(const Tool& tool);
Json tool_as_responses(const Tool& tool);
// An item of MCP's tools/list.
Json tool_as_mcp(const Tool& tool);

}  // namespace brig
