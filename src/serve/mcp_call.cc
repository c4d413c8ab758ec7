// tools/call: a call, and what is told of it while it runs.
#include <fmt/format.h>

#include "base/text.h"
#include "serve/mcp_question.h"
#include "serve/mcp_result.h"
#include "serve/mcp_tool.h"

namespace brig::serve {
namespace {

// Clients give up on a request of which they hear nothing for a minute.
constexpr std::chrono::seconds kHeartbeat{10};
constexpr std::size_t kLongestLogLine = 8 * 1024;

// What a client hears before the answer.
class Commentary final {
 public:
  Commentary(McpReplyPtr reply, std::string tool)
      : reply_(std::move(reply)), tool_(std::move(tool)) {}

  void want_progress(Json token, Loop& loop) {
    token_ = std::move(token);
    began_ = std::chrono::steady_clock::now();
    heartbeat_ = loop.every(kHeartbeat, [this] { beat(); });
  }
  void want_log() { log_ = true; }

  void hear(const Event& event) {
    if (event.kind == Event::Kind::progress)
      progress(event.fraction, event.text);
    else if (event.kind == Event::Kind::output && event.stream == Stream::err && log_)
      take_log(event.text);
  }
  void finish() {
    heartbeat_.reset();
    if (log_ && !line_.empty()) send_line();
  }

 private:
  // It must grow: what a tool says twice, or takes back, is not passed on.
  void progress(double fraction, const std::string& text) {
    if (token_.is_null() || !(fraction > last_)) return;
    last_ = fraction;
    Json params{{"progressToken", token_}, {"progress", fraction}};
    if (fraction <= 1) params["total"] = 1;  // a heartbeat after the last word goes beyond
    if (!text.empty() && is_valid_utf8(text)) params["message"] = text;
    reply_->notify(rpc::notification("notifications/progress", std::move(params)));
  }
  void beat() {
    const auto age =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began_);
    progress(std::max(last_, 0.0) + 1e-9, fmt::format("running for {} s", age.count()));
  }

  void take_log(const std::string& text) {
    for (const char c : text) {
      if (c == '\n') {
        send_line();
      } else {
        line_.push_back(c);
        if (line_.size() >= kLongestLogLine) send_line();
      }
    }
  }
  void send_line() {
    std::string line = std::exchange(line_, "");
    if (!is_valid_utf8(line)) line = in_quotes(line);
    reply_->notify(rpc::notification("notifications/message",
                                     {{"level", "info"}, {"logger", tool_}, {"data", line}}));
  }

  const McpReplyPtr reply_;
  const std::string tool_;
  Json token_;
  double last_ = -1;
  std::chrono::steady_clock::time_point began_;
  Loop::Timer heartbeat_;
  bool log_ = false;
  std::string line_;
};

}  // namespace

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

  const auto commentary = std::make_shared<Commentary>(question.reply, order.tool);
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
