#include "serve/mcp_tool.h"

#include <gtest/gtest.h>

namespace brig::serve {
namespace {

using namespace std::chrono_literals;

Tool tool_of(std::optional<Json> output_schema = {}) {
  Tool tool;
  tool.name = "t";
  tool.description = "A tool.";
  tool.input_schema = {{"type", "object"}, {"properties", Json::object()}};
  tool.output_schema = std::move(output_schema);
  return tool;
}

ToolResult good(Json output) {
  ToolResult result;
  result.ok = true;
  result.output = std::move(output);
  result.call_id = "c1";
  result.report.outcome = Outcome::ok;
  return result;
}

Json structured(Json output, std::optional<Json> schema, bool modern) {
  const Tool tool = tool_of(std::move(schema));
  return mcp_result(good(std::move(output)), &tool, "t", modern)["structuredContent"];
}

// --- tools/list ---

TEST(McpTool, IsListedWithItsHints) {
  Tool tool = tool_of();
  tool.options.annotations = {
      .read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  EXPECT_EQ(mcp_tool(tool, true), Json::parse(R"({"name": "t", "description": "A tool.",
      "inputSchema": {"type": "object", "properties": {}},
      "annotations": {"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
                      "openWorldHint": false}})"));
}

TEST(McpTool, AlwaysHasADescription) {
  Tool tool = tool_of();
  tool.description = "";
  for (const bool modern : {false, true}) EXPECT_NE(mcp_tool(tool, modern)["description"], "");
}

TEST(McpTool, ASchemaThatIsNotAnObjectsIsWrappedForTheOlderEra) {
  const Json integer{{"type", "integer"}};
  EXPECT_EQ(mcp_tool(tool_of(integer), false)["outputSchema"],
            Json::parse(R"({"type": "object", "required": ["result"],
                            "properties": {"result": {"type": "integer"}}})"));
  EXPECT_EQ(mcp_tool(tool_of(integer), true)["outputSchema"], integer);
}

TEST(McpTool, AWrappedSchemasDefinitionsStandAtTheTop) {
  const Json schema = Json::parse(R"({"$schema": "https://json-schema.org/draft/2020-12/schema",
      "$defs": {"n": {"type": "integer"}}, "type": "array", "items": {"$ref": "#/$defs/n"}})");
  EXPECT_EQ(mcp_tool(tool_of(schema), false)["outputSchema"],
            Json::parse(R"({"$schema": "https://json-schema.org/draft/2020-12/schema",
                "$defs": {"n": {"type": "integer"}}, "type": "object", "required": ["result"],
                "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/n"}}}})"));
}

TEST(McpTool, AnObjectsSchemaIsLeftAsItIs) {
  const Json schema = Json::parse(R"({"type": "object", "properties": {"a": {"type": "number"}}})");
  for (const bool modern : {false, true})
    EXPECT_EQ(mcp_tool(tool_of(schema), modern)["outputSchema"], schema);
}

TEST(McpTool, TheOlderEraGetsNoBooleanSchemas) {
  Tool tool = tool_of(Json::parse(R"({"type": "object", "properties": {"x": true}})"));
  tool.input_schema["properties"] = {{"yes", true}, {"no", false}};
  const Json old = mcp_tool(tool, false);
  EXPECT_EQ(old["inputSchema"]["properties"], Json::parse(R"({"yes": {}, "no": {"not": {}}})"));
  EXPECT_EQ(old["outputSchema"]["properties"]["x"], Json::object());
  EXPECT_EQ(mcp_tool(tool, true)["inputSchema"]["properties"]["yes"], true);
  EXPECT_EQ(mcp_tool(tool_of(Json(true)), false)["outputSchema"]["type"], "object");
}

// --- tools/call ---

TEST(McpResult, IsStructuredAndAsText) {
  const Tool tool = tool_of(Json{{"type", "object"}});
  const Json answer = mcp_result(good({{"a", 1}}), &tool, "t", true);
  EXPECT_EQ(answer["structuredContent"], (Json{{"a", 1}}));
  EXPECT_EQ(answer["content"], Json::parse(R"([{"type": "text", "text": "{\"a\":1}"}])"));
  EXPECT_FALSE(answer.contains("isError"));
  EXPECT_EQ(answer["_meta"]["brig/outcome"], "ok");
  EXPECT_EQ(answer["_meta"]["brig/call_id"], "c1");
}

TEST(McpResult, FitsTheSchemaThatWasListed) {
  const Json integer{{"type", "integer"}}, object{{"type", "object"}};
  EXPECT_EQ(structured(5, integer, false), (Json{{"result", 5}}));
  EXPECT_EQ(structured(5, integer, true), 5);
  EXPECT_EQ(structured({{"a", 1}}, object, false), (Json{{"a", 1}}));
  const Json either = Json::parse(R"({"anyOf": [{"type": "object"}, {"type": "null"}]})");
  EXPECT_EQ(structured({{"a", 1}}, either, false), (Json{{"result", {{"a", 1}}}}));
  EXPECT_EQ(structured({{"a", 1}}, either, true), (Json{{"a", 1}}));
}

TEST(McpResult, OfTheOlderEraIsAnObjectWhateverItIs) {
  for (const Json& output : {Json(5), Json("x"), Json(nullptr), Json::array({1}), Json::object()})
    EXPECT_TRUE(structured(output, {}, false).is_object()) << output;
}

