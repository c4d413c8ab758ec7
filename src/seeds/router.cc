#include <brig/router.h>
#include <fmt/format.h>

#include <exception>
#include <utility>

namespace brig {
namespace {

ToolResult denied(ToolResult result, std::string reason) {
  result.report.outcome = Outcome::denied;
  result.report.message = reason;
  result.error = std::move(reason);
  return result;
}

}  // namespace

const char* to_string(RouterMode mode) {
  switch (mode) {
    case RouterMode::off: return "off";
    case RouterMode::warn: return "warn";
    case RouterMode::strict: return "strict";
  }
  return "unknown";
}

const char* to_string(ExecutionContext context) {
  return context == ExecutionContext::sandbox ? "sandbox" : "host";
}

Router::Router(RouterConfig config, std::shared_ptr<Sandbox> sandbox)
    : config_(std::move(config)), sandbox_(std::move(sandbox)) {}

ExecutionDecision Router::decide(const std::string& tool) const {
  const auto host = [&](const char* reason) {
    return ExecutionDecision{ExecutionContext::host, tool, reason};
  };
  if (config_.elevated_tools.contains(tool)) return host("Tool is marked as elevated");
  if (config_.mode == RouterMode::off) return host("Sandbox mode is off");
  if (!config_.sandboxed_tools.contains(tool)) return host("Tool not designated for sandbox");
  if (config_.mode == RouterMode::strict)
    return {ExecutionContext::sandbox, tool, "Strict sandbox enforcement"};
  if (config_.warn)
    config_.warn(fmt::format("Tool '{}' would run in sandbox (mode=warn, running on host)", tool));
  return host("Warn mode advisory: tool would run in sandbox, executing on host");
}

ToolResult Router::call(const std::string& tool, Json arguments, CallOptions options) const {
  ToolResult result;
  result.call_id = options.call_id;
  result.started_at = std::chrono::system_clock::now();
  ExecutionDecision decision;
  try {
    decision = decide(tool);
  } catch (const std::exception& error) {
    return denied(std::move(result), fmt::format("RouterConfig::warn failed: {}", error.what()));
  } catch (...) {
    return denied(std::move(result), "RouterConfig::warn failed");
  }
  if (decision.context == ExecutionContext::host)
    return call_on_host(decision, arguments, std::move(result));
  if (!sandbox_)
    return denied(
        std::move(result),
        fmt::format("Tool '{}' requires sandbox execution, but no sandbox backend is configured",
                    tool));
  return sandbox_->call(tool, std::move(arguments), std::move(options));
}

ToolResult Router::call_on_host(const ExecutionDecision& decision, const Json& arguments,
                                ToolResult result) const {
  if (!config_.host)
    return denied(std::move(result),
                  fmt::format("{}: brig never runs a tool on the host; run '{}' yourself, or set "
                              "RouterConfig::host",
                              decision.reason, decision.tool_name));
  const auto begin = std::chrono::steady_clock::now();
  try {
    result.output = config_.host(decision.tool_name, arguments);
    result.report.outcome = Outcome::ok;
    result.report.message = "the tool succeeded, on the host";
  } catch (const std::exception& error) {
    result.report.outcome = Outcome::tool_error;
    result.error = error.what();
    result.report.message = result.error;
  } catch (...) {
    result.report.outcome = Outcome::tool_error;
    result.error = "the tool failed on the host, and did not say why";
    result.report.message = result.error;
  }
  result.duration = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  result.report.usage.wall = result.duration;
  result.report.steps.run = result.duration;
  return result;
}

}  // namespace brig
