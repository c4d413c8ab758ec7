// SseStream: an answer of server-sent events that stays open. Comments keep it alive. A client that
// is too slow loses events, and receives their number, rather than the connection.
#pragma once

#include <brig/json.h>

#include <string>

#include "http/http.h"
#include "http/loop.h"

namespace brig::serve {

class SseStream {
 public:
  // Begins the answer.
  SseStream(Loop& loop, ExchangePtr exchange, std::vector<Header> headers = {});

  // `must`: the event is sent however much is unsent.
  void send(std::string_view name, const std::string& data, bool must = false);
  void send(std::string_view name, const Json& data, bool must = false);
  void end() { exchange_->end(); }
  Exchange& exchange() { return *exchange_; }

 private:
  const ExchangePtr exchange_;
  Loop::Timer keep_alive_;
  std::uint64_t next_id_ = 1, lost_ = 0;
};

}  // namespace brig::serve
