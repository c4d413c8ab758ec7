// Admission: decides which call may run. A bounded number of calls runs at once, and a bounded
// queue waits behind them. Callers take turns (round robin), so one with many calls can't starve
// another with few. A caller that shares leaves some places free, so another finds one even while
// all of its calls take long.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace brig {

// Thread-safe. Every admitted call must be followed by one leave().
class Admission {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Verdict { admitted, overloaded, timeout, cancelled };
  // Called once, on the thread that decides. It must not call back into this object, except
  // leave().
  using Decide = std::function<void(Verdict)>;

  Admission(unsigned concurrency, unsigned queue) : concurrency_(concurrency), queue_(queue) {}

  struct Caller {
    // A caller with a name has a share of the queue (is_fair) and can't fill it; one without a name
    // may use all of it.
    std::string name;
    // The caller has a share of the places too: some stay free for callers that come later.
    bool shares = false;
  };

  // Asks for a turn; `decide` may be called at once. Returns a ticket for cancel(). `owner` is for
  // close().
  std::uint64_t enter(const Caller& caller, Clock::time_point deadline, Decide decide,
                      const void* owner = nullptr);
  // Takes a turn at once, if there is room for this caller and none of its calls waits.
  bool try_enter(const Caller& caller);
  // A call of that caller is over: admits the next ones, if any wait.
  void leave(const Caller& caller);
  // Cancels a call that still waits. False if it doesn't wait any more.
  bool cancel(std::uint64_t ticket);
  // Ends the wait of calls whose deadline has passed. Returns when to ask again.
  Clock::time_point expire(Clock::time_point now);
  // Cancels all waiting calls of that owner.
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
  // Takes the next call to be admitted; false if there is none, or no room.
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
