// What a Service records of its calls: lines of the audit log, and the list of calls that have
// ended.
#include <algorithm>

#include "base/text.h"
#include "base/time_text.h"
#include "cell/report_json.h"
#include "json/json_line.h"
#include "sandbox/event_json.h"
#include "service/old_names.h"
#include "service/service.h"

namespace brig::serve {
namespace {

// Of a request, in a line of the audit log.
constexpr std::size_t kLongestPath = 200;
// Bytes: arguments in a line of the audit log; what is kept of a call that has ended.
constexpr std::size_t kMostInAudit = 64 * 1024, kMostOutputKept = 2 * 1024,
                      kMostOfACall = 16 * 1024;
constexpr int kMostViolationsKept = 20;

}  // namespace

Json Service::line_of(const char* event, const CallRequest& request) {
  Json line{{"event", event},
            {"at", time_text(std::chrono::system_clock::now())},
            {"call_id", request.call_id.substr(0, kLongestCallId)},
            {"caller", request.caller->name},
            {"peer", request.peer},
            {"via", request.via},
            {"tool", request.tool.substr(0, kLongestWord)}};
  for (const char* unknown : {"call_id", "tool"})
    if (line[unknown].get_ref<const std::string&>().empty()) line.erase(unknown);
  return line;
}

// If the server ends during a call, this line is all that is left of it.
std::string Service::start_line(const CallRequest& request, const std::string& hash) const {
  Json line = line_of("start", request);
  line["arguments_sha256"] = hash;
  if (Json shown = shown_arguments(request.arguments, options_.arguments, kMostInAudit);
      !shown.is_null())
    line["arguments"] = std::move(shown);
  line["span"] = {{"trace_id", request.trace.trace_id}, {"span_id", request.trace.span_id}};
  if (!request.trace.parent_id.empty()) line["span"]["parent_id"] = request.trace.parent_id;
  return json_line(line);
}

void Service::refused(const CallRequest& request, Refusal& refusal) {
  metrics_.refused(refusal.name);
  Json line = line_of("refused", request);
  line["status"] = refusal.status;
  line["why"] = refusal.name;
  refusals_.note(request.caller->name, request.peer, line);
  refusal.noted = true;
}

void Service::refused(const Answered& answer) {
  if (answer.noted || !answer.request) return;
  switch (answer.status) {
    case 401:
    case 403:
    case 404:
    case 409:
    case 415:
    case 422:
    case 429:
    case 503: break;
    default: return;
  }
  const Request& request = *answer.request;
  // The name comes from a fixed list: the client does not word the reason.
  if (!answer.problem.empty()) metrics_.refused(std::string(answer.problem).c_str());
  Json line{{"event", "refused"},
            {"at", time_text(std::chrono::system_clock::now())},
            {"peer", request.peer},
            {"via", "http"},
            {"method", request.method.substr(0, kLongestWord)},
            {"path", request.path.substr(0, kLongestPath)},
            {"status", answer.status}};
  if (answer.caller) line["caller"] = answer.caller->name;
  if (!answer.problem.empty()) line["why"] = std::string(answer.problem);
  refusals_.note(answer.caller ? answer.caller->name : "", request.peer, line);
}

void Service::record(const ActiveCall& call, const ToolResult& result) {
  const Report& report = result.report;
  Json line{{"event", "end"},
            {"at", time_text(std::chrono::system_clock::now())},
            {"started_at", time_text(call.summary.since)},
            {"call_id", call.summary.call_id},
            {"caller", call.caller->name},
            {"peer", call.peer},
            {"via", call.via},
            {"tool", call.summary.tool},
            {"arguments_sha256", call.arguments_hash},
            {"outcome", to_string(report.outcome)},
            {"duration_ms", milliseconds_of(result.duration)},
            {"stdout_bytes", report.out.total},
            {"stderr_bytes", report.err.total},
            {"usage", json_of(report.usage)},
            {"steps", json_of(report.steps)},
            {"span", {{"trace_id", call.trace.trace_id}, {"span_id", call.trace.span_id}}}};
  if (!call.trace.parent_id.empty()) line["span"]["parent_id"] = call.trace.parent_id;
  if (!report.violations.empty()) line["violations"] = json_of(report.violations);
  // Where these stood before 0.2; until 0.3.
  add_old_names(line);
  for (const char* stream : {"stdout_bytes", "stderr_bytes"}) {
    Json old = line[stream];
    line["usage"][stream] = std::move(old);
  }
  line["span"].update(line["steps"]);
  audit_.write(json_line(line));
}

void Service::keep(const ActiveCall& call, const ToolResult& result) {
  Json data = Json::object();
  add_end(data, result);
  add_old_names(data);
  data["call_id"] = call.summary.call_id;
  data["tool"] = call.summary.tool;
  data["caller"] = call.summary.caller;
  data["started_at"] = time_text(call.summary.since);
  data["ended_at"] = time_text(std::chrono::system_clock::now());
  if (!call.summary.arguments.is_null()) data["arguments"] = call.summary.arguments;
  const auto add_end = [&](const char* name, const std::string& bytes) {
    std::string_view end = bytes;
    end.remove_prefix(end.size() - std::min(end.size(), kMostOutputKept));
    end.remove_prefix(utf8_cut_at_start(end));
    if (!end.empty() && is_valid_utf8(end)) data[name] = std::string(end);
  };
  add_end("stdout_end", result.report.out.bytes);
  add_end("stderr_end", result.report.err.bytes);
  std::string text = json_line(data);
  // A long message, or many violations.
  if (text.size() > kMostOfACall) {
    data["message"] = data["message"].get<std::string>().substr(0, kMostOutputKept);
    if (data["violations"].size() > kMostViolationsKept)
      data["violations"].erase(data["violations"].begin() + kMostViolationsKept,
                               data["violations"].end());
    text = json_line(data);
  }
  if (text.size() <= 4 * kMostOfACall) history_.add(call.caller, std::move(text));
}

}  // namespace brig::serve
