#include "mcp/mcp_streams.h"

#include <charconv>

#include "base/fair_share.h"
#include "base/random.h"
#include "json/json_line.h"

namespace brig::serve {
namespace {

constexpr std::chrono::seconds kStreamAlive{15};
// Hexadecimal digits.
constexpr std::size_t kStreamId = 32;

}  // namespace

McpStream::McpStream(McpStreams& owner, Loop& loop, McpSessionPtr of)
    : id(random_hex(kStreamId / 2)), session(std::move(of)), owner_(&owner), loop_(loop) {}

void McpStream::attach(const ExchangePtr& exchange, const std::vector<Header>& headers,
                       std::uint64_t after) {
  if (const ExchangePtr before = std::exchange(exchange_, nullptr)) before->end();
  exchange->begin(sse_head(headers));
  // So that the client has an id to come back with. Older versions do not expect an event without a
  // message.
  if (after == 0 && session->version >= kLatestLegacy)
    exchange->write("id: " + event_id(0) + "\ndata:\n\n");
  exchange_ = exchange;
  for (const Kept& each : kept_)
    if (each.number > after) write(each);
  if (over_) {
    exchange_.reset();
    return exchange->end();
  }
  exchange->on_gone([weak = weak_from_this(), raw = exchange.get()] {
    const auto self = weak.lock();
    if (!self || self->exchange_.get() != raw) return;
    self->exchange_.reset();
    self->keep_alive_.reset();
  });
  keep_alive_ = loop_.every(kStreamAlive, [this] {
    if (exchange_) exchange_->write(": keep-alive\n\n");
  });
}

void McpStream::write(const Kept& event) {
  if (exchange_) exchange_->write(sse_event("message", event.data, event_id(event.number)));
}

void McpStream::notify(const Json& message) {
  if (over_) return;
  if (exchange_ && exchange_->unsent() > McpReply::kMostUntaken) return;
  std::string data = json_line(message);
  while (owner_ && !kept_.empty() && bytes_ + data.size() > owner_->limits_.notices) drop_oldest();
  keep(std::move(data));
}

void McpStream::finish(const Json& request, std::string line) {
  if (std::exchange(over_, true)) return;
  const bool answers = !line.empty();
  if (answers) keep(std::move(line));
  // It was sent if somebody was there; who comes for it later must not wait for it.
  const bool kept = !kept_.empty() && kept_.back().number + 1 == next_;
  if (answers && !kept && owner_ && !request.is_null())
    kept_.push_back(
        {next_++, json_line(rpc::error(
                      request, rpc::kInternal,
                      "The answer was too large to keep for a client that had disconnected; "
                      "make the call again."))});
  ended_ = std::chrono::steady_clock::now();
  keep_alive_.reset();
  if (const ExchangePtr last = std::exchange(exchange_, nullptr)) last->end();
}

void McpStream::keep(std::string data) {
  Kept event{next_, std::move(data)};
  write(event);
  if (!owner_ || !owner_->make_room(session->caller, event.data.size())) {
    // Lost, as any notification may be.
    if (!over_) ++next_;
    return;
  }
  ++next_;
  bytes_ += event.data.size();
  owner_->bytes_ += event.data.size();
  owner_->shares_[session->caller].bytes += event.data.size();
  kept_.push_back(std::move(event));
}

void McpStream::drop_oldest() {
  const std::size_t size = kept_.front().data.size();
  bytes_ -= size;
  owner_->bytes_ -= size;
  owner_->shares_[session->caller].bytes -= size;
  kept_.pop_front();
}

McpStreams::McpStreams(Loop& loop, McpStreamLimits limits) : loop_(loop), limits_(limits) {
  timer_ =
      loop.every(std::chrono::seconds(10), [this] { expire(std::chrono::steady_clock::now()); });
}

McpStreams::~McpStreams() {
  for (const auto& [id, stream] : streams_) stream->owner_ = nullptr;
}

McpStreamPtr McpStreams::open(const McpSessionPtr& session) {
  const CallerPtr& caller = session->caller;
  while (caller->alone ? streams_.size() >= limits_.count
                       : !is_fair(shares_[caller].count, 1, streams_.size(), limits_.count))
    if (!drop_oldest_ended_of(caller)) {
      if (shares_[caller].count == 0) shares_.erase(caller);
      return nullptr;
    }
  auto stream = std::make_shared<McpStream>(*this, loop_, session);
  streams_.emplace(stream->id, stream);
  ++shares_[caller].count;
  return stream;
}

McpStreamPtr McpStreams::find(const McpSession& session, std::string_view event_id,
                              std::uint64_t& number) const {
  if (event_id.size() < kStreamId + 2 || event_id[kStreamId] != '-') return nullptr;
  const std::string_view digits = event_id.substr(kStreamId + 1);
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (fault != std::errc() || end != digits.data() + digits.size()) return nullptr;
  const auto found = streams_.find(std::string(event_id.substr(0, kStreamId)));
  if (found == streams_.end() || found->second->session.get() != &session) return nullptr;
  return found->second;
}

bool McpStreams::make_room(const CallerPtr& caller, std::size_t bytes) {
  const auto fits = [&] {
    return caller->alone ? bytes <= limits_.bytes && bytes_ <= limits_.bytes - bytes
                         : is_fair(shares_[caller].bytes, bytes, bytes_, limits_.bytes);
  };
  while (!fits())
    if (!drop_oldest_ended_of(caller)) return false;
  return true;
}

bool McpStreams::drop_oldest_ended_of(const CallerPtr& caller) {
  auto oldest = streams_.end();
  for (auto each = streams_.begin(); each != streams_.end(); ++each)
    if (each->second->over_ && each->second->ended_ != std::chrono::steady_clock::time_point{} &&
        each->second->session->caller == caller &&
        (oldest == streams_.end() || each->second->ended_ < oldest->second->ended_))
      oldest = each;
  if (oldest == streams_.end()) return false;
  forget(oldest);
  return true;
}

McpStreams::Streams::iterator McpStreams::forget(Streams::iterator stream) {
  McpStream& gone = *stream->second;
  const auto share = shares_.find(gone.session->caller);
  bytes_ -= gone.bytes_;
  share->second.bytes -= gone.bytes_;
  if (--share->second.count == 0) shares_.erase(share);
  gone.owner_ = nullptr;
  return streams_.erase(stream);
}

void McpStreams::forget(const McpSession& session) {
  for (auto each = streams_.begin(); each != streams_.end();)
    each = each->second->session.get() == &session ? forget(each) : std::next(each);
}

void McpStreams::expire(std::chrono::steady_clock::time_point now) {
  const auto old = now - limits_.kept;
  for (auto each = streams_.begin(); each != streams_.end();)
    each = each->second->over_ && each->second->ended_ < old ? forget(each) : std::next(each);
}

}  // namespace brig::serve
