// Router: which tools must run in the sandbox, and which the operator runs on the host.
//
//   brig::Router router({.mode = brig::RouterMode::strict, .sandboxed_tools = {"shell"}}, sandbox);
//   brig::ToolResult r = router.call("shell", {{"line", "ls"}});
//
// It decides; it isolates nothing itself, and it never runs a tool on the host: the operator's own
// function does, or nobody.
#pragma once

#include <brig/sandbox.h>

#include <functional>
#include <memory>
#include <set>
#include <string>

namespace brig {

enum class RouterMode {
  off,     // every tool is the host's
  warn,    // as off, but says which tools `strict` would put into the sandbox
  strict,  // the listed tools run in the sandbox, or not at all
};

enum class ExecutionContext { host, sandbox };

const char* to_string(RouterMode mode);
const char* to_string(ExecutionContext context);

struct ExecutionDecision {
  ExecutionContext context = ExecutionContext::host;
  std::string tool_name;
  std::string reason;
};

struct RouterConfig {
  RouterMode mode = RouterMode::off;
  std::set<std::string> sandboxed_tools;
  std::set<std::string> elevated_tools;  // the host's in every mode, listed above or not
  // Runs a tool that the decision leaves to the host, with the host's rights and none of a policy's
  // limits. Unset, such calls are denied. May throw: that is the call's error.
  std::function<Json(const std::string& tool, const Json& arguments)> host;
  // Told, in warn mode, of each tool that would have run in the sandbox. Unset: nobody is.
  std::function<void(const std::string& warning)> warn;
};

// Thread-safe if the two functions of its config are.
class Router {
 public:
  // Without a sandbox, tools that need one are denied.
  explicit Router(RouterConfig config, std::shared_ptr<Sandbox> sandbox = nullptr);

  ExecutionDecision decide(const std::string& tool) const;
  // As decided; never throws. A denial says why in `reason`; nothing was run then.
  ToolResult call(const std::string& tool, Json arguments, CallOptions options = {}) const;

 private:
  ToolResult call_on_host(const ExecutionDecision& decision, const Json& arguments,
                          ToolResult result) const;

  const RouterConfig config_;
  const std::shared_ptr<Sandbox> sandbox_;
};

}  // namespace brig
