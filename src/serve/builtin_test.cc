#include "serve/builtin.h"

#include <brig/error.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include "serve/run_command.h"
#include "tool/command_maker.h"

namespace brig::serve {
namespace {

TEST(BuiltIn, ThereAreTwo) {
  EXPECT_TRUE(is_builtin("run_command") && is_builtin("run_python"));
  EXPECT_FALSE(is_builtin("run_") || is_builtin("") || is_builtin("run_pythons"));
}

// --- run_command ---

MadeCommand made(const Json& arguments) { return run_command_tool().maker->make(arguments); }

std::string fault_of(const Json& arguments) {
  try {
    made(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "";
}

TEST(BuiltIn, ACommandIsMadeOnTheHostAndNoFunctionOfIt) {
  const Tool tool = run_command_tool();
  EXPECT_TRUE(!tool.call && tool.argv.empty() && tool.maker);
}

TEST(BuiltIn, ACommandIsItsWordsOrALineForTheShell) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(made({{"argv", {"a", "b c", "$d"}}}).command.argv, (Words{"a", "b c", "$d"}));
  EXPECT_EQ(made({{"command", "a b"}}).command.argv, (Words{"/bin/sh", "-c", "a b"}));
  EXPECT_EQ(made({{"command", "a"}, {"stdin", "text"}}).command.stdin_bytes, "text");
  EXPECT_FALSE(made({{"command", "a"}}).command.stdin_bytes);
  EXPECT_NE(fault_of(Json::object()), "");
  EXPECT_NE(fault_of({{"argv", {"a"}}, {"command", "a"}}), "");
}

TEST(BuiltIn, ACommandsFilesAreTextOrBase64) {
  const MadeCommand command =
      made({{"command", "a"}, {"files", {{"a", "text"}, {"d//./b", {{"base64", "/w=="}}}}}});
  ASSERT_EQ(command.files.size(), 2u);
  EXPECT_EQ(command.files[0].bytes, "text");
  EXPECT_EQ(command.files[1].bytes, "\xff");
  EXPECT_EQ(command.files[1].path, "d/b");
  EXPECT_NE(fault_of({{"command", "a"}, {"files", {{"a", {{"base64", "!"}}}}}}), "");
}

TEST(BuiltIn, ACommandsOutputIsWhatItWrote) {
  Report report;
  report.out.bytes = "out";
  report.err.bytes = "\xff";
  report.err.truncated = true;
  report.err.total = 9;
  EXPECT_EQ(made({{"command", "a"}}).output(report, nullptr),
            Json::parse(R"({"exit_code": 0, "stdout": "out", "stderr_base64": "/w==",
                            "stderr_total": 9})"));
}

// --- run_python ---

// What comes of a cell's answer.
ToolResult presented(Json answer, Report report = {}) {
  ToolResult result;
  result.ok = true;
  result.output = std::move(answer);
  result.report = std::move(report);
  result.report.outcome = Outcome::ok;
  present_python(result);
  EXPECT_EQ(result.ok, result.report.outcome == Outcome::ok);
  EXPECT_EQ(result.ok, result.error.empty()) << result.error;
  EXPECT_TRUE(result.ok || result.output.is_null());
  return result;
}

TEST(BuiltIn, PythonsOutputHasItsValue) {
  Report report;
  report.out.bytes = "printed\n";
  const ToolResult result = presented({{"value", {1, 2}}, {"images", Json::array()}}, report);
  EXPECT_EQ(result.output["value"], (Json{1, 2}));
  EXPECT_EQ(result.output["stdout"], "printed\n");
  EXPECT_EQ(presented(Json::object()).output["value"], Json());
}

// The answer comes from the cell: from whatever runs there.
TEST(BuiltIn, AnAnswerOfAnyShapeIsTaken) {
  for (const char* text : {"null", "7", "[]", "\"x\""})
    EXPECT_EQ(presented(Json::parse(text)).report.outcome, Outcome::tool_error) << text;
  EXPECT_EQ(presented({{"not_run", "a file's path"}}).report.outcome, Outcome::invalid_arguments);
  EXPECT_TRUE(presented({{"not_run", 7}}).ok);
  EXPECT_FALSE(presented({{"value", 0}, {"images", 7}}).output.contains("images"));
}

TEST(BuiltIn, WhatHasFailedAlreadyIsLeftAlone) {
  ToolResult result;
  result.error = "no";
  result.report.outcome = Outcome::timeout;
  present_python(result);
  EXPECT_EQ(result.error, "no");
  EXPECT_EQ(result.report.outcome, Outcome::timeout);
}

}  // namespace
}  // namespace brig::serve
