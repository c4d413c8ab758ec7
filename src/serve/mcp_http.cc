#include "serve/mcp_http.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fair_share.h"
#include "base/random.h"
#include "base/text.h"
#include "serve/json_line.h"
#include "serve/mcp_headers.h"
#include "serve/problem.h"
#include "tool/json_text.h"

namespace brig::serve {
namespace {

constexpr std::size_t kMostSessions = 10'000, kMostOfOne = 2000;
constexpr std::chrono::hours kIdle{1};
constexpr std::chrono::seconds kPatience{5}, kKeepAlive{15};

void answer(Exchange& exchange, const Json& message, unsigned status,
            std::vector<Header> headers = {}) {
  exchange.respond({status, "application/json", json_line(message), std::move(headers)});
}

// JSON, if the answer is all there is to say; a stream of events if something comes before it, or it takes long.
class HttpReply final : public McpReply {
 public:
  HttpReply(Loop& loop, ExchangePtr exchange, std::vector<Header> headers)
      : exchange_(std::move(exchange)), headers_(std::move(headers)) {
    streams_ = exchange_->request.accepts("text/event-stream");
    if (streams_)
      timer_ = loop.after(kPatience, [this, &loop] {
        begin();
        timer_ = loop.every(kKeepAlive, [this] { exchange_->write(": keep-alive\n\n"); });
      });
  }

  bool can_notify() const override { return streams_; }
  void notify(const Json& message) override {
    if (!streams_ || exchange_->answered() || exchange_->unsent() > kMostUntaken) return;
    begin();
    exchange_->write(sse_event("message", json_line(message)));
  }
  void answer(const Json& message, unsigned status) override {
    timer_.reset();
    if (!exchange_->request.accepts("application/json")) begin();
    if (!exchange_->begun())
      return exchange_->respond({status, "application/json", json_line(message), headers_});
    exchange_->write(sse_event("message", json_line(message)));
    exchange_->end();
  }
  void close() override {
    timer_.reset();
    begin();
    exchange_->end();
  }

 private:
  void begin() {
    if (exchange_->begun()) return;
    Response head;
    head.type = "text/event-stream";
    head.headers = headers_;
    head.headers.push_back({"Cache-Control", "no-store"});
    head.headers.push_back({"X-Accel-Buffering", "no"});
    exchange_->begin(std::move(head));
  }

