// McpStreams: the answers that were begun as event streams, for clients of the session era that
// lose their connection. Each event has an id; a GET with Last-Event-ID gets what came after it,
// and what is still to come. A stream belongs to its session, and a session to its caller. What is
// kept is bounded for each stream, each caller and in all, and goes two minutes after the answer.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/http.h"
#include "mcp/mcp.h"

namespace brig::serve {

// Of all callers together: each has a share (is_fair).
struct McpStreamLimits {
  std::chrono::seconds kept{120};              // after the answer
  std::size_t count = 4096;                    // streams
  std::size_t notices = std::size_t{1} << 20;  // bytes of one stream before its answer
  std::size_t bytes = std::size_t{64} << 20;   // of all streams
};

class McpStreams;

// The events of one answer, and the connection that takes them now, if there is one.
class McpStream : public std::enable_shared_from_this<McpStream> {
 public:
  McpStream(McpStreams& owner, Loop& loop, McpSessionPtr session);

  // Begins the exchange's answer and sends all that came after the event of that number. A
  // connection that had it before loses it.
  void attach(const ExchangePtr& exchange, const std::vector<Header>& headers,
              std::uint64_t after = 0);
  void notify(const Json& message);
  // The last message, which answers the request of that id, or is null; none if `line` is empty.
  void finish(const Json& request, std::string line);

  const std::string id;
  const McpSessionPtr session;

 private:
  friend class McpStreams;
  struct Kept {
    std::uint64_t number;
    std::string data;
  };
  void keep(std::string data);
  void drop_oldest();
  void write(const Kept& event);
  std::string event_id(std::uint64_t number) const { return id + "-" + std::to_string(number); }

  // Null: it is not kept any more.
  McpStreams* owner_;
  Loop& loop_;
  ExchangePtr exchange_;
  Loop::Timer keep_alive_;
  std::deque<Kept> kept_;
  std::size_t bytes_ = 0;
  std::uint64_t next_ = 1;
  bool over_ = false;
  std::chrono::steady_clock::time_point ended_;
};
using McpStreamPtr = std::shared_ptr<McpStream>;

class McpStreams {
 public:
  explicit McpStreams(Loop& loop, McpStreamLimits limits = {});
  ~McpStreams();
  McpStreams(const McpStreams&) = delete;
  McpStreams& operator=(const McpStreams&) = delete;

  // Null: the caller has its share; the answer is then a stream that can't be resumed.
  McpStreamPtr open(const McpSessionPtr& session);
  // The stream of an event id that `session` was given, and the event's number. Null: it has none
  // such.
  McpStreamPtr find(const McpSession& session, std::string_view event_id,
                    std::uint64_t& number) const;
  // All of a session that has ended.
  void forget(const McpSession& session);

  // Forgets what is too old; the loop does so every ten seconds.
  void expire(std::chrono::steady_clock::time_point now);

  std::size_t count() const { return streams_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  friend class McpStream;
  struct Share {
    std::size_t count = 0, bytes = 0;
  };
  using Streams = std::map<std::string, McpStreamPtr>;
  // Whether that much more is the caller's to keep; to make room, its own streams go that have
  // ended, the oldest first.
  bool make_room(const CallerPtr& caller, std::size_t bytes);
  bool drop_oldest_ended_of(const CallerPtr& caller);
  Streams::iterator forget(Streams::iterator stream);

  Loop& loop_;
  const McpStreamLimits limits_;
  Streams streams_;
  std::map<CallerPtr, Share> shares_;
  std::size_t bytes_ = 0;
  Loop::Timer timer_;
};

}  // namespace brig::serve
