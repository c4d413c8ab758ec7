#include "serve/api.h"

#include <brig/capabilities.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "base/time_text.h"
#include "http/sse.h"
#include "sandbox/event_json.h"
#include "serve/embedded.h"
#include "service/old_names.h"
#include "service/problem.h"
#include "service/run_request.h"
#include "tool/tool_formats.h"

namespace brig::serve {
namespace {

constexpr std::chrono::seconds kLongestWait{60};
constexpr std::size_t kMostEnded = 1000;

Response not_found() { return problem(404, "", "this path does not exist"); }

// Answers a method that the path does not have. `others`: methods that were checked before.
bool is_method(Exchange& exchange, std::string_view allowed, std::string_view others = "") {
  const std::string& method = exchange.request.method;
  if (method == allowed || (allowed == "GET" && method == "HEAD")) return true;
  Response response =
      problem(405, "", fmt::format("method not allowed; use {}{}", allowed, others));
  response.headers.push_back(
      {"Allow", fmt::format("{}{}{}", allowed, allowed == "GET" ? ", HEAD" : "", others)});
  exchange.respond(std::move(response));
  return false;
}

CallRequest request_of(const ExchangePtr& exchange, const CallerPtr& caller, const char* via) {
  CallRequest request;
  request.caller = caller;
  request.peer = exchange->request.peer;
  request.via = via;
  request.trace = Trace::from(exchange->request.header("traceparent"));
  return request;
}

// Takes a member of that type from a body; answers if the member has another type.
bool take(Exchange& exchange, Json& body, const char* key, Json::value_t type, Json& value) {
  const auto found = body.find(key);
  if (found == body.end()) return true;
  if (found->type() != type) {
    exchange.respond(
        problem(422, "invalid-arguments",
                fmt::format("{}: expected {}", key,
                            type == Json::value_t::string ? "a string" : "an object")));
    return false;
  }
  value = std::move(*found);
  body.erase(found);
  return true;
}

bool nothing_else(Exchange& exchange, const Json& body) {
  if (body.empty()) return true;
  exchange.respond(
      problem(422, "invalid-arguments", "unknown member " + in_quotes(body.begin().key())));
  return false;
}

}  // namespace

std::optional<Response> problem_of(const ToolResult& result) {
  switch (result.report.outcome) {
    case Outcome::unknown_tool: return problem(404, "unknown-tool", result.error);
    case Outcome::invalid_arguments:
      return problem(422,
                     result.error.starts_with("limits.") && result.error.ends_with(" of the policy")
                         ? "wider-policy"
                         : "invalid-arguments",
                     result.error);
    case Outcome::overloaded:
      return problem({503, "overloaded", result.error, std::chrono::seconds(1)});
    default: return {};
  }
}

void Api::handle(const ExchangePtr& exchange, const CallerPtr& caller) {
  std::vector<std::string> parts;
  // "/v1".
  std::string_view rest = std::string_view(exchange->request.path).substr(3);
  while (rest.starts_with('/')) {
    rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find('/'), rest.size());
    auto part = percent_decoded(rest.substr(0, end));
    if (!part || parts.size() == 4) return exchange->respond(not_found());
    parts.push_back(std::move(*part));
    rest.remove_prefix(end);
  }
  const auto is = [&](std::size_t count, std::string_view first) {
    return parts.size() == count && parts[0] == first;
  };
  Exchange& e = *exchange;
  if (is(1, "tools")) {
    if (is_method(e, "GET")) list_tools(exchange, caller);
  } else if (is(3, "tools") && parts[2] == "call") {
    if (is_method(e, "POST")) call_tool(exchange, caller, parts[1]);
  } else if (is(1, "run")) {
    if (is_method(e, "POST")) run(exchange, caller);
  } else if (is(1, "calls")) {
    if (is_method(e, "GET")) list_calls(exchange, caller);
  } else if (is(2, "calls")) {
    if (is_method(e, "DELETE")) cancel_call(exchange, caller, parts[1]);
  } else if (is(1, "jobs") && e.request.method == "POST") {
    submit_job(exchange, caller);
  } else if (is(1, "jobs")) {
    if (is_method(e, "GET", ", POST")) e.respond(json_response({{"jobs", jobs_.list(*caller)}}));
  } else if (is(2, "jobs") && e.request.method == "DELETE") {
    remove_job(exchange, caller, parts[1]);
  } else if (is(2, "jobs")) {
    if (is_method(e, "GET", ", DELETE")) show_job(exchange, caller, parts[1]);
  } else if (is(1, "capabilities")) {
    if (is_method(e, "GET")) show_capabilities(exchange);
  } else if (is(1, "status")) {
    if (is_method(e, "GET")) e.respond(json_response(status_(*caller)));
  } else if (is(1, "openapi.json")) {
    if (is_method(e, "GET")) e.respond({200, "application/json", std::string(openapi_text()), {}});
  } else {
    e.respond(not_found());
  }
}

