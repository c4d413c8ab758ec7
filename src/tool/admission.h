// Admission: which call may run. A bounded number at once, a bounded queue behind them, and turns:
// callers are served round robin, so that one with many calls can't starve another with few.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace brig {

// Thread-safe. Every ticket that was admitted must be given back by leave().
class Admission {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Verdict { admitted, overloaded, timeout, cancelled };
  // Called once, in whichever thread decides; must not call back into this, but for leave().
  using Decide = std::function<void(Verdict)>;

  Admission(unsigned concurrency, unsigned queue) : concurrency_(concurrency), queue_(queue) {}

  // Asks for a turn; `decide` may be called at once. The ticket is for cancel(). A caller with a name has a share of the queue
  // (is_fair), so that one can't fill it; without one, all of it.
  std::uint64_t enter(const std::string& caller, Clock::time_point deadline, Decide decide);
  // A turn at once, if there is room; nobody waits then.
  bool try_enter();
  // A call is over: the next one, if there is one.
  void leave();
  // One that still waits. False if it doesn't.
  bool cancel(std::uint64_t ticket);
  // Those whose deadline has passed while they waited; when to ask again.
  Clock::time_point expire(Clock::time_point now);
  // All that wait are cancelled.
  void close();

  unsigned running() const;
  unsigned waiting() const;

 private:
  struct Entry {
    std::uint64_t ticket;
    Clock::time_point deadline;
    Decide decide;
  };
  bool has_room(const std::string& caller) const;
  // The next to be admitted, if there is room.
  bool next(Decide& decide);
  template <typename Predicate>
  std::deque<Decide> take_if(Predicate predicate, bool all);

  const unsigned concurrency_, queue_;
  mutable std::mutex mutex_;
  std::map<std::string, std::deque<Entry>> waiting_;
  std::deque<std::string> turns_;  // callers that wait, next first
  unsigned running_ = 0, waiting_count_ = 0;
  std::uint64_t next_ticket_ = 1;
};

}  // namespace brig
