#include "mcp/mcp_result.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "json/json_line.h"

namespace brig::serve {
namespace {

using namespace std::chrono_literals;

Tool result_tool(std::optional<Json> output_schema = {}) {
  Tool tool;
  tool.name = "t";
  tool.input_schema = {{"type", "object"}};
  tool.output_schema = std::move(output_schema);
  return tool;
}

ToolResult good(Json output) {
  ToolResult result;
  result.output = std::move(output);
  result.call_id = "c1";
  result.report.outcome = Outcome::ok;
  return result;
}

Output stream_of(std::string bytes) {
  Output output;
  output.total = bytes.size();
  output.bytes = std::move(bytes);
  return output;
}

// A view that keeps what it is given to keep.
struct Keeping {
  explicit Keeping(std::string_view version = "2026-07-28") : view(McpView::of_version(version)) {
    view.keep = [this](const std::string& name, std::string type, std::string bytes) {
      kept[name] = std::move(bytes);
      return Json{{"uri", "brig://kept/" + name}, {"name", name}, {"mimeType", std::move(type)}};
    };
  }
  McpView view;
  std::map<std::string, std::string> kept;
};

Json structured(Json output, std::optional<Json> schema, bool modern) {
  const Tool tool = result_tool(std::move(schema));
  return mcp_result(good(std::move(output)), &tool, false,
                    McpView::of_version(modern ? "2026-07-28" : "2025-11-25"))["structuredContent"];
}

Json of_builtin(const char* output, const McpView& view = {}) {
  return mcp_result(good(Json::parse(output)), nullptr, true, view);
}

std::size_t text_of(const Json& answer) {
  std::size_t all = 0;
  for (const Json& block : answer["content"]) all += block.value("text", "").size();
  return all;
}

TEST(McpResult, OfADeclaredSchemaIsStructuredAndAsText) {
  const Tool tool = result_tool(Json{{"type", "object"}});
  const Json answer = mcp_result(good({{"a", 1}}), &tool, false, {});
  EXPECT_EQ(answer["structuredContent"], (Json{{"a", 1}}));
  EXPECT_EQ(answer["content"], Json::parse(R"([{"type": "text", "text": "{\"a\":1}"}])"));
  EXPECT_FALSE(answer.contains("isError"));
  EXPECT_EQ(answer["_meta"]["brig/outcome"], "ok");
  EXPECT_EQ(answer["_meta"]["brig/call_id"], "c1");
}

TEST(McpResult, WithoutASchemaComesOnce) {
  for (const Json& output : {Json(5), Json("x"), Json(nullptr), Json::array({1}), Json{{"a", 1}}}) {
    const Json answer = mcp_result(good(output), nullptr, false, {});
    EXPECT_FALSE(answer.contains("structuredContent")) << output;
    EXPECT_NE(answer["content"][0]["text"], "") << output;
  }
  EXPECT_NE(mcp_result(good(""), nullptr, false, {})["content"][0]["text"], "");
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

TEST(McpResult, ATextIsItselfAndNotQuoted) {
  EXPECT_EQ(mcp_result(good("hello"), nullptr, false, {})["content"][0]["text"], "hello");
}

TEST(McpResult, ALongTextIsCutAndTheWholeIsAResource) {
  Keeping keeping;
  const std::string text(1 << 20, 'x');
  const Json answer = mcp_result(good(text), nullptr, false, keeping.view);
  EXPECT_LT(text_of(answer), kUsualText + 100);
  EXPECT_NE(answer["content"][0]["text"].get<std::string>().find("[... 999 KiB left out ...]"),
            std::string::npos);
  EXPECT_EQ(answer["content"][1]["type"], "resource_link");
  EXPECT_EQ(keeping.kept["result"], text);
  // With a schema the whole is there already.
  Keeping other;
  const Tool tool = result_tool(Json{{"type", "string"}});
  const Json declared = mcp_result(good(text), &tool, false, other.view);
  EXPECT_LT(text_of(declared), kUsualText + 100);
  EXPECT_EQ(declared["structuredContent"], text);
  EXPECT_EQ(declared["content"].size(), 1u);
  EXPECT_TRUE(other.kept.empty());
}

TEST(McpResult, NeverGrowsBeyondWhatAClientTakes) {
  const std::string huge(5 << 20, 'x');
  const Tool tool = result_tool(Json{{"type", "string"}});
  const std::string image = base64(huge);
  const Json blocks{{"content",
                     {{{"type", "text"}, {"text", huge}},
                      {{"type", "image"}, {"data", image}, {"mimeType", "image/png"}},
                      {{"type", "audio"}, {"data", image}, {"mimeType", "audio/wav"}},
                      {{"type", "resource"}, {"resource", {{"uri", "x:y"}, {"text", huge}}}},
                      {{"type", "resource_link"}, {"uri", "x:" + huge}, {"name", "n"}}}},
                    {"structuredContent", {{"a", huge}}},
                    {"_meta", {{"own", huge}}}};
  ToolResult failed;
  failed.report.outcome = Outcome::tool_error;
  failed.error = failed.traceback = huge;
  failed.report.out = failed.report.err = stream_of(huge);
  for (const char* version : {"2026-07-28", "2024-11-05"}) {
    for (const bool keeps : {true, false}) {
      Keeping keeping(version);
      if (!keeps) keeping.view.keep = McpView().keep;
      const auto size = [&](ToolResult result, const Tool* of, bool builtin) {
        return json_line(mcp_result(std::move(result), of, builtin, keeping.view)).size();
      };
      EXPECT_LT(size(good(huge), &tool, false), std::size_t{4} << 20);
      EXPECT_LT(size(good(huge), nullptr, false), std::size_t{100} << 10);
      EXPECT_LT(size(good(blocks), nullptr, false), std::size_t{4} << 20);
      EXPECT_LT(size(failed, nullptr, false), std::size_t{100} << 10);
      EXPECT_LT(size(good({{"value", huge}, {"images", {{{"data", image}, {"mime_type", "i/x"}}}}}),
                     nullptr, true),
                std::size_t{100} << 10);
    }
  }
}

TEST(McpResult, AStructuredResultThatIsTooLargeIsAnErrorThatSaysSo) {
  Keeping keeping;
  const std::string huge(4 << 20, 'x');
  const Tool tool = result_tool(Json{{"type", "string"}});
  const Json answer = mcp_result(good(huge), &tool, false, keeping.view);
  EXPECT_EQ(answer["isError"], true) << "or a client would look for structured content";
  EXPECT_FALSE(answer.contains("structuredContent"));
  EXPECT_NE(answer["content"][0]["text"].get<std::string>().find("4 MiB"), std::string::npos);
  EXPECT_EQ(answer["content"][1]["type"], "resource_link");
  EXPECT_EQ(keeping.kept["result"], huge);
}

TEST(McpResult, ContentBlocksOfAToolArePassedOn) {
  const Json output = Json::parse(R"({"content": [
      {"type": "text", "text": "x"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"},
      {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
      {"type": "resource_link", "uri": "test://x", "name": "x"},
      {"type": "resource", "resource": {"uri": "test://x", "text": "y"}}],
      "structuredContent": {"a": 1}, "_meta": {"own": 2}})");
  const Json answer = mcp_result(good(output), nullptr, false, {});
  EXPECT_EQ(answer["content"], output["content"]);
  EXPECT_EQ(answer["structuredContent"], (Json{{"a", 1}}));
  EXPECT_EQ(answer["_meta"]["own"], 2);
  EXPECT_EQ(answer["_meta"]["brig/outcome"], "ok");
}

TEST(McpResult, AnOlderVersionGetsOnlyWhatItHas) {
  const Json output = Json::parse(R"({"content": [
      {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
      {"type": "resource_link", "uri": "test://x", "name": "x"}], "structuredContent": {"a": 1}})");
  Keeping keeping("2024-11-05");
  const Json answer = mcp_result(good(output), nullptr, false, keeping.view);
  EXPECT_FALSE(answer.contains("structuredContent"));
  for (const Json& block : answer["content"]) EXPECT_EQ(block["type"], "text");
  EXPECT_NE(json_line(answer["content"][0]).find("brig://kept/audio"), std::string::npos);
  EXPECT_NE(json_line(answer["content"][1]).find("test://x"), std::string::npos);
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
    const Json answer = mcp_result(good(output), nullptr, false, {});
    ASSERT_EQ(answer["content"].size(), 1u) << text;
    EXPECT_EQ(Json::parse(answer["content"][0]["text"].get<std::string>()), output) << text;
  }
}

TEST(McpResult, AFailureTellsWhatWasPrintedAndRefused) {
  ToolResult result;
  result.error = "ValueError: bad";
  result.traceback = "Traceback: here";
  result.duration = 1500us;
  result.report.outcome = Outcome::tool_error;
  result.report.exit_code = 3;
  result.report.out = stream_of("printed");
  result.report.err = stream_of("\xff\xfe\xff");
  result.report.violations = {{.code = "syscall.refused", .what = "mount", .count = 2}};
  Keeping keeping("2025-11-25");
  const Json answer = mcp_result(result, nullptr, false, keeping.view);
  EXPECT_EQ(answer["isError"], true);
  ASSERT_EQ(answer["content"].size(), 6u) << answer;
  EXPECT_EQ(answer["content"][0]["text"], "tool_error: ValueError: bad");
  EXPECT_EQ(answer["content"][1]["text"], "Traceback: here");
  EXPECT_EQ(answer["content"][2]["text"], "stdout:\nprinted");
  EXPECT_EQ(answer["content"][3]["text"], "stderr:\n[3 B of binary data, not UTF-8 text]");
  EXPECT_EQ(answer["content"][4]["type"], "resource_link");
  EXPECT_EQ(keeping.kept["stderr"], "\xff\xfe\xff");
  EXPECT_EQ(answer["content"][5]["text"],
            "violations:\n- syscall.refused: it was refused the system call mount (2 times), which "
            "no policy "
            "allows");
  EXPECT_FALSE(answer.contains("structuredContent"));
  EXPECT_EQ(answer["_meta"]["brig/exit_code"], 3);
  EXPECT_EQ(answer["_meta"]["brig/duration_ms"], 1.5);
  EXPECT_EQ(answer["_meta"]["brig/violations"],
            Json::parse(R"([{"code": "syscall.refused", "what": "mount", "target": "", "rule": "",
                             "grant": "", "retry": "never", "count": 2, "certain": true}])"));
}