TEST(McpResult, ATextIsItselfAndNotQuoted) {
  EXPECT_EQ(mcp_result(good("hello"), nullptr, "t", true)["content"][0]["text"], "hello");
}

TEST(McpResult, ContentBlocksOfAToolArePassedOn) {
  const Json output = Json::parse(R"({"content": [
      {"type": "text", "text": "x"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"},
      {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
      {"type": "resource_link", "uri": "test://x", "name": "x"},
      {"type": "resource", "resource": {"uri": "test://x", "text": "y"}}],
      "structuredContent": {"a": 1}, "_meta": {"own": 2}})");
  const Json answer = mcp_result(good(output), nullptr, "t", true);
  EXPECT_EQ(answer["content"], output["content"]);
  EXPECT_EQ(answer["structuredContent"], (Json{{"a", 1}}));
  EXPECT_EQ(answer["_meta"]["own"], 2);
  EXPECT_EQ(answer["_meta"]["brig/outcome"], "ok");
}

TEST(McpResult, WhatOnlyLooksLikeContentIsData) {
  for (const char* text :
       {R"({"content": []})", R"({"content": "x"})", R"({"content": [1]})",
        R"({"content": [{"type": "text"}]})", R"({"content": [{"type": "text", "text": 1}]})",
        R"({"content": [{"type": "image", "data": "not base64!", "mimeType": "image/png"}]})",
        R"({"content": [{"type": "script", "text": "x"}]})",
        R"({"content": [{"type": "text", "text": "x"}], "isError": false})",
        R"({"content": [{"type": "text", "text": "x"}], "structuredContent": 1})",
        R"({"content": [{"type": "resource", "resource": {"uri": "x"}}]})"}) {
    const Json output = Json::parse(text);
    const Json answer = mcp_result(good(output), nullptr, "t", true);
    EXPECT_EQ(answer["structuredContent"], output) << text;
    EXPECT_EQ(answer["content"].size(), 1u) << text;
  }
}

TEST(McpResult, AFailureTellsWhatWasPrinted) {
  ToolResult result;
  result.error = "ValueError: bad";
  result.traceback = "Traceback: here";
  result.duration = 1500us;
  result.report.outcome = Outcome::tool_error;
  result.report.exit_code = 3;
  result.report.out.bytes = "printed";
  result.report.out.total = 7;
  result.report.err.bytes = "\xff\xfe\xff";
  result.report.err.total = 3;
  result.report.violations = {{"seccomp", "mount", 2}};
  const Json answer = mcp_result(result, nullptr, "t", false);
  EXPECT_EQ(answer["isError"], true);
  ASSERT_EQ(answer["content"].size(), 4u) << answer;
  EXPECT_EQ(answer["content"][0]["text"], "tool_error: ValueError: bad");
  EXPECT_EQ(answer["content"][1]["text"], "Traceback: here");
  EXPECT_EQ(answer["content"][2]["text"], "stdout:\nprinted");
  EXPECT_NE(answer["content"][3]["text"].get<std::string>().find("not text"), std::string::npos);
  EXPECT_FALSE(answer.contains("structuredContent"));
  EXPECT_EQ(answer["_meta"]["brig/exit_code"], 3);
  EXPECT_EQ(answer["_meta"]["brig/duration_ms"], 1.5);
  EXPECT_EQ(answer["_meta"]["brig/violations"].size(), 1u);
}

TEST(McpResult, OfMuchThatWasPrintedTheEndIsTold) {
  ToolResult result;
  result.report.out.bytes = std::string(50'000, 'x') + "ä the end";
  result.report.out.total = 1'000'000;
  const std::string text = mcp_result(result, nullptr, "t", true)["content"][1]["text"];
  EXPECT_LT(text.size(), 11'000u);
  EXPECT_TRUE(text.ends_with("ä the end"));
  // Cut in the middle of a character: what is left of it is no text, and is left out.
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += "€";
  result.report.out.bytes = many + "x";
  const std::string cut = mcp_result(result, nullptr, "t", true)["content"][1]["text"];
  EXPECT_TRUE(cut.ends_with("€x")) << cut.substr(0, 100);
}

TEST(McpResult, OfABuiltInHasImagesAsBlocks) {
  const Json answer =
      mcp_result(good(Json::parse(R"({"exit_code": 0, "stdout": "out", "stderr": "err\n",
      "images": [{"path": "a.png", "mime_type": "image/png", "data": "AAAA"}, 7]})")),
                 nullptr, "run_command", true);
  ASSERT_EQ(answer["content"].size(), 2u) << answer;
  EXPECT_EQ(answer["content"][0]["text"], "out\nerr\n");
  EXPECT_EQ(answer["content"][1],
            Json::parse(R"({"type": "image", "data": "AAAA", "mimeType": "image/png"})"));
  EXPECT_EQ(answer["structuredContent"]["images"][0],
            Json::parse(R"({"path": "a.png", "mime_type": "image/png"})"))
      << "once is enough";
}

TEST(McpLogLevel, IsOneOfSyslogs) {
  EXPECT_EQ(log_level_of("debug"), LogLevel::debug);
  EXPECT_EQ(log_level_of("emergency"), LogLevel::emergency);
  for (const Json& each : {Json("trace"), Json("Debug"), Json(""), Json(3), Json()})
    EXPECT_EQ(log_level_of(each), std::nullopt) << each;
}

}  // namespace
}  // namespace brig::serve
