#include "service/run_python.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
#include "sandbox/call_maker.h"
#include "service/output_room.h"
#include "service/python_displays.h"

namespace brig::serve {
namespace {

const std::string kTinyPng = base64("\x89PNG\r\n\x1a\n rest");

// What comes of a cell's answer, if the call went well; of another outcome there is none.
ToolResult presented(Json answer, Report report = {}, Outcome outcome = Outcome::ok) {
  ToolResult result;
  if (outcome == Outcome::ok)
    result.output = std::move(answer);
  else
    result.error = "no";
  result.report = std::move(report);
  result.report.outcome = outcome;
  Json arguments{{"code", ""}};
  run_python_maker()->make(arguments).output(result, nullptr);
  EXPECT_EQ(result.ok(), result.report.outcome == Outcome::ok);
  EXPECT_EQ(result.ok(), result.error.empty()) << result.error;
  return result;
}

Json displayed(const Json& displays, std::uint64_t written = 100) {
  Json answer{{"displays", displays}}, output = Json::object();
  add_displays(output, answer, written);
  return output;
}

TEST(RunPython, ItsTimeIsTheHostsToKeep) {
  Json arguments{{"code", "1"}, {"timeout", 2}};
  EXPECT_EQ(run_python_maker()->make(arguments).limits.timeout, std::chrono::seconds(2));
  EXPECT_EQ(arguments, (Json{{"code", "1"}})) << "the cell has no use for it";
  Tool tool;
  tool.name = "run_python";
  tool.input_schema = {{"type", "object"}, {"properties", Json::object()}};
  run_python_maker()->adapt(tool);
  EXPECT_TRUE(tool.input_schema["properties"].contains("timeout"));
}

TEST(RunPython, ItsOutputHasItsValue) {
  Report report;
  report.out.bytes = "printed\n";
  report.exit_code = 0;
  const ToolResult result = presented({{"value", {1, 2}}, {"images", Json::array()}}, report);
  EXPECT_EQ(result.output,
            Json::parse(R"({"value": [1, 2], "stdout": "printed\n", "stderr": ""})"));
  EXPECT_EQ(presented(Json::object()).output["value"], Json());
}

TEST(RunPython, AFailureKeepsWhatWasWrittenAndDisplayed) {
  Report report;
  report.out.bytes = "before\n";
  report.out.total = 7;
  const Json shown = Json::parse(R"([{"at": 7, "data": {"text/plain": "x"}}])");
  const ToolResult raised =
      presented({{"error", {{"type", "ValueError"}, {"message", "bad"}, {"traceback", "here"}}},
                 {"displays", shown}},
                report);
  EXPECT_EQ(raised.report.outcome, Outcome::tool_error);
  EXPECT_EQ(raised.error, "ValueError: bad");
  EXPECT_EQ(raised.error_type, "ValueError");
  EXPECT_EQ(raised.traceback, "here");
  EXPECT_FALSE(raised.report.exit_code);
  EXPECT_EQ(raised.output, (Json{{"stdout", "before\n"}, {"stderr", ""}, {"displays", shown}}));
  const ToolResult exited = presented({{"exit_code", 3}}, report);
  EXPECT_EQ(exited.report.outcome, Outcome::exit);
  EXPECT_EQ(exited.report.exit_code, 3);
  EXPECT_EQ(exited.output["stdout"], "before\n");
  EXPECT_FALSE(exited.output.contains("value"));
  EXPECT_TRUE(presented({{"exit_code", 0}, {"value", 1}}).ok());
  EXPECT_EQ(presented(nullptr, report, Outcome::timeout).output["stdout"], "before\n");
}

// The answer comes from the cell: from whatever runs there.
TEST(RunPython, AnAnswerOfAnyShapeIsTaken) {
  for (const char* text : {"null", "7", "[]", "\"x\"", R"({"error": 7})", R"({"error": null})",
                           R"({"error": {}})", R"({"error": {"type": 1, "message": []}})",
                           R"({"exit_code": "3"})", R"({"exit_code": 256})", R"({"exit_code": -1})",
                           R"({"exit_code": 1e99})", R"({"exit_code": 1.5})"})
    EXPECT_EQ(presented(Json::parse(text)).report.outcome, Outcome::tool_error) << text;
  EXPECT_TRUE(presented({{"not_run", 7}}).ok());
  EXPECT_EQ(presented(Json::array()).output["stdout"], "") << "what it wrote is told, too";
  const Json output = presented({{"value", 0},
                                 {"images", {{{"path", "x"}, {"data", "AAAA"}}}},
                                 {"files", 7},
                                 {"files_left_out", {1}},
                                 {"displays", 7},
                                 {"displays_left_out", -1},
                                 {"stdout", "forged"}})
                          .output;
  EXPECT_EQ(output, Json::parse(R"({"value": 0, "stdout": "", "stderr": ""})"))
      << "files are the host's to find";
}

// Code can answer that it was not run, when it was: that must not hide what it did.
TEST(RunPython, ThatItWasNotRunIsTheCellsWord) {
  Report report;
  report.out.bytes = "ran\n";
  report.exit_code = 0;
  const ToolResult result = presented({{"not_run", "SERVER: anything"}, {"value", 7}}, report);
  EXPECT_EQ(result.report.outcome, Outcome::tool_error);
  EXPECT_EQ(result.error, "SERVER: anything");
  EXPECT_EQ(result.error_type, "NotRun");
  EXPECT_FALSE(result.report.exit_code);
  EXPECT_EQ(result.output, (Json{{"stdout", "ran\n"}, {"stderr", ""}}));
}

TEST(RunPython, WhatItsWordsTellIsJudgedByTheHost) {
  const auto fault = [](Json more) -> std::string {
    Json arguments{{"code", "print('ran')"}};
    arguments.update(more);
    try {
      run_python_maker()->make(arguments);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config);
      return error.what();
    }
    return "";
  };
  const std::string nul("a\0b", 3);
  for (const Json& env : {Json{{"", "x"}}, Json{{"A=B", "x"}}, Json{{nul, "x"}}, Json{{"A", nul}}})
    EXPECT_TRUE(fault({{"env", env}}).starts_with("env: ")) << env;
  EXPECT_TRUE(fault({{"cwd", nul}}).starts_with("cwd: "));
  for (const char* path : {"../x", "/etc/x", "a/../../x", "", ".", "a/", "./.."})
    EXPECT_NE(fault({{"files", {{path, "x"}}}}).find("is not a path inside"), std::string::npos)
        << path;
  EXPECT_NE(fault({{"files", {{std::string(300, 'n'), "x"}}}}), "");
  EXPECT_NE(fault({{"files", {{"f", {{"base64", "!"}}}}}}).find("is not base64"),
            std::string::npos);
  EXPECT_NE(fault({{"files", {{"a", "1"}, {"./a", "2"}}}}).find("given twice"), std::string::npos);
  EXPECT_NE(fault({{"files", {{"a", "1"}, {"a/b/c", "2"}}}}).find("lies below"), std::string::npos);
  EXPECT_EQ(fault({{"files", {{"a/b", "1"}, {"a/c/d", "2"}, {"a.b", "3"}}},
                   {"env", {{"A", ""}}},
                   {"cwd", "no/such"}}),
            "");
}

TEST(RunPython, AnErrorIsCutToWhatOneReads) {
  const std::string huge(1 << 20, 'x');
  const ToolResult result = presented(
      {{"error",
        {{"type", huge}, {"message", huge + "\xc3\xa4"}, {"traceback", huge + "\xc3\xa4"}}}});
  EXPECT_LT(result.error_type.size(), 300u);
  EXPECT_LT(result.error.size(), std::size_t{20} << 10);
  EXPECT_LE(result.traceback.size(), std::size_t{64} << 10);
  EXPECT_TRUE(result.traceback.ends_with("\xc3\xa4")) << "its end says most";
  EXPECT_TRUE(is_valid_utf8(result.error) && is_valid_utf8(result.traceback));
}

TEST(RunPython, DisplaysAreTakenInOrder) {
  const Json output = displayed(Json::parse(R"([
      {"at": 5, "data": {"text/plain": "a", "text/html": "<b>a</b>"}},
      {"at": 3, "data": {"application/json": {"k": [1]}, "application/vnd.x+json": 7}},
      {"at": 999, "data": {"text/latex": "$x$"}}, {"data": {"text/plain": "b"}}])"));
  EXPECT_EQ(output["displays"][0]["at"], 5);
  EXPECT_EQ(output["displays"][0]["data"]["text/html"], "<b>a</b>");
  EXPECT_EQ(output["displays"][1]["at"], 5) << "never before the one before it";
  EXPECT_EQ(output["displays"][1]["data"]["application/json"], (Json{{"k", {1}}}));
  EXPECT_EQ(output["displays"][2]["at"], 100) << "no more than was written";
  EXPECT_EQ(output["displays"][3]["at"], 100);
  EXPECT_FALSE(output.contains("displays_left_out"));
}

TEST(RunPython, AFormIsWhatItsTypeSays) {
  const Json output =
      displayed({{{"at", 0}, {"data", {{"image/png", kTinyPng + "\n"}, {"text/plain", "x"}}}},
                 {{"at", 0}, {"data", {{"image/png", "!"}}}},
                 {{"at", 0}, {"data", {{"image/jpeg", kTinyPng}}}},
                 {{"at", 0}, {"data", {{"image/gif", 7}}}},
                 {{"at", 0}, {"data", {{"text/plain", {1}}}}},
                 {{"at", 0}, {"data", {{"text/html; charset=x", "x"}}}},
                 {{"at", 0}, {"data", {{"<script>/x", "x"}}}},
                 {{"at", 0}, {"data", Json::object()}},
                 {{"at", 0}, {"data", 7}},
                 7});
  ASSERT_EQ(output["displays"].size(), 1u) << output;
  EXPECT_EQ(output["displays"][0]["data"]["image/png"], kTinyPng);
  EXPECT_EQ(output["displays_left_out"], 9);
}

TEST(RunPython, DisplaysAreBounded) {
  Json many = Json::array();
  for (std::size_t i = 0; i < kMostDisplays + 50; ++i)
    many.push_back({{"at", 0}, {"data", {{"text/plain", "x"}}}});
  EXPECT_EQ(displayed(many)["displays"].size(), kMostDisplays);
  EXPECT_EQ(displayed(many)["displays_left_out"], 50);
  Json large = Json::array();
  for (int i = 0; i < 8; ++i)
    large.push_back({{"at", 0}, {"data", {{"text/plain", std::string(3 << 20, 'x')}}}});
  EXPECT_LT(displayed(large)["displays"].size(), 5u);
  // As the text that it becomes, and with what stands beside it.
  Json escaped = Json::array();
  for (int i = 0; i < 8; ++i)
    escaped.push_back({{"at", 0}, {"data", {{"text/plain", std::string(1 << 20, '\x01')}}}});
  EXPECT_LT(displayed(escaped)["displays"].size(), 3u);
  EXPECT_EQ(displayed(escaped)["displays_left_out"], 7);
  Json full{{"value", std::string(15 << 20, 'x')}}, answer_with_more{{"displays", large}};
  add_displays(full, answer_with_more, 0);
  EXPECT_FALSE(full.contains("displays"));
  EXPECT_EQ(full["displays_left_out"], 8);
  Json forms = Json::object();
  for (int i = 0; i < 1000; ++i) forms["x/y" + std::to_string(i)] = "x";
  EXPECT_EQ(displayed({{{"at", 0}, {"data", forms}}})["displays"][0]["data"].size(), kMostForms);
  Json answer{{"displays_left_out", 18446744073709551615u}}, output = Json::object();
  add_displays(output, answer, 0);
  EXPECT_EQ(output["displays_left_out"], 1'000'000'000);
}

TEST(RunPython, TheSizeOfATextIsThatOfItsJson) {
  for (const Json& value :
       {Json("plain"), Json("\x01\x1f\x7f\"\\\b\f\n\r\t/"), Json("\xc3\xa4\xe2\x82\xac"), Json(1.5),
        Json(nullptr), Json(true), Json(-7)})
    EXPECT_EQ(text_size(value), value.dump().size()) << value;
  const Json nested = Json::parse(R"({"a": [1, "x\u0001", {"b\n": {}}], "c": []})");
  EXPECT_GE(text_size(nested), nested.dump().size());
  EXPECT_LE(text_size(nested), nested.dump().size() + 10);
}

TEST(RunPython, ATypeIsATypeAndASubtype) {
  for (const char* good : {"text/plain", "image/svg+xml", "application/vnd.plotly.v1+json", "x/y"})
    EXPECT_TRUE(is_mime_type(good)) << good;
  for (const char* bad :
       {"", "/", "a/", "/b", "a", "a/b/c", "a b/c", "a/b;c=d", "a/b\n", "\xc3\xa4/b"})
    EXPECT_FALSE(is_mime_type(bad)) << bad;
  EXPECT_FALSE(is_mime_type("a/" + std::string(200, 'b')));
}

}  // namespace
}  // namespace brig::serve
