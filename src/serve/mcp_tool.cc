#include "serve/mcp_tool.h"

#include <fmt/format.h>

#include "base/text.h"
#include "serve/builtin.h"
#include "tool/json_text.h"
#include "tool/tool_formats.h"

namespace brig::serve {
namespace {

constexpr std::size_t kMostPrinted = 10'000, kMostBlocks = 1000;

bool is_object_schema(const Json& schema) {
  return schema.is_object() && schema.value("type", Json()) == "object";
}

// The older era's schema of schemas has no true and false.
void no_booleans(Json& schema) {
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return;
  for (Json& each : *properties)
    if (each.is_boolean()) each = each.get<bool>() ? Json::object() : Json{{"not", Json::object()}};
}

Json wrapped_schema(Json schema) {
  Json whole{{"type", "object"}, {"required", {"result"}}};
  // What it refers to by "#/$defs/..." must stand at the top.
  for (const char* key : {"$defs", "definitions", "$schema"})
    if (const auto found = schema.is_object() ? schema.find(key) : schema.end();
        schema.is_object() && found != schema.end()) {
      whole[key] = std::move(*found);
      schema.erase(key);
    }
  whole["properties"]["result"] = std::move(schema);
  return whole;
}

Json text_block(std::string text) { return {{"type", "text"}, {"text", std::move(text)}}; }

bool has_text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string();
}

bool is_block(const Json& block) {
  if (!block.is_object() || !has_text(block, "type")) return false;
  const auto& type = block["type"].get_ref<const std::string&>();
  if (type == "text") return has_text(block, "text");
  if (type == "image" || type == "audio")
    return has_text(block, "mimeType") && has_text(block, "data") &&
           base64_decoded(block["data"].get_ref<const std::string&>()).has_value();
  if (type == "resource_link") return has_text(block, "uri") && has_text(block, "name");
  if (type != "resource") return false;
  const auto resource = block.find("resource");
  return resource != block.end() && resource->is_object() && has_text(*resource, "uri") &&
         (has_text(*resource, "text") || has_text(*resource, "blob"));
}

// An output that is MCP content already: {"content": [blocks]}, with "structuredContent" and "_meta" at most.
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

std::string as_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::string fault;
  return json_text(value, fault).value_or("null");
}

// What a tool printed, for who reads: the end of it says more than the beginning.
std::string printed(const Output& output) {
  std::string text = output.bytes;
  if (text.size() > kMostPrinted) text = text.substr(text.size() - kMostPrinted);
  std::string clean;
  if (is_valid_utf8(text)) {
    clean = std::move(text);
  } else {
    const std::size_t cut = utf8_cut_at_start(text);
    clean = text.substr(cut);
    if (!is_valid_utf8(clean))
      return fmt::format("({} of bytes that are not text)", format_size(output.total));
  }
  if (output.total > clean.size())
    clean = fmt::format("({} in all; the end of it:)\n{}", format_size(output.total), clean);
  return clean;
}

Json builtin_content(Json& output) {
  Json blocks = Json::array();
  std::string text;
  for (const char* key : {"stdout", "stderr"})
    if (has_text(output, key) && !output[key].get_ref<const std::string&>().empty()) {
      std::string printed_text = output[key].get<std::string>();
      if (!text.empty() && !text.ends_with('\n')) text += '\n';
      text += printed_text;
    }
  if (const auto value = output.find("value"); value != output.end() && !value->is_null()) {
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    text += as_text(*value);
  }
  blocks.push_back(text_block(std::move(text)));
  if (const auto images = output.find("images"); images != output.end())
    for (Json& image : *images) {
      const bool whole =
          image.is_object() && has_text(image, "data") && has_text(image, "mime_type");
      if (!whole) continue;
      blocks.push_back({{"type", "image"},
                        {"data", std::move(image["data"])},
                        {"mimeType", image["mime_type"]}});
      image.erase("data");
    }
  return blocks;
}

Json failure_of(const ToolResult& result) {
  const Report& report = result.report;
  Json blocks = Json::array();
  blocks.push_back(text_block(fmt::format("{}: {}", to_string(report.outcome), result.error)));
  if (!result.traceback.empty()) blocks.push_back(text_block(result.traceback));
  for (const auto& [name, output] :
       {std::pair("stdout", &report.out), std::pair("stderr", &report.err)})
    if (output->total > 0)
      blocks.push_back(text_block(fmt::format("{}:\n{}", name, printed(*output))));
  return blocks;
}

}  // namespace

Json mcp_tool(const Tool& tool, bool modern) {
  Json form = tool_as_mcp(tool);
  if (tool.description.empty()) form["description"] = "The tool " + tool.name + ".";
  if (modern) return form;
  no_booleans(form["inputSchema"]);
  if (auto output = form.find("outputSchema"); output != form.end()) {
    if (!is_object_schema(*output)) *output = wrapped_schema(std::move(*output));
    no_booleans(*output);
  }
  return form;
}

Json mcp_result(ToolResult result, const Tool* tool, const std::string& name, bool modern) {
  Json answer = Json::object();
  Json meta{{"brig/outcome", to_string(result.report.outcome)},
            {"brig/duration_ms", static_cast<double>(result.duration.count()) / 1000},
            {"brig/call_id", result.call_id}};
  if (!result.ok) {
    answer["isError"] = true;
    answer["content"] = failure_of(result);
    if (result.report.exit_code) meta["brig/exit_code"] = *result.report.exit_code;
    for (const Violation& each : result.report.violations)
      meta["brig/violations"].push_back(
          fmt::format("{}: {} ({} times)", each.layer, each.what, each.count));
  } else if (is_builtin(name)) {
    answer["content"] = builtin_content(result.output);
    answer["structuredContent"] = std::move(result.output);
  } else if (is_content(result.output)) {
    answer = std::move(result.output);
    if (const auto own = answer.find("_meta"); own != answer.end()) meta.update(*own);
  } else {
    answer["content"] = Json::array({text_block(as_text(result.output))});
    const bool declared = tool && tool->output_schema;
    const bool wrap =
        declared ? !is_object_schema(*tool->output_schema) && !modern : !result.output.is_object();
    if (wrap)
      answer["structuredContent"] = {{"result", std::move(result.output)}};
    else
      answer["structuredContent"] = std::move(result.output);
  }
  answer["_meta"] = std::move(meta);
  return answer;
}

}  // namespace brig::serve
