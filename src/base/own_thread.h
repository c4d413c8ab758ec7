// OwnThread: a thread of brig's. They are counted, since a process may be forked for its functions only
// while all of its threads but the caller's are known to hold no lock that these could need.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

namespace brig {

class OwnThread {
 public:
  OwnThread() = default;
  // Throws std::system_error, as std::thread does.
  explicit OwnThread(std::function<void()> work) {
    ++running;
    try {
      thread_ = std::thread([work = std::move(work)]() mutable {
        work();
        work = nullptr;
        --running;  // not when it is joined: until then it could stand for one that is not brig's
      });
    } catch (...) {
      --running;
      throw;
    }
  }
  OwnThread(OwnThread&&) = default;
  OwnThread& operator=(OwnThread&&) = default;

  bool is_this() const { return thread_.get_id() == std::this_thread::get_id(); }
  bool joinable() const { return thread_.joinable(); }
  void join() { thread_.join(); }

  static int count() { return running; }

 private:
  inline static std::atomic<int> running{0};
  std::thread thread_;
};

}  // namespace brig
