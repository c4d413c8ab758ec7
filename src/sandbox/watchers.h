// Watchers: hands events to every Watch of a Sandbox. It never waits for one of them.
#pragma once

#include <brig/watch.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace brig {

class Watchers {
 public:
  ~Watchers() { end(); }

  // Whether there may be a Watch, so that it is worth putting an event together.
  bool any() const { return count_ > 0; }
  void publish(Event event);
  std::shared_ptr<Watch> watch(std::size_t buffer);
  std::shared_ptr<void> watch(std::function<void(const Event&)> callback, std::size_t buffer);
  // Ends every Watch, once the events that it holds have been read.
  void end();

 private:
  class Buffered;
  std::shared_ptr<Buffered> make(std::size_t buffer);
  std::mutex mutex_;
  std::vector<std::weak_ptr<Buffered>> list_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace brig
