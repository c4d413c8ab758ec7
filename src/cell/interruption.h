// Whether who waits for a call still wants it, asked at the right moments.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>

namespace brig {

// A signal that comes during a wait ends it, and the question is asked at once. A signal that comes just
// before the wait, or that another thread handles, ends none: so it is asked now and then as well.
class Interruption {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kEvery{100};

  explicit Interruption(std::function<bool()> asked) : asked_(std::move(asked)) {}

  // How long to wait, where `left` is the longest.
  Clock::duration wait(Clock::duration left) const {
    return asked_ ? std::min<Clock::duration>(left, kEvery) : left;
  }
  // After each wait, with what poll returned (errno is looked at if that is -1): true if it is to end.
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