TEST(McpResult, WhatACommandSaysOfItsFailureStandsThereOnce) {
  ToolResult result;
  result.report.outcome = Outcome::exit;
  result.report.message = "the command ended with exit code 2";
  result.report.err = stream_of("no such file\n");
  result.error = result.report.message + ": no such file\n";
  const std::string all = json_line(mcp_result(result, nullptr, false, {})["content"]);
  EXPECT_EQ(all.find("no such file"), all.rfind("no such file")) << all;
}

// The last block of what went wrong.
std::string violations_in(const Json& answer) {
  const std::string text = answer["content"].back().value("text", "");
  return text.starts_with("violations:") ? text : "";
}

TEST(McpResult, AToolCanNotHideAViolationByTellingItItself) {
  ToolResult result;
  result.report.outcome = Outcome::tool_error;
  result.report.violations = {{.code = "syscall.refused", .what = "mount"},
                              {.code = "network.refused", .what = "socket(AF_INET)"}};
  std::string words = "all is well";
  for (const Violation& each : result.report.violations) words += "; " + sentence(each);
  for (const std::string& said :
       {words, std::string(50'000, 'x') + words + std::string(50'000, 'x')}) {
    result.error = result.report.message = "ValueError: " + said;
    result.traceback = said;
    const Json answer = mcp_result(result, nullptr, false, {});
    for (const Violation& each : result.report.violations)
      EXPECT_NE(violations_in(answer).find("- " + each.code + ": " + sentence(each)),
                std::string::npos)
          << answer;
    EXPECT_EQ(answer["_meta"]["brig/violations"].size(), 2u);
    EXPECT_LT(text_of(answer), kUsualText + 2000);
  }
}