  const ExchangePtr exchange_;
  const std::vector<Header> headers_;
  bool streams_ = false;
  Loop::Timer timer_;
};

bool is_request(const Json& message) {
  return message.contains("method") && message.contains("id");
}

const Json* version_in(const Json& message) {
  const auto params = message.find("params");
  if (params == message.end() || !params->is_object()) return nullptr;
  const auto meta = params->find("_meta");
  if (meta == params->end() || !meta->is_object()) return nullptr;
  const auto found = meta->find("io.modelcontextprotocol/protocolVersion");
  return found == meta->end() ? nullptr : &*found;
}

Json id_of(const Json& message) {
  const auto found = message.find("id");
  return found == message.end() ? Json() : *found;
}

McpOrigin origin_of(const Exchange& exchange, const CallerPtr& caller) {
  McpOrigin origin;
  origin.caller = caller;
  origin.peer = exchange.request.peer;
  if (const std::string* trace = exchange.request.header("traceparent"))
    origin.traceparent = *trace;
  return origin;
}

}  // namespace

McpHttp::McpHttp(Mcp& mcp) : mcp_(mcp) {
  timer_ = mcp.loop().every(std::chrono::seconds(30), [this] { expire(); });
}

void McpHttp::handle(const ExchangePtr& exchange, const CallerPtr& caller) {
  const std::string& method = exchange->request.method;
  if (method == "POST") return post(exchange, caller);
  if (method == "GET" && exchange->request.header("mcp-session-id"))
    return listen(exchange, caller);
  if (method == "DELETE" && exchange->request.header("mcp-session-id"))
    return remove(exchange, caller);
  Response response = problem(405, "", "here one POSTs, or has a session");
  response.headers.push_back({"Allow", "POST"});
  exchange->respond(std::move(response));
}

void McpHttp::post(const ExchangePtr& exchange, const CallerPtr& caller) {
  Request& request = exchange->request;
  if (!request.is_json())
    return exchange->respond(problem(415, "", "the body of a message is application/json"));
  if (!request.accepts("application/json") && !request.accepts("text/event-stream"))
    return exchange->respond(problem(406, "", "answers are application/json or text/event-stream"));
  std::string fault;
  auto message = json_taken_from(std::move(request.body), fault);
  if (!message)
    return answer(*exchange, rpc::error(nullptr, rpc::kParse, json_refusal("not JSON: ", fault)),
                  400);
  if (const auto wrong = shape_fault(*message)) return answer(*exchange, *wrong, 400);
  const std::string* version = request.header("mcp-protocol-version");
  if (version_in(*message) || (version && *version == kModern))
    return modern(exchange, caller, std::move(*message));
  if (version && !is_legacy_version(*version) && *version != "2025-03-26")
    return answer(
        *exchange,
        rpc::error(
            id_of(*message), rpc::kUnsupportedVersion, "MCP-Protocol-Version: not spoken here",
            {{"supported", {kModern, kLatestLegacy, "2025-06-18"}}, {"requested", *version}}),
        400);
  legacy(exchange, caller, std::move(*message));
}

void McpHttp::modern(const ExchangePtr& exchange, const CallerPtr& caller, Json message) {
  if (!is_request(message)) return exchange->respond({202, "", "", {}});
  const auto mismatch = [&](const std::string& why) {
    answer(*exchange, rpc::error(message["id"], rpc::kHeaderMismatch, why), 400);
  };
  if (const Json* said = version_in(message)) {
    const std::string* header = exchange->request.header("mcp-protocol-version");
    if (!header || *said != *header)
      return mismatch("MCP-Protocol-Version does not say what the body's _meta says");
    const auto name = message.contains("params") ? message["params"].find("name") : message.end();
    std::shared_ptr<const Tool> tool;
    if (message["method"] == "tools/call" && name != message["params"].end() && name->is_string())
      tool = mcp_.service().find(name->get<std::string>(), *caller);
    // Of a version that is not known nothing else is.
    if (*said == kModern)
      if (const auto why = header_mismatch(exchange->request, message, tool.get()))
        return mismatch(*why);
  }
  const auto reply = std::make_shared<HttpReply>(mcp_.loop(), exchange, std::vector<Header>{});
  // Who leaves does not want it any more.
  if (auto stop = mcp_.request(std::move(message), origin_of(*exchange, caller), reply))
    exchange->on_gone(std::move(stop));
}

void McpHttp::legacy(const ExchangePtr& exchange, const CallerPtr& caller, Json message) {
  McpOrigin origin = origin_of(*exchange, caller);
  std::vector<Header> headers;
  if (message.contains("method") && message["method"] == "initialize" && is_request(message)) {
    origin.session = make_session(caller);
    if (!origin.session)
      return exchange->respond(problem(
          {503, "too-many-sessions", "too many sessions; end some", std::chrono::seconds(30)}));
    headers.push_back({"Mcp-Session-Id", origin.session->id});
  } else {
    origin.session = session_of(*exchange, caller, id_of(message));
    if (!origin.session) return;
  }
  if (!is_request(message)) {
    if (message.contains("method")) mcp_.notification(message, origin);
    return exchange->respond({202, "", "", {}});
  }
  const auto reply = std::make_shared<HttpReply>(mcp_.loop(), exchange, std::move(headers));
  // Who leaves may still want it to be done: only a notification cancels.
  mcp_.request(std::move(message), origin, reply);
}

McpSessionPtr McpHttp::session_of(Exchange& exchange, const CallerPtr& caller, const Json& id) {
  const std::string* given = exchange.request.header("mcp-session-id");
  if (!given) {
    answer(exchange,
           rpc::error(id, rpc::kInvalidRequest, "Mcp-Session-Id is missing: initialize first"),
           400);
    return nullptr;
  }
  const auto found = sessions_.find(*given);
  if (found == sessions_.end() || found->second->caller != caller) {
    answer(exchange,
           rpc::error(id, rpc::kInvalidRequest, "there is no such session: initialize anew"), 404);
    return nullptr;
  }
  found->second->used = std::chrono::steady_clock::now();
  return found->second;
}

McpSessionPtr McpHttp::make_session(const CallerPtr& caller) {
  // Whoever has its share loses the one that was not used for longest: others do not.
  const std::size_t own = caller->holds.sessions;
  if (own >= kMostOfOne || (caller->alone ? sessions_.size() >= kMostSessions
                                          : !is_fair(own, 1, sessions_.size(), kMostSessions))) {
    auto oldest = sessions_.end();
    for (auto each = sessions_.begin(); each != sessions_.end(); ++each)
      if (each->second->caller == caller && each->second->running.empty() &&
          (oldest == sessions_.end() || each->second->used < oldest->second->used))
        oldest = each;
    if (oldest == sessions_.end()) return nullptr;
    forget(oldest);
  }
  auto session = std::make_shared<McpSession>();
  session->id = random_hex(16);
  session->caller = caller;
  session->used = std::chrono::steady_clock::now();
  sessions_.emplace(session->id, session);
  ++caller->holds.sessions;
  return session;
}

McpHttp::Sessions::iterator McpHttp::forget(Sessions::iterator session) {
  --session->second->caller->holds.sessions;
  return sessions_.erase(session);
}

// The stream of what is told without being asked.
void McpHttp::listen(const ExchangePtr& exchange, const CallerPtr& caller) {
  if (!exchange->request.accepts("text/event-stream"))
    return exchange->respond(problem(406, "", "what is here is a text/event-stream"));
  const auto session = session_of(*exchange, caller, nullptr);
  if (!session) return;
  const auto reply = std::make_shared<HttpReply>(mcp_.loop(), exchange, std::vector<Header>{});
  Response head;
  head.type = "text/event-stream";
  head.headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}};
  exchange->begin(std::move(head));
  exchange->write(": welcome\n\n");
  const auto held =
      std::make_shared<std::shared_ptr<void>>(mcp_.service().on_tools_changed([reply, session] {
        session->used = std::chrono::steady_clock::now();
        reply->notify(rpc::notification("notifications/tools/list_changed", Json::object()));
      }));
  const std::string key = "GET " + random_hex(8);
  session->running[key] = {0, reply, {}};
  exchange->on_gone([held, session, key] {
    held->reset();
    session->running.erase(key);
  });
}

void McpHttp::remove(const ExchangePtr& exchange, const CallerPtr& caller) {
  const auto session = session_of(*exchange, caller, nullptr);
  if (!session) return;
  forget(sessions_.find(session->id));
  mcp_.end(*session);
  session->running.clear();
  exchange->respond({204, "", "", {}});
}

void McpHttp::expire() {
  const auto old = std::chrono::steady_clock::now() - kIdle;
  for (auto each = sessions_.begin(); each != sessions_.end();)
    each =
        each->second->running.empty() && each->second->used < old ? forget(each) : std::next(each);
}

}  // namespace brig::serve
