#include "mcp/mcp_tasks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/time_text.h"
#include "json/json_line.h"
#include "mcp/mcp_request.h"

namespace brig::serve {
namespace {

using std::chrono::milliseconds;

// A client should ask again after half of the time that the call has taken so far: so it does not
// wait long for the result of a short call, and does not ask often about a long one.
constexpr milliseconds kShortestPoll{100}, kLongestPoll{2000};
// How many requests for the result of one task may wait for its end.
constexpr std::size_t kMostWaiting = 4;
constexpr std::chrono::hours kLongestResultWait{24};

milliseconds age_of(const Job& job, std::chrono::steady_clock::time_point now) {
  const auto end = job.status == Job::Status::done ? job.ended : now;
  return std::chrono::duration_cast<milliseconds>(end - job.began);
}

// In 2025-11-25 a task is cancelled as soon as the client asks for that, and has failed if its
// result is an error. In 2026-07-28 it is cancelled when nothing of it runs any more, and `failed`
// is for errors of the protocol, which no tool can cause.
const char* status_of(const Job& job) {
  const bool legacy = job.kind == JobKind::legacy_task;
  const bool done = job.status == Job::Status::done;
  if (done ? job.was_cancelled || (legacy && job.asked_to_end) : legacy && job.asked_to_end)
    return "cancelled";
  if (!done) return "working";
  return legacy && job.has_failed ? "failed" : "completed";
}

std::string message_of(const Job& job) {
  if (job.status == Job::Status::done) return job.message;
  if (job.asked_to_end) return "The call is being ended.";
  if (!job.message.empty()) return job.message;
  return job.status == Job::Status::queued ? "The call is waiting for its turn."
                                           : "The call is running.";
}

}  // namespace

bool declares_tasks(const Json* client_capabilities) {
  if (!client_capabilities || !client_capabilities->is_object()) return false;
  const auto extensions = client_capabilities->find("extensions");
  if (extensions == client_capabilities->end() || !extensions->is_object()) return false;
  const auto tasks = extensions->find(kTasksExtension);
  return tasks != extensions->end() && tasks->is_object();
}

std::optional<TaskWish> task_wish_of(const Json& task) {
  if (!task.is_object()) return {};
  const auto ttl = task.find("ttl");
  if (ttl == task.end() || ttl->is_null()) return TaskWish{};
  if (!ttl->is_number()) return {};
  const double wanted = ttl->get<double>();
  if (!(wanted >= 0)) return {};
  // Nothing is kept for longer than a day.
  constexpr double kDay = 86'400'000;
  return TaskWish{milliseconds(std::max(1LL, static_cast<long long>(std::min(wanted, kDay))))};
}

Json task_json(const std::string& id, const Job& job, std::chrono::steady_clock::time_point now) {
  const bool legacy = job.kind == JobKind::legacy_task;
  const milliseconds age = age_of(job, now);
  Json task_form{{"taskId", id}, {"status", status_of(job)}};
  if (const std::string message = message_of(job); !message.empty())
    task_form["statusMessage"] = message;
  task_form["createdAt"] = time_text(job.created);
  task_form["lastUpdatedAt"] = time_text(job.changed);
  // The protocol counts it from the creation. A task is kept while it runs, and for `kept` after
  // its end.
  task_form[legacy ? "ttl" : "ttlMs"] = (age + job.kept).count();
  task_form[legacy ? "pollInterval" : "pollIntervalMs"] =
      std::clamp(age / 2, kShortestPoll, kLongestPoll).count();
  return task_form;
}

// tasks/get and tasks/cancel; tasks/update in 2026-07-28, tasks/result in 2025-11-25.
Mcp::Stop Mcp::ask_task(Request& request) {
  const std::string& method = request.method;
  const bool known = method == "tasks/get" || method == "tasks/cancel" ||
                     method == (request.modern ? "tasks/update" : "tasks/result");
  if (!known || !request.has_tasks()) {
    request.fail(rpc::kUnknownMethod, fmt::format("no such method: {}", in_quotes(method)), 404);
    return {};
  }
  if (request.modern && !request.declares_tasks()) {
    request.fail_without_tasks();
    return {};
  }
  const auto id = request.params.find("taskId");
  if (id == request.params.end() || !id->is_string()) {
    request.fail(rpc::kInvalidParams, "taskId must be a string");
    return {};
  }
  const Job* job = is_short_text(*id) ? jobs_.look(id->get_ref<const std::string&>(),
                                                   request.task_kind(), request.caller())
                                      : nullptr;
  // The answer is the same for a task of another caller, one that has expired, and one that never
  // existed.
  if (!job) {
    Refusal unknown{404, "unknown-job", ""};
    service_.refused(request.call_request(), unknown);
    request.fail(rpc::kInvalidParams, "No such task: it does not exist, or it is no longer kept.",
                 200);
    return {};
  }
  const std::string task = id->get<std::string>();
  if (method == "tasks/result") return answer_result(request, task);
  if (method == "tasks/cancel") {
    cancel_task(request, task, *job);
  } else if (method == "tasks/update") {
    // Tasks never ask for input, so there is no question that this could answer.
    const auto responses = request.params.find("inputResponses");
    if (responses == request.params.end() || !responses->is_object())
      request.fail(rpc::kInvalidParams, "inputResponses must be an object");
    else
      request.answer(Json::object());
  } else {
    Json task_form = task_json(task, *job, std::chrono::steady_clock::now());
    if (!request.modern || task_form["status"] != "completed") {
      request.answer(std::move(task_form));
      return {};
    }
    task_form["resultType"] = "complete";
    std::string text = json_line(task_form);
    text.back() = ',';
    text.append("\"result\":").append(job->result).append("}");
    request.reply->answer_text(request.id, rpc::result_line(request.id, text));
  }
  return {};
}

void Mcp::cancel_task(Request& request, const std::string& task, const Job& job) {
  const bool over = job.status == Job::Status::done || (!request.modern && job.asked_to_end);
  if (over && !request.modern)
    return request.fail(rpc::kInvalidParams,
                        fmt::format("The task can't be cancelled: it is {}.", status_of(job)));
  jobs_.end(task);
  request.answer(request.modern ? Json::object()
                                : task_json(task, job, std::chrono::steady_clock::now()));
}

// Waits for the end of the task, and answers as tools/call would have.
Mcp::Stop Mcp::answer_result(Request& request, const std::string& task) {
  const McpSessionPtr session = request.origin.session;
  const auto answer = [this, task, session, id = request.id, reply = request.reply,
                       caller = request.origin.caller] {
    session->running.erase(id.dump());
    const Job* job = jobs_.look(task, JobKind::legacy_task, *caller);
    if (!job || job->status != Job::Status::done)
      return reply->answer(
          rpc::error(id, rpc::kInternal, "The task has not ended yet; ask again."));
    reply->answer_text(id, rpc::result_line(id, job->result));
  };
  const Job* job = jobs_.look(task, JobKind::legacy_task, request.caller());
  // The oldest one may belong to a lost connection.
  if (job->waiting.size() >= kMostWaiting) jobs_.wake_oldest(task);
  const std::uint64_t key = jobs_.wait(task, kLongestResultWait, answer);
  if (key == 0) return {};
  session->running[request.id.dump()] = {0, request.reply, {}};
  return [this, task, key] { jobs_.stop_waiting(task, key); };
}

}  // namespace brig::serve
