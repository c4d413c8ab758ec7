#include "http/sse.h"

#include "json/json_line.h"
#include "sandbox/event_json.h"

namespace brig::serve {
namespace {

constexpr std::chrono::seconds kKeepAlive{15};
constexpr std::size_t kMostUnsent = std::size_t{1} << 20;

}  // namespace

SseStream::SseStream(Loop& loop, ExchangePtr exchange, std::vector<Header> headers)
    : exchange_(std::move(exchange)) {
  exchange_->begin(sse_head(std::move(headers)));
  keep_alive_ = loop.every(kKeepAlive, [weak = std::weak_ptr<Exchange>(exchange_)] {
    if (const auto stream = weak.lock()) stream->write(": keep-alive\n\n");
  });
}

void SseStream::send(std::string_view name, const std::string& data, bool must) {
  if (!must && exchange_->unsent() > kMostUnsent) {
    ++lost_;
    return;
  }
  if (lost_ > 0) {
    Event lost;
    lost.kind = Event::Kind::lost;
    lost.at = std::chrono::system_clock::now();
    lost.dropped = std::exchange(lost_, 0);
    exchange_->write(sse_event("lost", json_line(json_of(lost)), std::to_string(next_id_++)));
  }
  exchange_->write(sse_event(name, data, std::to_string(next_id_++)));
}

void SseStream::send(std::string_view name, const Json& data, bool must) {
  send(name, json_line(data), must);
}

}  // namespace brig::serve