// The machine does not change, and probing takes a while: another thread does it, once.
void Api::show_capabilities(const ExchangePtr& exchange) {
  const auto answer = [this, exchange] {
    exchange->respond({200, "application/json", capabilities_, {}});
  };
  if (!capabilities_.empty()) return answer();
  std::function<void()> job = [this, answer] {
    std::string found = to_json(probe());
    loop_.post([this, answer, found = std::move(found)] {
      capabilities_ = found;
      answer();
    });
  };
  if (!worker_.post(job))
    exchange->respond(problem(503, "", "Could not start a worker thread; try again."));
}

void Api::list_tools(const ExchangePtr& exchange, const CallerPtr& caller) {
  Json list = Json::array();
  for (const auto& tool :
       service_.tools(*caller, exchange->request.parameter("query").value_or("")))
    list.push_back(tool_as_json(*tool));
  exchange->respond(json_response({{"tools", std::move(list)}}));
}

void Api::call_tool(const ExchangePtr& exchange, const CallerPtr& caller, const std::string& tool) {
  auto body = body_of(*exchange);
  if (!body) return;
  CallRequest request = request_of(exchange, caller, "http");
  request.tool = tool;
  Json id;
  if (!take(*exchange, *body, "arguments", Json::value_t::object, request.arguments) ||
      !take(*exchange, *body, "call_id", Json::value_t::string, id) ||
      !nothing_else(*exchange, *body))
    return;
  if (id.is_string()) request.call_id = id.get<std::string>();
  start(exchange, std::move(request));
}

void Api::run(const ExchangePtr& exchange, const CallerPtr& caller) {
  auto body = body_of(*exchange);
  if (!body) return;
  if (!service_.has_builtins())
    return exchange->respond(
        problem(403, "no-commands",
                "this server does not run commands; its operator can start it with --builtins"));
  CallRequest request = request_of(exchange, caller, "run");
  request.tool = kRunCommand;
  Json id, limits;
  if (!take(*exchange, *body, "call_id", Json::value_t::string, id) ||
      !take(*exchange, *body, "limits", Json::value_t::object, limits))
    return;
  if (id.is_string()) request.call_id = id.get<std::string>();
  if (const std::string fault = read_limits(limits, request.limits); !fault.empty())
    return exchange->respond(problem(422, "invalid-arguments", fault));
  // The tool's own schema checks the rest.
  request.arguments = std::move(*body);
  start(exchange, std::move(request));
}

void Api::start(const ExchangePtr& exchange, CallRequest request) {
  const unsigned json = exchange->request.quality_of("application/json"),
                 events = exchange->request.quality_of("text/event-stream");
  if (json == 0 && events == 0)
    return exchange->respond(
        problem(406, "", "Accept must allow application/json or text/event-stream"));
  if (events > json) return stream(exchange, std::move(request));
  const std::string trace = request.trace.traceparent();
  CallObserver observer;
  observer.on_done = [exchange, trace](const ToolResult& result) {
    Response response = problem_of(result).value_or(Response{});
    response.noted = true;
    if (response.body.empty()) response.body = to_json(result);
    response.headers.push_back({"traceparent", trace});
    exchange->respond(std::move(response));
  };
  auto started = service_.start(std::move(request), std::move(observer));
  if (const auto* refusal = std::get_if<Refusal>(&started))
    return exchange->respond(problem(*refusal));
  // If the client leaves, nothing will read the result.
  exchange->on_gone(
      [this, number = std::get<AcceptedCall>(started).number] { service_.cancel(number, true); });
}

// The stream begins with the first event. Until then, a refused call is answered with a problem
// document.
void Api::stream(const ExchangePtr& exchange, CallRequest request) {
  struct Answer {
    std::vector<Header> headers;
    std::unique_ptr<SseStream> stream;
  };
  const auto out = std::make_shared<Answer>();
  out->headers = {{"traceparent", request.trace.traceparent()}};
  const auto begin = [this, out, exchange] {
    if (!out->stream) out->stream = std::make_unique<SseStream>(loop_, exchange, out->headers);
  };
  CallObserver observer;
  observer.on_event = [out, begin](const Event& event) {
    begin();
    const bool may_be_lost =
        event.kind == Event::Kind::output || event.kind == Event::Kind::progress;
    Json data = json_of(event);
    add_old_names(data);
    out->stream->send(to_string(event.kind), data, !may_be_lost);
  };
  observer.on_done = [out, begin, exchange](const ToolResult& result) {
    if (!out->stream)
      if (auto response = problem_of(result)) {
        response->noted = true;
        return exchange->respond(std::move(*response));
      }
    begin();
    out->stream->send("result", to_json(result), true);
    out->stream->end();
  };
  auto started = service_.start(std::move(request), std::move(observer));
  if (const auto* refusal = std::get_if<Refusal>(&started))
    return exchange->respond(problem(*refusal));
  const AcceptedCall& taken = std::get<AcceptedCall>(started);
  out->headers.push_back({"Brig-Call-Id", taken.call_id});
  exchange->on_gone([this, number = taken.number] { service_.cancel(number, true); });
}