TEST(McpResult, ViolationsAreNeverCutAway) {
  ToolResult result;
  result.report.outcome = Outcome::exit;
  result.report.exit_code = 1;
  result.report.violations = {
      {.code = "network.refused", .what = "socket(AF_INET)", .mentioned = true},
      {.code = "syscall.refused", .what = "mount"}};
  const std::string told = sentence(result.report.violations[0]);
  result.error = result.report.message = "the command failed with exit code 1; " + told;
  result.report.out = stream_of(std::string(100'000, 'o'));
  result.report.err = stream_of(std::string(100'000, 'e'));
  Keeping keeping;
  Json answer = mcp_result(result, nullptr, false, keeping.view);
  EXPECT_NE(answer["content"][0]["text"].get<std::string>().find(told), std::string::npos);
  EXPECT_EQ(violations_in(answer),
            "violations:\n- syscall.refused: " + sentence(result.report.violations[1]));
  // With no room for the message they are all in the list.
  keeping.view.text = 100;
  answer = mcp_result(result, nullptr, false, keeping.view);
  EXPECT_EQ(answer["content"][0]["text"].get<std::string>().find(told), std::string::npos);
  for (const Violation& each : result.report.violations)
    EXPECT_NE(violations_in(answer).find("- " + each.code + ": " + sentence(each)),
              std::string::npos)
        << answer;
}

TEST(McpResult, StreamsShareTheRoom) {
  Keeping keeping;
  ToolResult result = good({{"exit_code", 0}});
  result.report.out = stream_of(std::string(100'000, 'o'));
  result.report.err = stream_of(std::string(1000, 'e'));
  const Json answer = mcp_result(result, nullptr, true, keeping.view);
  EXPECT_EQ(answer["content"][1]["text"], "stderr:\n" + std::string(1000, 'e'));
  EXPECT_GT(answer["content"][0]["text"].get<std::string>().size(), 24'000u);
  EXPECT_LT(text_of(answer), kUsualText + 100);
  EXPECT_EQ(keeping.kept.size(), 1u);
  EXPECT_EQ(keeping.kept["stdout"].size(), 100'000u);
  keeping.view.text = 1024;
  EXPECT_LT(text_of(mcp_result(result, nullptr, true, keeping.view)), 1200u);
}

TEST(McpResult, OfABuiltInIsTextAndImagesAndNothingTwice) {
  ToolResult result = good(Json::parse(R"({"exit_code": 0, "stdout": "out", "stderr": "err\n",
      "images": [{"path": "a.png", "mime_type": "image/png", "data": "AAAA"}, 7]})"));
  result.report.out = stream_of("out");
  result.report.err = stream_of("err\n");
  result.report.exit_code = 0;
  const Json answer = mcp_result(result, nullptr, true, {});
  ASSERT_EQ(answer["content"].size(), 3u) << answer;
  EXPECT_EQ(answer["content"][0]["text"], "out");
  EXPECT_EQ(answer["content"][1]["text"], "stderr:\nerr\n");
  EXPECT_EQ(answer["content"][2],
            Json::parse(R"({"type": "image", "data": "AAAA", "mimeType": "image/png"})"));
  EXPECT_FALSE(answer.contains("structuredContent"));
  EXPECT_EQ(answer["_meta"]["brig/exit_code"], 0);
}

TEST(McpResult, OfABuiltInIsNeverEmpty) {
  EXPECT_EQ(of_builtin(R"({"exit_code": 0})")["content"][0]["text"], "[no output]");
  EXPECT_EQ(of_builtin(R"({"value": 5})")["content"][0]["text"], "5");
  EXPECT_EQ(of_builtin(R"({"value": {"a": [1]}})")["content"][0]["text"], R"({"a":[1]})");
}

TEST(McpResult, FilesAreLinkedAndThoseThatCantBeAreTold) {
  Keeping keeping;
  Json output =
      Json::parse(R"({"files": [{"path": "huge.bin", "size": 99999999}, {"no": "path"}, 7],
      "files_left_out": [{"why": "there are more than 16", "count": 12}, {"count": 7}, 7]})");
  for (const auto& [path, bytes] : {std::pair("a.csv", "a,b"), std::pair("b.bin", "\xff")}) {
    const std::string_view view = bytes;
    output["files"].push_back(
        {{"path", path},
         {"size", view.size()},
         {"bytes", Json::binary(std::vector<std::uint8_t>(view.begin(), view.end()))}});
  }
  const Json answer = mcp_result(good(output), nullptr, true, keeping.view);
  ASSERT_EQ(answer["content"].size(), 4u) << answer;
  EXPECT_EQ(answer["content"][0]["text"], "['huge.bin', 95.4 MiB: too large to keep]");
  EXPECT_EQ(answer["content"][1]["mimeType"], "text/csv");
  EXPECT_EQ(keeping.kept["a.csv"], "a,b");
  EXPECT_EQ(keeping.kept["b.bin"], "\xff");
  EXPECT_EQ(answer["content"][3]["text"],
            "[12 more files of the workspace were not returned: there are more than 16]");
}

TEST(McpResult, WhatBrigSaysOfACallIsNotTheToolsToSay) {
  const Json answer = mcp_result(
      good(Json::parse(R"({"content": [{"type": "text", "text": "hi"}], "_meta": {"x/y": 1,
          "brig/outcome": "denied", "brig/call_id": "c0", "brig/violations": [{"certain": true}]}})")),
      nullptr, false, {});
  EXPECT_EQ(answer["_meta"]["x/y"], 1);
  EXPECT_EQ(answer["_meta"]["brig/outcome"], "ok");
  EXPECT_NE(answer["_meta"]["brig/call_id"], "c0");
  EXPECT_FALSE(answer["_meta"].contains("brig/violations")) << answer;
}

TEST(McpResult, WhatStandsBesideATextOrAnImageIsBoundedToo) {
  const std::string huge(7'000'000, 'A');
  Keeping keeping;
  const auto size_of = [&](Json output, bool builtin) {
    return mcp_result(good(std::move(output)), nullptr, builtin, keeping.view).dump().size();
  };
  const std::size_t most = kMostBesideText + kUsualText + 64 * 1024;
  EXPECT_LT(
      size_of({{"content", {{{"type", "text"}, {"text", "hi"}, {"annotations", {{"x", huge}}}}}}},
              false),
      most);
  keeping.view.has_links = false;
  EXPECT_LT(
      size_of({{"content", {{{"type", "resource_link"}, {"uri", "u:x"}, {"name", huge}}}}}, false),
      most);
  EXPECT_LT(size_of({{"images", {{{"path", huge}, {"mime_type", huge}, {"data", ""}}}}}, true),
            most);
  Json images = Json::array();
  for (int i = 0; i < 100'000; ++i)
    images.push_back({{"path", "x"}, {"mime_type", "image/png"}, {"data", ""}});
  const Json answer = mcp_result(good({{"images", images}}), nullptr, true, keeping.view);
  EXPECT_EQ(answer["content"].size(), 33u);
  EXPECT_EQ(answer["content"].back()["text"], "[99968 more images are not shown]");
}

TEST(McpResult, ALargeImageIsLinked) {
  Keeping keeping;
  const std::string bytes(2 << 20, '\xff');
  const Json answer = mcp_result(
      good(
          {{"images", {{{"path", "p.png"}, {"mime_type", "image/png"}, {"data", base64(bytes)}}}}}),
      nullptr, true, keeping.view);
  EXPECT_EQ(answer["content"][0]["type"], "resource_link");
  EXPECT_EQ(answer["content"][0]["mimeType"], "image/png");
  EXPECT_EQ(keeping.kept["p.png"], bytes);
}

TEST(McpResult, AnImageOfTooManyPixelsIsLinkedHoweverFewBytesItHas) {
  using namespace std::string_literals;
  for (const auto& [side, type] :
       {std::pair{"\x1f\x40"s, "image"}, {"\x1f\x41"s, "resource_link"}}) {
    Keeping keeping;
    const std::string bytes = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0"s + side + "rest";
    const Json answer = mcp_result(
        good({{"images",
               {{{"path", "p.png"}, {"mime_type", "image/png"}, {"data", base64(bytes)}}}}}),
        nullptr, true, keeping.view);
    ASSERT_EQ(answer["content"].size(), 1u) << answer;
    EXPECT_EQ(answer["content"][0]["type"], type);
    EXPECT_EQ(keeping.kept.count("p.png"), type == "image"s ? 0u : 1u);
  }
}

}  // namespace
}  // namespace brig::serve
