// tools/call: a call, and what is told of it while it runs.
#include <fmt/format.h>

#include "base/text.h"
#include "serve/mcp_commentary.h"
#include "serve/mcp_question.h"
#include "serve/mcp_result.h"
#include "serve/mcp_tool.h"

namespace brig::serve {

Mcp::Stop Mcp::call_tool(Question& question) {
  const auto name = question.params.find("name");
  if (name == question.params.end() || !name->is_string()) {
    question.fail(rpc::kInvalidParams, "name: a string");
    return {};
  }
  Order order;
  order.tool = name->get<std::string>();
  order.caller = question.origin.caller;
  order.peer = question.origin.peer;
  order.via = "mcp";
  if (const auto arguments = question.params.find("arguments");
      arguments != question.params.end() && !arguments->is_null()) {
    if (!arguments->is_object()) {
      question.fail(rpc::kInvalidParams, "arguments: an object");
      return {};
    }
    order.arguments = std::move(*arguments);
  }
  const auto tool = service_.find(order.tool, question.caller());
  if (!tool) {
    Refusal unknown{404, "unknown-tool", ""};
    service_.refused(order, unknown);
    question.fail(rpc::kInvalidParams, "unknown tool: " + in_quotes(order.tool), 200);
    return {};
  }
  const Json* parent = question.meta("traceparent");
  const std::string traceparent =
      parent && parent->is_string() ? parent->get<std::string>() : question.origin.traceparent;
  order.trace = Trace::from(traceparent.empty() ? nullptr : &traceparent);
  const std::string trace = order.trace.traceparent();

  const auto commentary = std::make_shared<McpCommentary>(question.reply, order.tool);
  const McpSessionPtr session = question.origin.session;
  if (const Json* token = question.meta("progressToken"); token) {
    if (token->is_string() && !is_short_text(*token)) {  // each message has it
      question.fail(rpc::kInvalidParams, "progressToken: longer than 1024 bytes");
      return {};
    }
    if (token->is_string() || token->is_number_integer()) commentary->want_progress(*token, loop_);
  }
  const Json* level = question.meta("io.modelcontextprotocol/logLevel");
  const auto asked = level ? log_level_of(*level) : std::nullopt;
  if (question.modern ? asked && *asked <= LogLevel::info
                      : session && session->log_level <= LogLevel::info)
    commentary->want_log();

  Hearing hearing;
  hearing.on_event = [commentary](const Event& event) { commentary->hear(event); };
  McpView view = McpView::of_version(question.modern ? kModern : session->version);
  view.text = service_.mcp_text();
  view.keep = [this, caller = question.origin.caller](const std::string& file, std::string type,
                                                      std::string bytes) {
    return resources_.keep(caller, file, std::move(type), std::move(bytes));
  };
  hearing.on_done = [commentary, session, tool, trace, view, id = question.id,
                     reply = question.reply, modern = question.modern,
                     own = service_.is_own(order.tool)](ToolResult result) {
    if (session) {
      session->running.erase(id.dump());
      if (session->cancelled.erase(id.dump()) > 0) return reply->close();
    }
    commentary->finish();
    Json answer = mcp_result(std::move(result), tool.get(), own, view);
    answer["_meta"]["traceparent"] = trace;
    if (modern) answer["resultType"] = "complete";
    reply->answer(rpc::result(id, std::move(answer)));
  };
  auto started = service_.start(std::move(order), std::move(hearing));
  if (const auto* refusal = std::get_if<Refusal>(&started)) {
    // The model is to read it, and may act on it: a result, not an error of the protocol.
    commentary->finish();
    Json answer{
        {"isError", true},
        {"content",
         {{{"type", "text"}, {"text", fmt::format("{}: {}", refusal->name, refusal->detail)}}}},
        {"_meta", {{"brig/outcome", refusal->name}}}};
    if (refusal->retry_after)
      answer["_meta"]["brig/retry_after_ms"] = refusal->retry_after->count();
    question.answer(std::move(answer));
    return {};
  }
  const std::uint64_t number = std::get<Taken>(started).number;
  if (session) session->running[question.id.dump()] = {number, question.reply, {}};
  return [this, number] { service_.cancel(number, true); };
}

}  // namespace brig::serve
