// Router: decides which tools must run in the sandbox, and which the operator runs on the host.
//
//   brig::Router router({.mode = brig::RouterMode::strict, .sandboxed_tools = {"shell"}}, sandbox);
//   brig::ToolResult r = router.call("shell", {{"line", "ls"}});
//
// A Router only decides: it isolates nothing itself, and brig never runs a tool on the host. Either
// the operator's own function (RouterConfig::host) runs it there, or the call is denied.
#pragma once

#include <brig/sandbox.h>

#include <functional>
#include <memory>
#include <set>
#include <string>

namespace brig {

enum class RouterMode {
  // Every tool runs on the host.
  off,
  // As `off`, and the Router reports each tool that `strict` would run in the sandbox.
  warn,
  // The listed tools run in the sandbox or not at all.
  strict,
};

enum class ExecutionContext { host, sandbox };

[[nodiscard]] const char* to_string(RouterMode mode);
[[nodiscard]] const char* to_string(ExecutionContext context);

struct ExecutionDecision {
  ExecutionContext context = ExecutionContext::host;
  std::string tool_name;
  std::string reason;
};

struct RouterConfig {
  RouterMode mode = RouterMode::off;
  std::set<std::string> sandboxed_tools;
  // These run on the host in every mode. A tool in both sets runs on the host.
  std::set<std::string> elevated_tools;
  // Runs a tool that the decision leaves to the host, with the host's rights and without a policy's
  // limits. Unset: such calls are denied. May throw: that is the call's error.
  std::function<Json(const std::string& tool, const Json& arguments)> host;
  // In warn mode: receives one sentence for each tool that would have run in the sandbox. Unset: no
  // one is warned. If it throws, call() denies the call.
  std::function<void(const std::string& warning)> warn;
};

// Thread-safe if the two functions of its config are. Shares the ownership of its Sandbox.
class Router {
 public:
  // Without a sandbox, calls of tools that need one are denied.
  explicit Router(RouterConfig config, std::shared_ptr<Sandbox> sandbox = nullptr);

  // Where the tool would run, and why. Runs nothing except RouterConfig::warn, and throws what that
  // throws.
  [[nodiscard]] ExecutionDecision decide(const std::string& tool) const;
  // Calls the tool where decide() says. Never throws. If the call was denied, nothing ran and the
  // result's `error` says why.
  [[nodiscard]] ToolResult call(const std::string& tool, Json arguments,
                                CallOptions options = {}) const;

 private:
  ToolResult call_on_host(const ExecutionDecision& decision, const Json& arguments,
                          ToolResult result) const;

  const RouterConfig config_;
  const std::shared_ptr<Sandbox> sandbox_;
};

}  // namespace brig
