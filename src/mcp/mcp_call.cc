// tools/call: a call, and what is told of it while it runs.
#include <fmt/format.h>

#include "base/text.h"
#include "json/json_line.h"
#include "mcp/mcp_commentary.h"
#include "mcp/mcp_question.h"
#include "mcp/mcp_result.h"
#include "mcp/mcp_tool.h"

namespace brig::serve {

struct Mcp::Calling {
  Json id;
  McpReplyPtr reply;
  McpSessionPtr session;  // null: stateless, over HTTP
  CallerPtr caller;
  bool modern = false;
  std::shared_ptr<const Tool> tool;
  bool own = false;  // it is run_command or run_python
  std::string trace;
  McpView view;
  std::shared_ptr<McpCommentary> commentary;

  // What a task needs. `wish`: the client asked for one, in 2025-11-25.
  std::optional<TaskWish> wish;
  std::size_t size = 0;  // of the arguments, as text
  Taken taken;
  bool runs = false;     // or it waits for its turn
  bool left = false;     // nobody waits for the answer
  Loop::Timer patience;  // until it becomes a task
  std::string task;      // its id, once it is one

  bool is_cancelled() const { return left || (session && session->cancelled.contains(id.dump())); }
  void answer(Json result) const { reply->answer(rpc::result(id, std::move(result))); }
};

namespace {

// The model is to read it, and may act on it: a result, not an error of the protocol.
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

bool Mcp::prepare_commentary(Question& question, Calling& calling) {
  calling.commentary = std::make_shared<McpCommentary>(question.reply, calling.tool->name);
  if (calling.wish) return true;  // its request is answered before anything can be told
  if (const Json* token = question.meta("progressToken"); token) {
    if (token->is_string() && !is_short_text(*token)) {  // each message has it
      question.fail(rpc::kInvalidParams, "progressToken: longer than 1024 bytes");
      return false;
    }
    if (token->is_string() || token->is_number_integer())
      calling.commentary->want_progress(*token, loop_);
  }
  const Json* level = question.meta("io.modelcontextprotocol/logLevel");
  const auto asked = level ? log_level_of(*level) : std::nullopt;
  if (question.modern ? asked && *asked <= LogLevel::info
                      : calling.session && calling.session->log_level <= LogLevel::info)
    calling.commentary->want_log();
  return true;
}

bool Mcp::prepare(Question& question, Calling& calling) {
  calling.id = question.id;
  calling.reply = question.reply;
  calling.session = question.origin.session;
  calling.caller = question.origin.caller;
  calling.modern = question.modern;
  calling.own = service_.is_own(calling.tool->name);
  calling.view = McpView::of_version(question.modern ? kModern : calling.session->version);
  calling.view.text = service_.mcp_text();
  calling.view.keep = [this, caller = calling.caller](const std::string& file, std::string type,
                                                      std::string bytes) {
    return resources_.keep(caller, file, std::move(type), std::move(bytes));
  };
  if (const auto task = question.params.find("task");
      !question.modern && question.has_tasks() && task != question.params.end()) {
    calling.wish = task_wish_of(*task);
    if (!calling.wish) {
      question.fail(rpc::kInvalidParams, "task: an object; its ttl: milliseconds");
      return false;
    }
  }
  return prepare_commentary(question, calling);
}

Json Mcp::result_of(const Calling& calling, ToolResult result) const {
  Json answer = mcp_result(std::move(result), calling.tool.get(), calling.own, calling.view);
  answer["_meta"]["traceparent"] = calling.trace;
  if (calling.modern) answer["resultType"] = "complete";
  return answer;
}

Hearing Mcp::hearing_of(const CallingPtr& calling) {
  Hearing hearing;
  hearing.on_event = [this, calling](const Event& event) {
    if (event.kind == Event::Kind::started) calling->runs = true;
    if (calling->task.empty())
      calling->commentary->hear(event);
    else
      jobs_.hear(calling->task, event);
  };
  hearing.on_done = [this, calling](ToolResult result) {
    calling->patience.reset();
    if (!calling->task.empty()) {
      const bool cancelled = result.report.outcome == Outcome::cancelled;
      Json ended = result_of(*calling, std::move(result));
      if (!calling->modern)
        ended["_meta"]["io.modelcontextprotocol/related-task"] = {{"taskId", calling->task}};
      return jobs_.finish(calling->task, {json_line(ended), cancelled,
                                          ended.value("isError", false), cause_in(ended)});
    }
    if (calling->session) {
      calling->session->running.erase(calling->id.dump());
      if (calling->session->cancelled.erase(calling->id.dump()) > 0) return calling->reply->close();
    }
    calling->commentary->finish();
    calling->answer(result_of(*calling, std::move(result)));
  };
  return hearing;
}

bool Mcp::become_task(Calling& calling) {
  if (calling.is_cancelled()) return false;
  const JobKind kind = calling.modern ? JobKind::task : JobKind::legacy_task;
  Job job;
  job.kind = kind;
  job.tool = calling.tool->name;
  job.call = calling.taken;
  job.caller = calling.caller;
  job.size = calling.size;
  job.status = calling.runs ? Job::Status::running : Job::Status::queued;
  if (calling.wish) job.kept = calling.wish->kept;
  const auto id = jobs_.adopt(std::move(job));
  if (!id) return false;
  calling.task = *id;
  if (calling.session) calling.session->running.erase(calling.id.dump());
  calling.commentary->finish();
  const Job& made = *jobs_.look(*id, kind, *calling.caller);
  Json told = task_told(*id, made, made.began);
  if (calling.modern) {
    told["resultType"] = "task";
    calling.answer(std::move(told));
  } else {
    calling.answer({{"task", std::move(told)}});
  }
  return true;
}

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
  const auto calling = std::make_shared<Calling>();
  calling->tool = service_.find(order.tool, question.caller());
  if (!calling->tool) {
    Refusal unknown{404, "unknown-tool", ""};
    service_.refused(order, unknown);
    question.fail(rpc::kInvalidParams, "unknown tool: " + in_quotes(order.tool), 200);
    return {};
  }
  const Json* parent = question.meta("traceparent");
  const std::string traceparent =
      parent && parent->is_string() ? parent->get<std::string>() : question.origin.traceparent;
  order.trace = Trace::from(traceparent.empty() ? nullptr : &traceparent);
  calling->trace = order.trace.traceparent();
  if (!prepare(question, *calling)) return {};
  return start_call(question, std::move(order), calling);
}

Mcp::Stop Mcp::start_call(Question& question, Order order, const CallingPtr& calling) {
  const bool may_become_task = question.declares_tasks();
  if (calling->wish || may_become_task) calling->size = json_line(order.arguments).size();
  std::optional<Refusal> refusal;
  if (calling->wish && !jobs_.has_room(question.caller(), calling->size)) {
    refusal = Jobs::no_room();
    service_.refused(order, *refusal);
  }
  if (!refusal) {
    auto started = service_.start(std::move(order), hearing_of(calling));
    if (auto* told = std::get_if<Refusal>(&started))
      refusal = std::move(*told);
    else
      calling->taken = std::get<Taken>(std::move(started));
  }
  if (refusal) {
    calling->commentary->finish();
    Json answer = refusal_result(*refusal);
    // Who asked for a task can read nothing but a task, or an error.
    if (calling->wish)
      question.fail(rpc::kInternal, fmt::format("{}: {}", refusal->name, refusal->detail), 200,
                    std::move(answer["_meta"]));
    else
      question.answer(std::move(answer));
    return {};
  }
  if (calling->wish) {
    become_task(*calling);  // there is room: it was looked for
    return {};
  }
  if (calling->session)
    calling->session->running[question.id.dump()] = {calling->taken.number, question.reply, {}};
  // Without room for it the call goes on, and is answered as if there were no tasks.
  if (may_become_task)
    calling->patience = loop_.after(kTaskPatience, [this, weak = std::weak_ptr(calling)] {
      if (const auto held = weak.lock()) become_task(*held);
    });
  return [this, weak = std::weak_ptr(calling)] {
    const auto held = weak.lock();
    if (!held || !held->task.empty()) return;
    held->left = true;
    service_.cancel(held->taken.number, true);
  };
}

}  // namespace brig::serve
