// tools/call: a call, and the notifications about it while it runs.
#include <fmt/format.h>

#include "base/text.h"
#include "json/json_line.h"
#include "mcp/mcp_commentary.h"
#include "mcp/mcp_request.h"
#include "mcp/mcp_result.h"
#include "mcp/mcp_tool.h"

namespace brig::serve {

struct Mcp::ToolCall {
  Json id;
  McpReplyPtr reply;
  // Null: stateless, over HTTP.
  McpSessionPtr session;
  CallerPtr caller;
  bool modern = false;
  std::shared_ptr<const Tool> tool;
  // It is run_command or run_python.
  bool own = false;
  std::string trace;
  McpView view;
  std::shared_ptr<McpCommentary> commentary;

  // What a task needs. `wish`: the client asked for one, in 2025-11-25.
  std::optional<TaskWish> wish;
  // Of the arguments, as text.
  std::size_t size = 0;
  AcceptedCall accepted;
  bool runs = false;     // or it waits for its turn
  bool left = false;     // the client does not wait for the answer any more
  Loop::Timer patience;  // until it becomes a task
  std::string task;      // its id, once it is one

  bool is_cancelled() const { return left || (session && session->cancelled.contains(id.dump())); }
  void answer(Json result) const { reply->answer(rpc::result(id, std::move(result))); }
};

namespace {

// A refusal is a result, not an error of the protocol, so that the model reads it and can act on
// it.
Json refusal_result(const Refusal& refusal) {
  Json answer{{"isError", true},
              {"content",
               {{{"type", "text"}, {"text", fmt::format("{}: {}", refusal.name, refusal.detail)}}}},
              {"_meta", {{"brig/outcome", refusal.name}}}};
  if (refusal.retry_after) answer["_meta"]["brig/retry_after_ms"] = refusal.retry_after->count();
  return answer;
}

// The first text of a result that is an error says why.
std::string cause_in(const Json& result) {
  if (!result.value("isError", false)) return "";
  for (const Json& block : result["content"])
    if (block["type"] == "text") return block["text"].get<std::string>();
  return "";
}

}  // namespace

std::shared_ptr<const Tool> Mcp::look_up(CallRequest& call, const McpOrigin& origin) const {
  call.found = origin.found ? origin.found : service_.find(call.tool, *origin.caller);
  return call.found.tool;
}

bool Mcp::prepare_commentary(Request& request, ToolCall& call) {
  call.commentary = std::make_shared<McpCommentary>(request.reply, call.tool->name);
  // Its request is answered before anything can be reported.
  if (call.wish) return true;
  if (const Json* token = request.meta("progressToken"); token) {
    // Each message has it.
    if (token->is_string() && !is_short_text(*token)) {
      request.fail(rpc::kInvalidParams, "progressToken must not be longer than 1024 bytes");
      return false;
    }
    if (token->is_string() || token->is_number_integer())
      call.commentary->want_progress(*token, loop_);
  }
  const Json* level = request.meta("io.modelcontextprotocol/logLevel");
  const auto asked = level ? log_level_of(*level) : std::nullopt;
  if (request.modern ? asked && *asked <= LogLevel::info
                     : call.session && call.session->log_level <= LogLevel::info)
    call.commentary->want_log();
  return true;
}

bool Mcp::prepare(Request& request, ToolCall& call) {
  call.id = request.id;
  call.reply = request.reply;
  call.session = request.origin.session;
  call.caller = request.origin.caller;
  call.modern = request.modern;
  call.own = service_.is_own(call.tool->name);
  call.view = McpView::of_version(request.modern ? kModern : call.session->version);
  call.view.text = service_.mcp_text();
  call.view.keep = [this, caller = call.caller](const std::string& file, std::string type,
                                                std::string bytes) {
    return resources_.keep(caller, file, std::move(type), std::move(bytes));
  };
  if (const auto task = request.params.find("task");
      !request.modern && request.has_tasks() && task != request.params.end()) {
    call.wish = task_wish_of(*task);
    if (!call.wish) {
      request.fail(rpc::kInvalidParams,
                   "task must be an object, and its ttl a number of milliseconds");
      return false;
    }
  }
  return prepare_commentary(request, call);
}

Json Mcp::result_of(const ToolCall& call, ToolResult result) const {
  Json answer = mcp_result(std::move(result), call.tool.get(), call.own, call.view);
  answer["_meta"]["traceparent"] = call.trace;
  if (call.modern) answer["resultType"] = "complete";
  return answer;
}

CallObserver Mcp::observer_of(const ToolCallPtr& call) {
  CallObserver observer;
  observer.on_event = [this, call](const Event& event) {
    if (event.kind == Event::Kind::started) call->runs = true;
    if (call->task.empty())
      call->commentary->receive(event);
    else
      jobs_.receive(call->task, event);
  };
  observer.on_done = [this, call](ToolResult result) {
    call->patience.reset();
    if (!call->task.empty()) {
      const bool cancelled = result.report.outcome == Outcome::cancelled;
      Json ended = result_of(*call, std::move(result));
      if (!call->modern)
        ended["_meta"]["io.modelcontextprotocol/related-task"] = {{"taskId", call->task}};
      return jobs_.finish(call->task, {json_line(ended), cancelled, ended.value("isError", false),
                                       cause_in(ended)});
    }
    if (call->session) {
      call->session->running.erase(call->id.dump());
      if (call->session->cancelled.erase(call->id.dump()) > 0) return call->reply->close();
    }
    call->commentary->finish();
    call->answer(result_of(*call, std::move(result)));
  };
  return observer;
}

bool Mcp::become_task(ToolCall& call) {
  if (call.is_cancelled()) return false;
  const JobKind kind = call.modern ? JobKind::task : JobKind::legacy_task;
  Job job;
  job.kind = kind;
  job.tool = call.tool->name;
  job.call = call.accepted;
  job.caller = call.caller;
  job.size = call.size;
  job.status = call.runs ? Job::Status::running : Job::Status::queued;
  if (call.wish) job.kept = call.wish->kept;
  const auto id = jobs_.adopt(std::move(job));
  if (!id) return false;
  call.task = *id;
  if (call.session) call.session->running.erase(call.id.dump());
  call.commentary->finish();
  const Job& made = *jobs_.look(*id, kind, *call.caller);
  Json task = task_json(*id, made, made.began);
  if (call.modern) {
    task["resultType"] = "task";
    call.answer(std::move(task));
  } else {
    call.answer({{"task", std::move(task)}});
  }
  return true;
}

Mcp::Stop Mcp::call_tool(Request& request) {
  CallRequest call_request = request.call_request();
  const auto record = [&](Refusal refusal) { service_.refused(call_request, refusal); };
  const auto name = request.params.find("name");
  if (name == request.params.end() || !name->is_string()) {
    record({422, "invalid-arguments", ""});
    request.fail(rpc::kInvalidParams, "name must be a string");
    return {};
  }
  call_request.tool = name->get<std::string>();
  if (const auto arguments = request.params.find("arguments");
      arguments != request.params.end() && !arguments->is_null()) {
    if (!arguments->is_object()) {
      record({422, "invalid-arguments", ""});
      request.fail(rpc::kInvalidParams, "arguments must be an object");
      return {};
    }
    call_request.arguments = std::move(*arguments);
  }
  const auto call = std::make_shared<ToolCall>();
  call->tool = look_up(call_request, request.origin);
  if (!call->tool) {
    record({404, "unknown-tool", ""});
    request.fail(rpc::kInvalidParams, "unknown tool: " + in_quotes(call_request.tool), 200);
    return {};
  }
  const Json* parent = request.meta("traceparent");
  const std::string traceparent =
      parent && parent->is_string() ? parent->get<std::string>() : request.origin.traceparent;
  call_request.trace = Trace::from(traceparent.empty() ? nullptr : &traceparent);
  call->trace = call_request.trace.traceparent();
  if (!prepare(request, *call)) {
    record({422, "invalid-arguments", ""});
    return {};
  }
  return start_call(request, std::move(call_request), call);
}

Mcp::Stop Mcp::start_call(Request& request, CallRequest call_request, const ToolCallPtr& call) {
  const bool may_become_task = request.declares_tasks();
  if (call->wish || may_become_task) call->size = json_line(call_request.arguments).size();
  std::optional<Refusal> refusal;
  if (call->wish && !jobs_.has_room(request.caller(), call->size)) {
    refusal = Jobs::no_room();
    service_.refused(call_request, *refusal);
  }
  if (!refusal) {
    auto started = service_.start(std::move(call_request), observer_of(call));
    if (auto* refused = std::get_if<Refusal>(&started))
      refusal = std::move(*refused);
    else
      call->accepted = std::get<AcceptedCall>(std::move(started));
  }
  if (refusal) {
    call->commentary->finish();
    Json answer = refusal_result(*refusal);
    // A client that asked for a task expects a task, or an error.
    if (call->wish)
      request.fail(rpc::kInternal, fmt::format("{}: {}", refusal->name, refusal->detail), 200,
                   std::move(answer["_meta"]));
    else
      request.answer(std::move(answer));
    return {};
  }
  if (call->wish) {
    // There is room: it was looked for.
    become_task(*call);
    return {};
  }
  if (call->session)
    call->session->running[request.id.dump()] = {call->accepted.number, request.reply, {}};
  // If there is no room for a task, the call goes on and is answered as if there were no tasks.
  if (may_become_task)
    call->patience = loop_.after(kTaskPatience, [this, weak = std::weak_ptr(call)] {
      if (const auto held = weak.lock()) become_task(*held);
    });
  return [this, weak = std::weak_ptr(call)] {
    const auto held = weak.lock();
    if (!held || !held->task.empty()) return;
    held->left = true;
    service_.cancel(held->accepted.number, true);
  };
}

}  // namespace brig::serve
