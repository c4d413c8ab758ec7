#include <brig/router.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace brig {
namespace {

RouterConfig config_of(RouterMode mode) {
  RouterConfig config;
  config.mode = mode;
  config.sandboxed_tools = {"shell", "both"};
  config.elevated_tools = {"deploy", "both"};
  return config;
}

std::string decided(const Router& router, const std::string& tool) {
  const ExecutionDecision decision = router.decide(tool);
  EXPECT_EQ(decision.tool_name, tool);
  return std::string(to_string(decision.context)) + ": " + decision.reason;
}

TEST(Router, OffLeavesEveryToolToTheHost) {
  const Router router(config_of(RouterMode::off));
  EXPECT_EQ(decided(router, "shell"), "host: Sandbox mode is off");
  EXPECT_EQ(decided(router, "other"), "host: Sandbox mode is off");
  EXPECT_EQ(decided(router, "deploy"), "host: Tool is marked as elevated");
  EXPECT_EQ(RouterConfig{}.mode, RouterMode::off);
}

TEST(Router, WarnSaysWhatStrictWouldDo) {
  std::vector<std::string> warnings;
  RouterConfig config = config_of(RouterMode::warn);
  config.warn = [&](const std::string& warning) { warnings.push_back(warning); };
  const Router router(config);
  EXPECT_EQ(decided(router, "shell"),
            "host: Warn mode advisory: tool would run in sandbox, executing on host");
  EXPECT_EQ(decided(router, "other"), "host: Tool not designated for sandbox");
  EXPECT_EQ(decided(router, "both"), "host: Tool is marked as elevated");
  EXPECT_EQ(warnings, std::vector<std::string>{
                          "Tool 'shell' would run in sandbox (mode=warn, running on host)"});
  EXPECT_EQ(decided(Router(config_of(RouterMode::warn)), "shell"),
            "host: Warn mode advisory: tool would run in sandbox, executing on host")
      << "without anyone to warn";
}

TEST(Router, StrictSandboxesWhatIsListedUnlessElevated) {
  const Router router(config_of(RouterMode::strict));
  EXPECT_EQ(decided(router, "shell"), "sandbox: Strict sandbox enforcement");
  EXPECT_EQ(decided(router, "other"), "host: Tool not designated for sandbox");
  EXPECT_EQ(decided(router, "deploy"), "host: Tool is marked as elevated");
  EXPECT_EQ(decided(router, "both"), "host: Tool is marked as elevated");
  EXPECT_STREQ(to_string(RouterMode::strict), "strict");
}

TEST(Router, WithoutASandboxAToolThatNeedsOneIsDenied) {
  int ran = 0;
  RouterConfig config = config_of(RouterMode::strict);
  config.host = [&](const std::string&, const Json&) -> Json { return ++ran; };
  const ToolResult r = Router(config).call("shell", {}, {.call_id = "id", .caller = ""});
  EXPECT_FALSE(r.ok());
  EXPECT_TRUE(r.denied());
  EXPECT_EQ(r.error,
            "Tool 'shell' requires sandbox execution, but no sandbox backend is configured");
  EXPECT_EQ(r.call_id, "id");
  EXPECT_EQ(r.report.outcome, Outcome::denied);
  EXPECT_EQ(ran, 0) << "fell back to the host";
}

TEST(Router, WhatIsTheHostsIsDeniedUnlessTheOperatorRunsIt) {
  for (const RouterMode mode : {RouterMode::off, RouterMode::warn, RouterMode::strict}) {
    SCOPED_TRACE(to_string(mode));
    const Router router(config_of(mode));
    const ToolResult r = router.call("deploy", {});
    EXPECT_TRUE(r.denied());
    EXPECT_FALSE(r.ok());
    EXPECT_EQ(r.error,
              "Tool is marked as elevated: brig never runs a tool on the host; run 'deploy' "
              "yourself, or set RouterConfig::host");
    EXPECT_TRUE(router.call("other", {}).denied());
  }
  EXPECT_TRUE(Router(config_of(RouterMode::off)).call("shell", {}).denied());
  EXPECT_TRUE(Router(config_of(RouterMode::warn)).call("shell", {}).denied());
}

TEST(Router, TheOperatorsFunctionRunsWhatIsTheHosts) {
  RouterConfig config = config_of(RouterMode::strict);
  config.host = [](const std::string& tool, const Json& arguments) -> Json {
    if (tool == "other") throw std::runtime_error("no such host tool");
    if (tool == "third") throw 3;
    return tool + arguments.at("to").get<std::string>();
  };
  const Router router(config);
  const ToolResult r = router.call("deploy", {{"to", " here"}}, {.call_id = "7", .caller = ""});
  EXPECT_TRUE(r.ok()) << r.error;
  EXPECT_EQ(r.output, "deploy here");
  EXPECT_EQ(r.call_id, "7");
  EXPECT_FALSE(r.denied());
  EXPECT_TRUE(r.report.enforced.empty()) << "nothing isolated it, and nothing says so";
  const ToolResult thrown = router.call("other", {});
  EXPECT_FALSE(thrown.ok());
  EXPECT_FALSE(thrown.denied());
  EXPECT_EQ(thrown.report.outcome, Outcome::tool_error);
  EXPECT_EQ(thrown.error, "no such host tool");
  EXPECT_EQ(router.call("third", {}).report.outcome, Outcome::tool_error);
}

TEST(Router, AWarningThatThrowsDeniesTheCall) {
  RouterConfig config = config_of(RouterMode::warn);
  config.warn = [](const std::string&) { throw std::runtime_error("log is full"); };
  config.host = [](const std::string&, const Json&) -> Json { return 1; };
  const ToolResult r = Router(config).call("shell", {});
  EXPECT_TRUE(r.denied());
  EXPECT_EQ(r.error, "RouterConfig::warn failed: log is full");
}

}  // namespace
}  // namespace brig
