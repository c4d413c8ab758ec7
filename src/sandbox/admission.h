// Admission: which call may run. A bounded number at once, a bounded queue behind them, and turns:
// callers are served round robin, so that one with many calls can't starve another with few; and one that shares
// leaves places free, so that another finds one even while all of its calls take long.
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

  struct Caller {
    // Who has one has a share of the queue (is_fair), so that none can fill it; without one, all of it.
    std::string name;
    // Has a share of the places, too: some stay free for callers that come later.
    bool shares = false;
  };

  // Asks for a turn; `decide` may be called at once. The ticket is for cancel(), `owner` for close().
  std::uint64_t enter(const Caller& caller, Clock::time_point deadline, Decide decide,
                      const void* owner = nullptr);
  // A turn at once, if there is room for this caller, and none of its calls waits.
  bool try_enter(const Caller& caller);
  // A call of that caller is over: the next ones, if there are any.
  void leave(const Caller& caller);
  // One that still waits. False if it doesn't.
  bool cancel(std::uint64_t ticket);
  // Those whose deadline has passed while they waited; when to ask again.
  Clock::time_point expire(Clock::time_point now);
  // All of that owner's that wait are cancelled.
  void close(const void* owner = nullptr);

  unsigned running() const;
  unsigned waiting() const;

 private:
  struct Entry {
    std::uint64_t ticket;
    bool shares;
    Clock::time_point deadline;
    Decide decide;
    const void* owner;
  };
  bool may_wait(const std::string& caller) const;
  bool may_run(const std::string& caller, bool shares) const;
  void begin(const std::string& caller);
  // The next to be admitted, if there is room.
  bool next(Decide& decide);
  template <typename Predicate>
  std::deque<Decide> take_if(Predicate predicate, bool all);

  const unsigned concurrency_, queue_;
  mutable std::mutex mutex_;
  std::map<std::string, std::deque<Entry>> waiting_;
  std::deque<std::string> turns_;               // callers that wait, next first
  std::map<std::string, unsigned> running_of_;  // callers with a name
  unsigned running_ = 0, waiting_count_ = 0;
  std::uint64_t next_ticket_ = 1;
};

}  // namespace brig
