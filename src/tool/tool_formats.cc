#include "tool/tool_formats.h"

namespace brig {

Json tool_as_json(const Tool& tool) {
  const ToolAnnotations& own = tool.options.annotations;
  return {{"name", tool.name},
          {"description", tool.description},
          {"input_schema", tool.input_schema},
          {"output_schema", tool.output_schema.value_or(Json())},
          {"annotations",
           {{"read_only", own.read_only},
            {"destructive", own.destructive},
            {"idempotent", own.idempotent},
            {"open_world", own.open_world}}}};
}

const Json& annotations_of(const Json& tool) {
  const auto found = tool.find("annotations");
  return found != tool.end() && found->is_object() ? *found : tool;
}

Json tool_as_chat_completions(const Tool& tool) {
  return {{"type", "function"},
          {"function",
           {{"name", tool.name},
            {"description", tool.description},
            {"parameters", tool.input_schema}}}};
}

Json tool_as_responses(const Tool& tool) {
  return {{"type", "function"},
          {"name", tool.name},
          {"description", tool.description},
          {"parameters", tool.input_schema},
          // The default is true, and would forbid optional parameters.
          {"strict", false}};
}

Json tool_as_mcp(const Tool& tool) {
  const ToolAnnotations& own = tool.options.annotations;
  Json result{{"name", tool.name},
              {"description", tool.description},
              {"inputSchema", tool.input_schema},
              {"annotations",
               {{"readOnlyHint", own.read_only},
                {"destructiveHint", own.destructive},
                {"idempotentHint", own.idempotent},
                {"openWorldHint", own.open_world}}}};
  if (tool.output_schema) result["outputSchema"] = *tool.output_schema;
  return result;
}

}  // namespace brig
