// Asks a waiting caller, at the right moments, whether it still wants the call.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>

namespace brig {

// A signal that comes during a wait ends the wait, and this asks at once. A signal that comes just
// before the wait, or that another thread handles, does not end it. So this also asks from time to
// time.
class Interruption {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kEvery{100};

  explicit Interruption(std::function<bool()> asked) : asked_(std::move(asked)) {}

  // How long to wait, at most `left`.
  Clock::duration wait(Clock::duration left) const {
    return asked_ ? std::min<Clock::duration>(left, kEvery) : left;
  }
  // To be called after each wait, with poll's result; it reads errno if that is -1. True if the
  // call is to end.
  bool came(int polled) {
    if (!asked_) return false;
    const auto now = Clock::now();
    if (!(polled < 0 && errno == EINTR) && now < next_) return false;
    next_ = now + kEvery;
    return asked_();
  }

 private:
  std::function<bool()> asked_;
  Clock::time_point next_ = Clock::now() + kEvery;
};

}  // namespace brig
