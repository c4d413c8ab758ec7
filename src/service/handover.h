// Handover: passes large results from a sandbox's thread to the loop, one at a time. Meanwhile the
// sandbox reads no other result, and a call whose result is not read keeps its place, so only a few
// results can pile up.
#pragma once

#include <brig/json.h>

#include <condition_variable>
#include <memory>
#include <mutex>

namespace brig::serve {

class Handover {
 public:
  // Waits until no other result is on its way. This one is on its way as long as the handle exists.
  // Null after close().
  std::shared_ptr<void> begin() {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return !state_->busy || state_->closed; });
    if (state_->closed) return nullptr;
    state_->busy = true;
    return {state_.get(), [held = state_](State* state) {
              const std::lock_guard ended(state->mutex);
              state->busy = false;
              state->changed.notify_one();
            }};
  }
  // Ends all waiting: the loop does not run any more and receives nothing.
  void close() {
    const std::lock_guard lock(state_->mutex);
    state_->closed = true;
    state_->changed.notify_all();
  }

  // Whether there are so many values that their text is long. A sandbox reads such a result on a
  // thread of its own, which may wait here; the thread for short results must not wait. Long
  // strings take no more memory than their text.
  static bool is_for(const Json& value) {
    std::size_t left = kFew;
    return !has_few(value, left);
  }

 private:
  // Each is two bytes of text at least.
  static constexpr std::size_t kFew = 128 * 1024;
  static bool has_few(const Json& value, std::size_t& left) {
    if (!value.is_structured()) return true;
    if (value.size() > left) return false;
    left -= value.size();
    for (const Json& each : value)
      if (!has_few(each, left)) return false;
    return true;
  }

  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool busy = false, closed = false;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace brig::serve
