#include "serve/builtin.h"

#include <gtest/gtest.h>

namespace brig::serve {
namespace {

// What comes of a cell's answer.
ToolResult presented(Json answer, const char* tool = kRunCommand, Report report = {}) {
  ToolResult result;
  result.ok = true;
  result.output = std::move(answer);
  result.report = std::move(report);
  result.report.outcome = Outcome::ok;
  present_builtin(result, tool);
  EXPECT_EQ(result.ok, result.report.outcome == Outcome::ok);
  EXPECT_EQ(result.ok, result.error.empty()) << result.error;
  EXPECT_TRUE(result.ok || result.output.is_null());
  return result;
}

Outcome outcome(Json answer, Report report = {}) {
  return presented(std::move(answer), kRunCommand, std::move(report)).report.outcome;
}

TEST(BuiltIn, ThereAreTwo) {
  EXPECT_TRUE(is_builtin("run_command") && is_builtin("run_python"));
  EXPECT_FALSE(is_builtin("run_") || is_builtin("") || is_builtin("run_pythons"));
}

TEST(BuiltIn, ACommandsOutputIsWhatItWrote) {
  Report report;
  report.out.bytes = "out";
  report.err.bytes = "\xff";
  report.err.truncated = true;
  report.err.total = 9;
  const ToolResult result = presented({{"exit_code", 0}}, kRunCommand, report);
  EXPECT_EQ(result.output, Json::parse(R"({"exit_code": 0, "stdout": "out", "stderr_base64": "/w==",
                                           "stderr_total": 9})"));
  EXPECT_EQ(result.report.exit_code, 0);
}

TEST(BuiltIn, ACommandThatFailedIsACallThatFailed) {
  const ToolResult failed = presented({{"exit_code", 3}});
  EXPECT_EQ(failed.report.outcome, Outcome::exit);
  EXPECT_EQ(failed.report.exit_code, 3);
  const ToolResult killed = presented({{"signal", 9}});
  EXPECT_EQ(killed.report.outcome, Outcome::signal);
  EXPECT_EQ(killed.report.signal, 9);
  EXPECT_EQ(outcome({{"not_run", "'x': No such file"}}), Outcome::invalid_arguments);
}

TEST(BuiltIn, WhatItWasRefusedExplainsAFailure) {
  Report memory, processes;
  memory.violations = {{"memory", "oom", 1}};
  processes.violations = {{"processes", "fork", 1}};
  EXPECT_EQ(outcome({{"signal", 9}}, memory), Outcome::memory_limit);
  EXPECT_EQ(outcome({{"exit_code", 1}}, processes), Outcome::process_limit);
  EXPECT_EQ(outcome({{"exit_code", 0}}, memory), Outcome::ok) << "there was none to explain";
}

// The answer comes from the cell: from whatever runs there.
TEST(BuiltIn, AnAnswerOfAnyShapeIsTaken) {
  for (const char* text :
       {"null", "7", "[]", "\"x\"", "{}", R"({"exit_code": "0"})", R"({"exit_code": 1.5})",
        R"({"exit_code": null})", R"({"not_run": 7})", R"({"signal": "x"})"})
    EXPECT_EQ(outcome(Json::parse(text)), Outcome::tool_error) << text;
  EXPECT_FALSE(presented({{"exit_code", 0}, {"images", 7}}).output.contains("images"));
}

TEST(BuiltIn, PythonsOutputHasItsValue) {
  Report report;
  report.out.bytes = "printed\n";
  const ToolResult result =
      presented({{"value", {1, 2}}, {"images", Json::array()}}, kRunPython, report);
  EXPECT_EQ(result.output["value"], (Json{1, 2}));
  EXPECT_EQ(result.output["stdout"], "printed\n");
  EXPECT_EQ(presented(Json::object(), kRunPython).output["value"], Json());
}

TEST(BuiltIn, WhatHasFailedAlreadyIsLeftAlone) {
  ToolResult result;
  result.error = "no";
  result.report.outcome = Outcome::timeout;
  present_builtin(result, kRunCommand);
  EXPECT_EQ(result.error, "no");
  EXPECT_EQ(result.report.outcome, Outcome::timeout);
}

}  // namespace
}  // namespace brig::serve
