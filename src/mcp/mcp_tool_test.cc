#include "mcp/mcp_tool.h"

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

// That can change something of the user's, and reach the network.
Policy open_policy() {
  Policy policy;
  policy.files.write = {"/srv/project"};
  policy.network = Network::host;
  return policy;
}

// --- tools/list ---

TEST(McpTool, IsListedWithItsHints) {
  Tool tool = tool_of();
  tool.options.annotations = {
      .read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  EXPECT_EQ(
      mcp_tool(tool, open_policy(), true),
      Json::parse(
          R"({"name": "t", "description": "A tool.\nLimits: 30 s, 512 MiB of memory, the host's network; may change '/srv/project'.",
      "inputSchema": {"type": "object", "properties": {}},
      "annotations": {"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
                      "openWorldHint": false}})"));
}

TEST(McpTool, AlwaysHasADescription) {
  Tool tool = tool_of();
  tool.description = "";
  for (const bool modern : {false, true})
    EXPECT_NE(mcp_tool(tool, open_policy(), modern)["description"], "");
}

TEST(McpTool, ASchemaThatIsNotAnObjectsIsWrappedForTheOlderEra) {
  const Json integer{{"type", "integer"}};
  EXPECT_EQ(mcp_tool(tool_of(integer), open_policy(), false)["outputSchema"],
            Json::parse(R"({"type": "object", "required": ["result"],
                            "properties": {"result": {"type": "integer"}}})"));
  EXPECT_EQ(mcp_tool(tool_of(integer), open_policy(), true)["outputSchema"], integer);
}

TEST(McpTool, AWrappedSchemasDefinitionsStandAtTheTop) {
  const Json schema = Json::parse(R"({"$schema": "https://json-schema.org/draft/2020-12/schema",
      "$defs": {"n": {"type": "integer"}}, "type": "array", "items": {"$ref": "#/$defs/n"}})");
  EXPECT_EQ(mcp_tool(tool_of(schema), open_policy(), false)["outputSchema"],
            Json::parse(R"({"$schema": "https://json-schema.org/draft/2020-12/schema",
                "$defs": {"n": {"type": "integer"}}, "type": "object", "required": ["result"],
                "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/n"}}}})"));
}

TEST(McpTool, AnObjectsSchemaIsLeftAsItIs) {
  const Json schema = Json::parse(R"({"type": "object", "properties": {"a": {"type": "number"}}})");
  for (const bool modern : {false, true})
    EXPECT_EQ(mcp_tool(tool_of(schema), open_policy(), modern)["outputSchema"], schema);
}

TEST(McpTool, TheOlderEraGetsNoBooleanSchemas) {
  Tool tool = tool_of(Json::parse(R"({"type": "object", "properties": {"x": true}})"));
  tool.input_schema["properties"] = {{"yes", true}, {"no", false}};
  const Json old = mcp_tool(tool, open_policy(), false);
  EXPECT_EQ(old["inputSchema"]["properties"], Json::parse(R"({"yes": {}, "no": {"not": {}}})"));
  EXPECT_EQ(old["outputSchema"]["properties"]["x"], Json::object());
  EXPECT_EQ(mcp_tool(tool, open_policy(), true)["inputSchema"]["properties"]["yes"], true);
  EXPECT_EQ(mcp_tool(tool_of(Json(true)), open_policy(), false)["outputSchema"]["type"], "object");
}

TEST(McpTool, WhatItsCellCantDoItDoesNotDo) {
  const auto hints = [](const Policy& policy, bool builtin = false) {
    return mcp_tool(tool_of(), policy, true, builtin)["annotations"];
  };
  const auto of = [](bool read_only, bool destructive, bool idempotent, bool open_world) {
    return Json{{"readOnlyHint", read_only},
                {"destructiveHint", destructive},
                {"idempotentHint", idempotent},
                {"openWorldHint", open_world}};
  };
  Policy writes, connects, lists, loopback, unlocked;
  writes.files.write = {"/srv/project"};
  connects.network = Network::host;
  lists.network = Network::to({"api.github.com"});
  loopback.network = Network::loopback;
  unlocked.isolation = Isolation::process;
  unlocked.network = Network::host;
  for (const bool builtin : {false, true}) {
    EXPECT_EQ(hints({}, builtin), of(true, false, true, false));
    EXPECT_EQ(hints(loopback, builtin), of(true, false, true, false));
    EXPECT_EQ(hints(writes, builtin), of(false, true, false, false));
    EXPECT_EQ(hints(connects, builtin), of(false, true, false, true));
    EXPECT_EQ(hints(lists, builtin), of(false, true, false, true));
    EXPECT_EQ(hints(unlocked, builtin), of(false, true, false, true));
  }
}

TEST(McpTool, IsDescribedByItsPolicy) {
  Policy policy;
  EXPECT_EQ(limits_sentence(policy),
            "Limits: 30 s, 512 MiB of memory, no network; can write nothing that lasts.");
  policy.limits.timeout = 90s;
  policy.limits.memory = 1_GiB;
  policy.network = Network::host;
  policy.files.read = {"/a", "/b", "/c", "/d"};
  policy.files.write = {"/srv/project"};
  EXPECT_EQ(limits_sentence(policy),
            "Limits: 90 s, 1 GiB of memory, the host's network; may read '/a', '/b', '/c' and 1 "
            "more; may change '/srv/project'.");
  Policy hosts;
  hosts.network = Network::to({"api.github.com", "*.pypi.org:443"}, {"gist.github.com"});
  EXPECT_EQ(limits_sentence(hosts),
            "Limits: 30 s, 512 MiB of memory, of the network only api.github.com, *.pypi.org:443; "
            "can write nothing that lasts.");
  hosts.network.allow.assign(10, "a.example");
  EXPECT_NE(limits_sentence(hosts).find(", a.example and 2 more; can write"), std::string::npos)
      << limits_sentence(hosts);
  Policy places = policy;
  places.files.read = {"/srv/data:/data"};
  places.files.read_optional = {"/srv/more:/more"};
  places.files.write = {};
  places.files.write_optional = {"/out"};
  EXPECT_TRUE(limits_sentence(places).ends_with(
      "; may read '/data', '/more' if it exists; may change '/out' if it exists."))
      << limits_sentence(places);
  EXPECT_FALSE(mcp_tool(tool_of(), places, true)["annotations"]["readOnlyHint"]);
  Tool tool = tool_of();
  tool.name = "run_command";
  EXPECT_TRUE(mcp_tool(tool, policy, true, true)["description"].get<std::string>().ends_with(
      limits_sentence(policy)));
  EXPECT_EQ(mcp_tool(tool, policy, true, false)["description"],
            "A tool.\n" + limits_sentence(policy));
  tool.description = "";
  EXPECT_EQ(mcp_tool(tool, policy, true, false)["description"],
            "The tool run_command.\n" + limits_sentence(policy));
}

TEST(McpLogLevel, IsOneOfSyslogs) {
  EXPECT_EQ(log_level_of("debug"), LogLevel::debug);
  EXPECT_EQ(log_level_of("emergency"), LogLevel::emergency);
  for (const Json& each : {Json("trace"), Json("Debug"), Json(""), Json(3), Json()})
    EXPECT_EQ(log_level_of(each), std::nullopt) << each;
}

}  // namespace
}  // namespace brig::serve