void Api::list_calls(const ExchangePtr& exchange, const CallerPtr& caller) {
  std::size_t ended = 0;
  if (const auto asked = exchange->request.parameter("ended")) {
    const auto [end, fault] = std::from_chars(asked->data(), asked->data() + asked->size(), ended);
    if (fault != std::errc() || end != asked->data() + asked->size() || ended > kMostEnded)
      return exchange->respond(
          problem(422, "invalid-arguments",
                  fmt::format("ended must be a number from 0 to {}", kMostEnded)));
  }
  Json list = Json::array();
  const auto now = std::chrono::system_clock::now();
  for (const CallSummary& call : service_.calls(*caller)) {
    Json form{{"call_id", call.call_id},
              {"tool", call.tool},
              {"caller", call.caller},
              {"status", call.running ? "running" : "queued"},
              {"started_at", time_text(call.since)},
              {"age_ms", std::chrono::duration<double, std::milli>(now - call.since).count()}};
    if (!call.arguments.is_null()) form["arguments"] = call.arguments;
    list.push_back(std::move(form));
  }
  Response response = json_response({{"calls", std::move(list)}});
  if (ended > 0) {
    response.body.pop_back();
    response.body.append(",\"at\":\"").append(time_text(now)).append("\",\"ended\":");
    response.body.append(service_.ended_calls(caller, ended)).append("}");
  }
  exchange->respond(std::move(response));
}

void Api::cancel_call(const ExchangePtr& exchange, const CallerPtr& caller, const std::string& id) {
  switch (service_.cancel(id, *caller, exchange->request.parameter("caller").value_or(""))) {
    case Service::Cancelled::yes:
      return exchange->respond(json_response({{"cancelled", true}}, 202));
    case Service::Cancelled::none:
      return exchange->respond(
          problem(404, "unknown-call", "no call with this call_id is running"));
    case Service::Cancelled::several:
      return exchange->respond(
          problem(409, "several-calls",
                  "several callers have a call with this call_id; choose one with ?caller=NAME"));
  }
}

void Api::submit_job(const ExchangePtr& exchange, const CallerPtr& caller) {
  const std::size_t size = exchange->request.body.size();
  auto body = body_of(*exchange);
  if (!body) return;
  CallRequest request = request_of(exchange, caller, "job");
  Json tool;
  if (!take(*exchange, *body, "tool", Json::value_t::string, tool) ||
      !take(*exchange, *body, "arguments", Json::value_t::object, request.arguments) ||
      !nothing_else(*exchange, *body))
    return;
  if (!tool.is_string())
    return exchange->respond(problem(422, "invalid-arguments", "tool is missing"));
  request.tool = tool.get<std::string>();
  request.found = service_.find(request.tool, *caller);
  if (request.caller->may_call(request.tool) && !request.found)
    return exchange->respond(
        problem(404, "unknown-tool", "unknown tool: " + in_quotes(request.tool)));
  const std::string trace = request.trace.traceparent();
  auto submitted = jobs_.submit(std::move(request), size);
  if (const auto* refusal = std::get_if<Refusal>(&submitted))
    return exchange->respond(problem(*refusal));
  const std::string id = std::get<std::string>(submitted);
  Response response{202, "application/json", jobs_.find(id, *caller).value_or("null"), {}};
  response.headers = {{"Location", "/v1/jobs/" + id}, {"traceparent", trace}};
  exchange->respond(std::move(response));
}

void Api::show_job(const ExchangePtr& exchange, const CallerPtr& caller, const std::string& id) {
  std::chrono::milliseconds time{0};
  if (const auto wait = exchange->request.parameter("wait")) {
    const auto parsed = parse_duration(*wait);
    if (!parsed)
      return exchange->respond(
          problem(422, "invalid-arguments", "wait must be a number of seconds"));
    time = std::min<std::chrono::milliseconds>(*parsed, kLongestWait);
  }
  const auto answer = [this, exchange, caller, id] {
    if (auto job = jobs_.find(id, *caller))
      exchange->respond({200, "application/json", std::move(*job), {}});
    else
      exchange->respond(
          problem(404, "unknown-job", "no such job: it does not exist, or it is no longer kept"));
  };
  if (!jobs_.has(id, *caller)) return answer();
  jobs_.wait(id, time, answer);
}

void Api::remove_job(const ExchangePtr& exchange, const CallerPtr& caller, const std::string& id) {
  switch (jobs_.remove(id, *caller)) {
    case Jobs::Removal::none:
      return exchange->respond(
          problem(404, "unknown-job", "no such job: it does not exist, or it is no longer kept"));
    case Jobs::Removal::cancelled:
      return exchange->respond(
          {202, "application/json", jobs_.find(id, *caller).value_or("null"), {}});
    case Jobs::Removal::forgotten: return exchange->respond({204, "", "", {}});
  }
}

}  // namespace brig::serve
