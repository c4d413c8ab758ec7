#include "mcp/mcp_http.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fair_share.h"
#include "base/random.h"
#include "base/text.h"
#include "json/json_line.h"
#include "json/json_text.h"
#include "mcp/mcp_headers.h"
#include "service/problem.h"

namespace brig::serve {
namespace {

constexpr std::size_t kMostSessions = 10'000, kMostOfOne = 2000;
// Digits.
constexpr std::size_t kMostEnded = 1000, kSessionId = 32;
constexpr std::chrono::hours kIdle{1};
// Until an answer that has not come becomes a stream. In a session soon: a stream can be resumed.
constexpr std::chrono::seconds kPatience{5}, kPatienceInSession{1}, kKeepAlive{15};

void answer(Exchange& exchange, const Json& message, unsigned status,
            std::vector<Header> headers = {}) {
  exchange.respond({status, "application/json", json_line(message), std::move(headers)});
}

// JSON, if the answer is all there is to say; a stream of events if something comes before it, or
// it takes long.
class HttpReply final : public McpReply {
 public:
  // `open`: makes a stream that the client can come back to; null where there are none.
  using Open = std::function<McpStreamPtr()>;
  HttpReply(Loop& loop, ExchangePtr exchange, std::vector<Header> headers, Open open = {})
      : exchange_(std::move(exchange)), headers_(std::move(headers)), open_(std::move(open)) {
    streams_ = exchange_->request.accepts("text/event-stream");
    if (streams_)
      timer_ = loop.after(open_ ? kPatienceInSession : kPatience, [this, &loop] {
        begin();
        if (stream_) return timer_.reset();
        timer_ = loop.every(kKeepAlive, [this] { exchange_->write(": keep-alive\n\n"); });
      });
  }

  bool can_notify() const override { return streams_; }
  void notify(const Json& message) override {
    if (!streams_ || (!stream_ && exchange_->answered())) return;
    begin();
    if (stream_) return stream_->notify(message);
    if (exchange_->unsent() > kMostUntaken) return;
    exchange_->write(sse_event("message", json_line(message)));
  }
  void answer_text(const Json& id, std::string line, unsigned status) override {
    timer_.reset();
    if (!exchange_->request.accepts("application/json")) begin();
    if (stream_) return stream_->finish(id, std::move(line));
    if (!exchange_->begun())
      return exchange_->respond({status, "application/json", std::move(line), headers_});
    exchange_->write(sse_event("message", line));
    exchange_->end();
  }
  void close() override {
    timer_.reset();
    begin();
    if (stream_) return stream_->finish(nullptr, "");
    exchange_->end();
  }

 private:
  void begin() {
    if (stream_ || exchange_->begun()) return;
    if (open_) stream_ = open_();
    if (stream_) return stream_->attach(exchange_, headers_);
    exchange_->begin(sse_head(headers_));
  }

  const ExchangePtr exchange_;
  const std::vector<Header> headers_;
  const Open open_;
  McpStreamPtr stream_;
  bool streams_ = false;
  Loop::Timer timer_;
};

// The stream of notifications that no request asked for.
class ListenReply final : public McpReply {
 public:
  explicit ListenReply(ExchangePtr exchange) : exchange_(std::move(exchange)) {}
  void send(const Json& message, const std::string& id) {
    if (!exchange_->answered() && exchange_->unsent() <= kMostUntaken)
      exchange_->write(sse_event("message", json_line(message), id));
  }
  void notify(const Json& message) override { send(message, ""); }
  void answer_text(const Json&, std::string, unsigned) override {}
  void close() override { exchange_->end(); }
  void keep_alive(Loop& loop) {
    timer_ = loop.every(kKeepAlive, [this] { exchange_->write(": keep-alive\n\n"); });
  }

