#include "serve/server.h"

#include <brig/version.h>

#include "base/fair_share.h"
#include "http/sse.h"
#include "serve/embedded.h"
#include "service/problem.h"

namespace brig::serve {
namespace {

constexpr unsigned kMostStreams = 2048;

constexpr const char* kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

bool is_get(Exchange& exchange) {
  if (exchange.request.method == "GET" || exchange.request.method == "HEAD") return true;
  Response response = problem(405, "", "method not allowed; use GET");
  response.headers.push_back({"Allow", "GET, HEAD"});
  exchange.respond(std::move(response));
  return false;
}

// An encoded body would be read as if it were plain.
bool is_plain(Exchange& exchange) {
  const std::string* coding = exchange.request.header("content-encoding");
  if (!coding || lower_case(trimmed(*coding)) == "identity") return true;
  Response response = problem(415, "encoding-not-taken",
                              "encoded bodies are not supported; remove Content-Encoding");
  response.headers.push_back({"Accept-Encoding", "identity"});
  exchange.respond(std::move(response));
  return false;
}

}  // namespace

Server::Server(Loop& loop, Service& service, Tokens& tokens, GateOptions gate, HttpLimits limits)
    : loop_(loop),
      service_(service),
      tokens_(tokens),
      began_(std::chrono::steady_clock::now()),
      gate_(std::move(gate), tokens),
      jobs_(loop, service),
      api_(loop, service, jobs_, [this](const Caller& caller) { return status(caller); }),
      mcp_(loop, service, jobs_),
      mcp_http_(mcp_),
      http_(
          loop, [this](const ExchangePtr& exchange) { return admit(exchange); },
          [this](const ExchangePtr& exchange) { handle(exchange); }, limits,
          [this](const Answered& answer) { note(answer); }) {}

void Server::note(const Answered& answer) {
  service_.refused(answer);
  const Request* request = answer.request;
  service_.metrics().answered(request ? request->method : "", request ? request->path : "",
                              answer.status);
}

void Server::replace_tokens(Tokens next) {
  for (const CallerPtr& gone : tokens_.replace_by(std::move(next))) {
    service_.cancel_all(gone.get());
    service_.forget(*gone);
  }
  http_.drop_if([this](const Request& request) {
    const std::string* authorization = request.header("authorization");
    return authorization && !tokens_.find(authorization);
  });
}

// Requests that need no token need no body either. They are answered here, so the body of a request
// without a token is never read.
bool Server::admit(const ExchangePtr& exchange) {
  const std::string& path = exchange->request.path;
  if (path == "/healthz") {
    const bool draining = service_.draining();
    if (is_get(*exchange))
      exchange->respond(
          json_response({{"status", draining ? "draining" : "ok"}}, draining ? 503 : 200));
    return false;
  }
  if (!gate_.admit(*exchange)) return false;
  if (path == "/" || path.starts_with("/console/")) {
    show_console(*exchange);
    return false;
  }
  exchange->caller = gate_.identify(*exchange);
  return exchange->caller && is_plain(*exchange);
}

void Server::handle(const ExchangePtr& exchange) {
  const std::string& path = exchange->request.path;
  // The token may have been revoked while the body came.
  const CallerPtr caller = gate_.identify(*exchange);
  if (!caller) return;
  if (path == "/mcp")
    mcp_http_.handle(exchange, caller);
  else if (path.starts_with("/v1/"))
    api_.handle(exchange, caller);
  else if (path == "/events")
    show_events(exchange, caller);
  else if (path == "/metrics")
    show_metrics(*exchange, *caller);
  else
    exchange->respond(problem(404, "", "this path does not exist"));
}

void Server::show_console(Exchange& exchange) const {
  if (!is_get(exchange)) return;
  const std::string name =
      exchange.request.path == "/" ? "index.html" : exchange.request.path.substr(9);
  for (const EmbeddedFile& file : console_files()) {
    if (file.name != name) continue;
    const bool packed = exchange.request.takes_encoding("gzip");
    const std::string tag =
        "\"" + hex_of(sha256(file.bytes)).substr(0, 16) + (packed ? "-gzip\"" : "\"");
    Response response{
        200, std::string(file.type), std::string(packed ? file.packed : file.bytes), {}};
    if (exchange.request.knows_tag(tag)) response = {304, "", "", {}};
    response.headers = {{"ETag", tag},
                        {"Vary", "Accept-Encoding"},
                        {"Content-Security-Policy", kContentPolicy},
                        {"Referrer-Policy", "no-referrer"},
                        {"Cache-Control", "no-cache"}};
    if (packed && response.status == 200) response.headers.push_back({"Content-Encoding", "gzip"});
    return exchange.respond(std::move(response));
  }
  exchange.respond(problem(404, "", "this path does not exist"));
}

void Server::show_events(const ExchangePtr& exchange, const CallerPtr& caller) {
  if (!is_get(*exchange)) return;
  if (exchange->request.method == "HEAD")
    return exchange->respond({200, "text/event-stream", "", {}});
  if (caller->alone ? streams_ >= kMostStreams
                    : !is_fair(caller->holds.streams, 1, streams_, kMostStreams))
    return exchange->respond(problem(
        {503, "too-many-streams", "too many event streams are open; close one, or try again later",
         std::chrono::seconds(10)}));
  const auto only = exchange->request.parameter("call_id"),
             of = exchange->request.parameter("caller");
  const auto stream = std::make_shared<SseStream>(loop_, exchange);
  // Both hold the stream, and are released when its client leaves.
  struct Held {
    std::shared_ptr<void> watch;
    Loop::Timer status;
  };
  const auto held = std::make_shared<Held>();
  held->watch = service_.watch([stream, caller, only, of](const Notice& notice) {
    if (!notice.is_for(caller)) return;
    if (only && notice.call_id != *only) return;
    if (of && (!notice.caller || notice.caller->name != *of)) return;
    // A slow watcher loses output and progress of a call, never the call itself.
    stream->send(notice.kind, notice.data, notice.kind != "output" && notice.kind != "progress");
  });
  if (!only && !of) {
    const auto tell = [this, stream, caller] { stream->send("status", status_event(caller)); };
    tell();
    held->status = loop_.every(std::chrono::seconds(1), tell);
  }
  ++streams_;
  ++caller->holds.streams;
  exchange->on_gone([this, held, caller] {
    held->watch.reset();
    held->status.reset();
    --streams_;
    --caller->holds.streams;
  });
}

void Server::show_metrics(Exchange& exchange, const Caller& caller) {
  if (!is_get(exchange)) return;
  const SandboxState state = service_.state();
  const HttpCounts counts = http_.counts();
  Gauges gauges{.ready = state.ready,
                .running = state.running,
                .waiting = state.waiting,
                .connections = counts.connections,
                .streams = streams_,
                .jobs = static_cast<unsigned>(jobs_.size()),
                .http_refused = counts.refused,
                .http_bytes_in = counts.bytes_in,
                .http_bytes_out = counts.bytes_out,
                .audit_failures = service_.audit().failures(),
                .audit_lost = service_.audit().lost(),
                .audit_unwritten = service_.audit().unwritten()};
  // A caller does not see the names of tools that it may not call.
  const auto shows = [&](const std::string& tool) { return caller.admin || caller.may_call(tool); };
  exchange.respond({200,
                    "text/plain; version=0.0.4; charset=utf-8",
                    service_.metrics().text(gauges, shows),
                    {}});
}

const std::string& Server::status_event(const CallerPtr& caller) {
  const auto now = std::chrono::steady_clock::now();
  if (now - status_at_ > std::chrono::milliseconds(500)) {
    status_events_.clear();
    status_at_ = now;
  }
  std::string& text = status_events_[caller];
  if (text.empty()) {
    Json data = status(*caller);
    data["kind"] = "status";
    text = data.dump();
  }
  return text;
}

Json Server::status(const Caller& caller) const {
  const SandboxState state = service_.state();
  return {{"version", BRIG_VERSION},
          {"uptime_s",
           std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count()},
          {"draining", service_.draining()},
          {"tools", service_.tool_count(caller)},
          {"running", state.running},
          {"waiting", state.waiting},
          {"ready", state.ready},
          {"concurrency", service_.concurrency()},
          {"queue", service_.queue()},
          {"calls_total", service_.metrics().calls()},
          {"connections", http_.counts().connections},
          {"sessions", mcp_http_.sessions()},
          {"jobs", jobs_.size()},
          {"builtins", service_.has_builtins()},
          {"arguments", to_string(service_.arguments_shown())},
          {"auth", tokens_.required()}};
}

}  // namespace brig::serve
