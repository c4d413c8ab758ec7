#include "sandbox/watchers.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <utility>

#include "base/error.h"
#include "base/own_thread.h"
#include "os/event.h"

namespace brig {

const char* to_string(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::tool_added: return "tool_added";
    case Event::Kind::tool_removed: return "tool_removed";
    case Event::Kind::tool_updated: return "tool_updated";
    case Event::Kind::queued: return "queued";
    case Event::Kind::started: return "started";
    case Event::Kind::output: return "output";
    case Event::Kind::progress: return "progress";
    case Event::Kind::finished: return "finished";
    case Event::Kind::lost: return "lost";
  }
  return "unknown";
}

class Watchers::Buffered : public Watch {
 public:
  explicit Buffered(std::size_t buffer) : buffer_(std::max<std::size_t>(buffer, 1)) {}

  void push(const std::shared_ptr<const Event>& event) {
    const std::lock_guard lock(mutex_);
    if (events_.size() >= buffer_) {
      ++dropped_;
      return;
    }
    events_.emplace_back(event, dropped_);
    dropped_ = 0;
    arrived_.notify_one();
    if (readable_ && events_.size() == 1) signal_event(readable_);
  }

  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    arrived_.notify_all();
    if (readable_) signal_event(readable_);
  }

  int descriptor() override {
    const std::lock_guard lock(mutex_);
    if (!readable_) {
      readable_ = make_event();
      if (!readable_) throw_sys("watch: eventfd");
      if (ended_ || dropped_ || !events_.empty()) signal_event(readable_);
    }
    return readable_.get();
  }

  std::optional<Event> next(std::chrono::milliseconds patience) override {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, patience, [&] { return ended_ || !events_.empty() || dropped_; });
    if (readable_ && !ended_ && events_.size() + (dropped_ > 0) <= 1) clear_event(readable_);
    if (events_.empty() && !dropped_) return std::nullopt;
    if (events_.empty()) {
      // There may never be another event that could carry the count.
      Event lost;
      lost.kind = Event::Kind::lost;
      lost.at = std::chrono::system_clock::now();
      lost.dropped = std::exchange(dropped_, 0);
      return lost;
    }
    auto [event, dropped] = std::move(events_.front());
    events_.pop_front();
    lock.unlock();
    Event copy = *event;
    copy.dropped = dropped;
    return copy;
  }

  bool ended() const override {
    const std::lock_guard lock(mutex_);
    return ended_ && events_.empty() && !dropped_;
  }

 private:
  const std::size_t buffer_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::pair<std::shared_ptr<const Event>, std::uint64_t>> events_;
  std::uint64_t dropped_ = 0;
  bool ended_ = false;
  // Made by descriptor().
  UniqueFd readable_;
};

void Watchers::publish(Event event) {
  if (!any()) return;
  event.at = std::chrono::system_clock::now();
  const auto shared = std::make_shared<const Event>(std::move(event));
  const std::lock_guard lock(mutex_);
  std::erase_if(list_, [&](const std::weak_ptr<Buffered>& each) {
    const auto watcher = each.lock();
    if (watcher) watcher->push(shared);
    return !watcher;
  });
  count_ = list_.size();
}

std::shared_ptr<Watchers::Buffered> Watchers::make(std::size_t buffer) {
  auto made = std::make_shared<Buffered>(buffer);
  const std::lock_guard lock(mutex_);
  list_.push_back(made);
  count_ = list_.size();
  return made;
}

std::shared_ptr<Watch> Watchers::watch(std::size_t buffer) { return make(buffer); }

std::shared_ptr<void> Watchers::watch(std::function<void(const Event&)> callback,
                                      std::size_t buffer) {
  struct Delivery {
    std::shared_ptr<Buffered> watch;
    OwnThread thread;
    ~Delivery() {
      watch->end();
      thread.join();
    }
  };
  auto delivery = std::make_shared<Delivery>();
  delivery->watch = make(buffer);
  delivery->thread = OwnThread([watch = delivery->watch.get(), callback = std::move(callback)] {
    while (!watch->ended())
      if (const auto event = watch->next(std::chrono::hours(24))) callback(*event);
  });
  return delivery;
}

void Watchers::end() {
  const std::lock_guard lock(mutex_);
  for (const auto& each : list_)
    if (const auto watcher = each.lock()) watcher->end();
  list_.clear();
  count_ = 0;
}

}  // namespace brig