 private:
  const ExchangePtr exchange_;
  Loop::Timer timer_;
};

// As brig makes them: nothing else is taken for one.
bool is_session_id(const std::string& id) {
  return id.size() == kSessionId && id.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool is_request(const Json& message) {
  return message.contains("method") && message.contains("id");
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

McpHttp::McpHttp(Mcp& mcp) : mcp_(mcp), streams_(mcp.loop()), list_("list-" + random_hex(8)) {
  timer_ = mcp.loop().every(std::chrono::seconds(30), [this] { expire(); });
  watch_ = mcp.service().on_tools_changed([this] { tools_changed(); });
}

void McpHttp::handle(const ExchangePtr& exchange, const CallerPtr& caller) {
  const std::string& method = exchange->request.method;
  if (method == "POST") return post(exchange, caller);
  if (method == "GET" && exchange->request.header("mcp-session-id")) return get(exchange, caller);
  if (method == "DELETE" && exchange->request.header("mcp-session-id"))
    return remove(exchange, caller);
  Response response = problem(405, "", "Use POST, or send Mcp-Session-Id.");
  response.headers.push_back({"Allow", "POST"});
  exchange->respond(std::move(response));
}

void McpHttp::post(const ExchangePtr& exchange, const CallerPtr& caller) {
  Request& request = exchange->request;
  if (!request.is_json())
    return exchange->respond(problem(415, "", "Content-Type must be application/json"));
  if (!request.accepts("application/json") && !request.accepts("text/event-stream"))
    return exchange->respond(
        problem(406, "", "Accept must allow application/json or text/event-stream"));
  std::string fault;
  auto message = json_taken_from(std::move(request.body), fault);
  if (!message)
    return answer(*exchange, rpc::error(nullptr, rpc::kParse, json_refusal("not JSON: ", fault)),
                  400);
  if (message->is_array()) return batch(exchange, caller, std::move(*message));
  if (const auto wrong = shape_fault(*message)) return answer(*exchange, *wrong, 400);
  const std::string* version = request.header("mcp-protocol-version");
  if (version_in(*message) || (version && *version == kModern))
    return modern(exchange, caller, std::move(*message));
  if (version && !is_legacy_version(*version))
    return answer(*exchange,
                  rpc::error(id_of(*message), rpc::kUnsupportedVersion,
                             "MCP-Protocol-Version: unsupported version.",
                             {{"supported", spoken_versions()}, {"requested", *version}}),
                  400);
  legacy(exchange, caller, std::move(*message));
}

void McpHttp::modern(const ExchangePtr& exchange, const CallerPtr& caller, Json message) {
  if (!is_request(message)) return exchange->respond({202, "", "", {}});
  const auto mismatch = [&](const std::string& why) {
    answer(*exchange, rpc::error(message["id"], rpc::kHeaderMismatch, why), 400);
  };
  McpOrigin origin = origin_of(*exchange, caller);
  if (const Json* said = version_in(message)) {
    const std::string* header = exchange->request.header("mcp-protocol-version");
    if (!header || *said != *header)
      return mismatch("MCP-Protocol-Version names another version than the body's _meta");
    const auto name = message.contains("params") ? message["params"].find("name") : message.end();
    if (message["method"] == "tools/call" && name != message["params"].end() && name->is_string())
      origin.found = mcp_.service().find(name->get<std::string>(), *caller);
    // Of a version that is not known nothing else is.
    if (*said == kModern)
      if (const auto why = header_mismatch(exchange->request, message, origin.found.tool.get()))
        return mismatch(*why);
  }
  const auto reply = std::make_shared<HttpReply>(mcp_.loop(), exchange, std::vector<Header>{});
  // Who leaves does not want it any more.
  if (auto stop = mcp_.request(std::move(message), McpEra::modern, origin, reply))
    exchange->on_gone(std::move(stop));
}

void McpHttp::legacy(const ExchangePtr& exchange, const CallerPtr& caller, Json message) {
  McpOrigin origin = origin_of(*exchange, caller);
  std::vector<Header> headers;
  if (message.contains("method") && message["method"] == "initialize" && is_request(message)) {
    origin.session = make_session(caller, random_hex(kSessionId / 2));
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
  // Who leaves may still want it to be done: only a notification cancels.
  mcp_.request(std::move(message), McpEra::legacy, origin,
               reply_to(exchange, origin.session, std::move(headers)));
}

McpReplyPtr McpHttp::reply_to(const ExchangePtr& exchange, const McpSessionPtr& session,
                              std::vector<Header> headers) {
  return std::make_shared<HttpReply>(mcp_.loop(), exchange, std::move(headers),
                                     [this, session] { return streams_.open(session); });
}

void McpHttp::batch(const ExchangePtr& exchange, const CallerPtr& caller, Json messages) {
  McpOrigin origin = origin_of(*exchange, caller);
  if (exchange->request.header("mcp-session-id")) {
    origin.session = session_of(*exchange, caller, nullptr);
    if (!origin.session) return;
  }
  if (const auto wrong = batch_fault(messages, origin.session.get()))
    return answer(*exchange, *wrong, 400);
  if (!mcp_.batch(std::move(messages), origin, reply_to(exchange, origin.session)))
    exchange->respond({202, "", "", {}});
}

McpSessionPtr McpHttp::session_of(Exchange& exchange, const CallerPtr& caller, const Json& id) {
  const std::string* given = exchange.request.header("mcp-session-id");
  if (!given) {
    answer(exchange,
           rpc::error(id, rpc::kInvalidRequest, "Mcp-Session-Id is missing: initialize first."),
           400);
    return nullptr;
  }
  const Key key{caller.get(), *given};
  McpSessionPtr session;
  if (const auto found = sessions_.find(key); found != sessions_.end()) {
    session = found->second;
  } else if (is_session_id(*given) && exchange.request.method != "DELETE" &&
             std::find(ended_.begin(), ended_.end(), key) == ended_.end()) {
    session = make_session(caller, *given);
    if (session) {
      const std::string* version = exchange.request.header("mcp-protocol-version");
      session->version = version && is_legacy_version(*version) ? *version : kWithBatches;
      session->ready = true;
    }
  }
  if (!session) {
    answer(exchange,
           rpc::error(id, rpc::kInvalidRequest, "Unknown session. Send initialize again."), 404);
    return nullptr;
  }
  session->used = std::chrono::steady_clock::now();
  return session;
}

McpSessionPtr McpHttp::make_session(const CallerPtr& caller, std::string id) {
  // Whoever has its share loses the one that was not used for longest: others do not.
  const std::size_t own = caller->holds.sessions;
  if (own >= kMostOfOne || (caller->alone ? sessions_.size() >= kMostSessions
                                          : !is_fair(own, 1, sessions_.size(), kMostSessions))) {
    auto oldest = sessions_.end();
    for (auto each = sessions_.lower_bound({caller.get(), ""});
         each != sessions_.end() && each->first.first == caller.get(); ++each)
      if (each->second->running.empty() &&
          (oldest == sessions_.end() || each->second->used < oldest->second->used))
        oldest = each;
    if (oldest == sessions_.end()) return nullptr;
    forget(oldest);
  }
  auto session = std::make_shared<McpSession>();
  session->id = std::move(id);
  session->caller = caller;
  session->used = std::chrono::steady_clock::now();
  sessions_.emplace(Key{caller.get(), session->id}, session);
  ++caller->holds.sessions;
  return session;
}

McpHttp::Sessions::iterator McpHttp::forget(Sessions::iterator session) {
  --session->second->caller->holds.sessions;
  streams_.forget(*session->second);
  return sessions_.erase(session);
}

// Notifications that no request asked for; or, with the id of an event, the rest of an answer whose
// stream was lost.
void McpHttp::get(const ExchangePtr& exchange, const CallerPtr& caller) {
  if (!exchange->request.accepts("text/event-stream"))
    return exchange->respond(problem(406, "", "Accept must allow text/event-stream."));
  const auto session = session_of(*exchange, caller, nullptr);
  if (!session) return;
  const std::string* last = exchange->request.header("last-event-id");
  if (!last || last->starts_with("list-")) return listen(exchange, session);
  std::uint64_t number = 0;
  const McpStreamPtr stream = streams_.find(*session, *last, number);
  if (!stream)
    return exchange->respond(
        problem(404, "", "Last-Event-ID: that stream is not kept any more; make the call again."));
  stream->attach(exchange, {}, number);
}

void McpHttp::tools_changed() {
  ++changes_;
  const Json changed = rpc::notification("notifications/tools/list_changed", Json::object());
  const auto all = listeners_;
  for (const McpReplyPtr& each : all) static_cast<ListenReply&>(*each).send(changed, list_id());
}

void McpHttp::listen(const ExchangePtr& exchange, const McpSessionPtr& session) {
  const auto reply = std::make_shared<ListenReply>(exchange);
  exchange->begin(sse_head());
  exchange->write(": welcome\n\n");
  const std::string* last = exchange->request.header("last-event-id");
  if (last && *last != list_id())
    reply->send(rpc::notification("notifications/tools/list_changed", Json::object()), list_id());
  else if (session->version >= kLatestLegacy)  // an id to come back with
    exchange->write("id: " + list_id() + "\ndata:\n\n");
  reply->keep_alive(mcp_.loop());
  listeners_.insert(reply);
  const std::string key = "GET " + random_hex(8);
  session->running[key] = {0, reply, [this, reply] { listeners_.erase(reply); }};
  exchange->on_gone([this, session, key, reply] {
    listeners_.erase(reply);
    session->running.erase(key);
  });
}

void McpHttp::remove(const ExchangePtr& exchange, const CallerPtr& caller) {
  const auto session = session_of(*exchange, caller, nullptr);
  if (!session) return;
  const Key key{caller.get(), session->id};
  forget(sessions_.find(key));
  ended_.push_back(key);
  if (ended_.size() > kMostEnded) ended_.pop_front();
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
