#include "mcp/mcp_result.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cell/report_json.h"
#include "json/json_line.h"
#include "json/json_text.h"
#include "mcp/mcp.h"
#include "mcp/mcp_builtin.h"
#include "mcp/mcp_content.h"
#include "mcp/mcp_tool.h"

namespace brig::serve {
namespace {

constexpr std::size_t kMostBlocks = 1000, kMostMeta = 64 << 10;

bool is_block(const Json& block) {
  const std::string* type = text_in(block, "type");
  if (!type) return false;
  if (*type == "text") return text_in(block, "text");
  if (*type == "image" || *type == "audio")
    return text_in(block, "mimeType") && text_in(block, "data") &&
           base64_decoded(*text_in(block, "data")).has_value();
  if (*type == "resource_link") return text_in(block, "uri") && text_in(block, "name");
  if (*type != "resource") return false;
  const auto resource = block.find("resource");
  return resource != block.end() && text_in(*resource, "uri") &&
         (text_in(*resource, "text") || text_in(*resource, "blob"));
}

// An output that is MCP content already: {"content": [blocks]}, with "structuredContent" and
// "_meta" at most.
bool is_content(const Json& output) {
  if (!output.is_object()) return false;
  const auto blocks = output.find("content");
  if (blocks == output.end() || !blocks->is_array() || blocks->empty() ||
      blocks->size() > kMostBlocks)
    return false;
  for (const auto& [key, value] : output.items())
    if (key != "content" && !((key == "structuredContent" || key == "_meta") && value.is_object()))
      return false;
  for (const Json& block : *blocks)
    if (!is_block(block)) return false;
  return true;
}

void add_failure(ResultContent& content, ToolResult& result) {
  std::vector<ResultContent::Part> parts = failure_parts(result);
  add_stream_parts(parts, result.report, true);
  content.add_parts(std::move(parts));
}

void add_value(ResultContent& content, Json& answer, ToolResult& result, const Tool* tool,
               const McpView& view) {
  const bool declared = tool && tool->output_schema && view.has_links;
  std::string text = as_text(result.output);
  const bool fits = !declared || content.take(text.size());
  if (!fits) {
    answer["isError"] = true;
    content.add_note(fmt::format(
        "The result ({}) is larger than one message may be ({}). It is kept as a resource for ten "
        "minutes; read it in parts, or ask the tool for less.",
        format_size(text.size()), format_size(kMostBesideText)));
    content.link("result", result.output.is_string() ? "text/plain" : "application/json",
                 std::move(text));
    return;
  }
  if (text.empty()) text = "[an empty text]";
  ResultContent::Text shown;
  shown.name = "result";
  shown.text = std::move(text);
  shown.mime_type = result.output.is_string() ? "text/plain" : "application/json";
  shown.link = !declared;
  content.add_text(std::move(shown));
  if (!declared) return;
  if (!is_object_schema(*tool->output_schema) && !view.modern)
    answer["structuredContent"] = {{"result", std::move(result.output)}};
  else
    answer["structuredContent"] = std::move(result.output);
}

void add_content(ResultContent& content, Json& answer, Json& meta, Json output,
                 const McpView& view) {
  auto structured = output.find("structuredContent");
  if (view.has_links && structured != output.end()) {
    if (content.take(json_line(*structured).size()))
      answer["structuredContent"] = std::move(*structured);
    else
      content.link("structuredContent", "application/json", json_line(*structured));
  }
  for (Json& block : output["content"]) content.add_block(std::move(block));
  if (const auto own = output.find("_meta"); own != output.end()) {
    if (json_line(*own).size() > kMostMeta)
      return content.add_note("[the tool's _meta is too large and was left out]");
    for (const auto& [key, value] : own->items())
      if (!key.starts_with("brig/")) meta[key] = value;  // only the server may set those
  }
}

}  // namespace

McpView McpView::of_version(std::string_view version) {
  McpView view;
  view.modern = version == kModern;
  view.has_links = version >= "2025-06-18";
  view.has_audio = version >= "2025-03-26";
  return view;
}

Json mcp_result(ToolResult result, const Tool* tool, bool builtin, const McpView& view) {
  Json answer = Json::object();
  Json meta{{"brig/outcome", to_string(result.report.outcome)},
            {"brig/duration_ms", milliseconds_of(result.duration)},
            {"brig/call_id", result.call_id}};
  if (result.report.exit_code) meta["brig/exit_code"] = *result.report.exit_code;
  ResultContent content(view);
  if (!result.ok()) answer["isError"] = true;
  if (builtin) {
    add_builtin(content, result);
  } else if (!result.ok()) {
    add_failure(content, result);
  } else if (is_content(result.output)) {
    add_content(content, answer, meta, std::move(result.output), view);
  } else {
    add_value(content, answer, result, tool, view);
  }
  // Violations that the tool handled are listed in _meta only, so that they are not in the way of
  // its result. The list comes after everything that may be cut.
  if (const auto lines = violation_lines(result.report, content.message_is_shown());
      !result.ok() && !lines.empty()) {
    std::string text = "violations:";
    for (const std::string& each : lines) text += "\n- " + each;
    content.add_note(std::move(text));
  }
  if (!result.report.violations.empty())
    meta["brig/violations"] = json_of(result.report.violations);
  answer["content"] = content.taken();
  answer["_meta"] = std::move(meta);
  return answer;
}

}  // namespace brig::serve
