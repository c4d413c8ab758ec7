#include "service/builtin.h"

#include <brig/error.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include "sandbox/call_maker.h"
#include "service/run_command.h"

namespace brig::serve {
namespace {

TEST(BuiltIn, ThereAreTwo) {
  EXPECT_TRUE(is_builtin("run_command") && is_builtin("run_python"));
  EXPECT_FALSE(is_builtin("run_") || is_builtin("") || is_builtin("run_pythons"));
}

// --- run_command ---

MadeCall made(Json arguments) { return run_command_tool().maker->make(arguments); }

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
  const MadeCall command =
      made({{"command", "a"}, {"files", {{"a", "text"}, {"d//./b", {{"base64", "/w=="}}}}}});
  ASSERT_EQ(command.files.size(), 2u);
  EXPECT_EQ(command.files[0].bytes, "text");
  EXPECT_EQ(command.files[1].bytes, "\xff");
  EXPECT_EQ(command.files[1].path, "d/b");
  EXPECT_NE(fault_of({{"command", "a"}, {"files", {{"a", {{"base64", "!"}}}}}}), "");
}

TEST(BuiltIn, ACommandsOutputIsWhatItWrote) {
  ToolResult result;
  Report& report = result.report;
  report.exit_code = 3;
  report.out.bytes = "out";
  report.err.bytes = "\xff";
  report.err.truncated = true;
  report.err.total = 9;
  made({{"command", "a"}}).output(result, nullptr);
  EXPECT_EQ(result.output, Json::parse(R"({"exit_code": 3, "stdout": "out",
                                           "stderr_base64": "/w==", "stderr_bytes": 9,
                                           "stderr_total": 9})"));
  report.exit_code.reset();
  report.signal = 9;
  made({{"command", "a"}}).output(result, nullptr);
  EXPECT_EQ(result.output["signal"], 9);
  EXPECT_FALSE(result.output.contains("exit_code"));
}

TEST(BuiltIn, ACommandsTimeIsTheHostsToKeep) {
  EXPECT_EQ(made({{"command", "a"}, {"timeout", 1.5}}).limits.timeout,
            std::chrono::milliseconds(1500));
  EXPECT_EQ(made({{"command", "a"}, {"timeout", "250ms"}}).limits.timeout,
            std::chrono::milliseconds(250));
  EXPECT_FALSE(made({{"command", "a"}}).limits.timeout);
  EXPECT_EQ(fault_of({{"command", "a"}, {"timeout", 1e300}}).find("timeout: "), 0u);
}

TEST(BuiltIn, ACommandsVariablesAreNamesAndValues) {
  const auto variables = made({{"command", "a"}, {"env", {{"A", "1"}, {"B", ""}}}}).variables;
  EXPECT_EQ(variables, (std::map<std::string, std::string>{{"A", "1"}, {"B", ""}}));
  const std::string nul("a\0b", 3);
  for (const auto& [name, value] : {std::pair<std::string, std::string>{"", "x"},
                                    {"A=B", "x"},
                                    {nul, "x"},
                                    {"A", nul},
                                    {"A", std::string(128 << 10, 'x')}})
    EXPECT_EQ(fault_of({{"command", "a"}, {"env", {{name, value}}}}).find("env: "), 0u) << name;
  Json many = Json::object();
  for (int i = 0; i < 20; ++i) many["V" + std::to_string(i)] = std::string(100'000, 'x');
  EXPECT_EQ(fault_of({{"command", "a"}, {"env", many}}).find("env: "), 0u);
}

TEST(BuiltIn, ACommandMayStartElsewhere) {
  EXPECT_EQ(made({{"command", "a"}, {"cwd", "sub/dir"}}).directory, "sub/dir");
  EXPECT_EQ(made({{"command", "a"}}).directory, "");
  for (const std::string& path : {std::string(), std::string("a\0b", 3), std::string(5000, 'x')})
    EXPECT_EQ(fault_of({{"command", "a"}, {"cwd", path}}).find("cwd: "), 0u) << path;
}

}  // namespace
}  // namespace brig::serve
