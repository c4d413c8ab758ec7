// OwnThread: a thread of brig's own, and a count of them. A process may be copied for its C++
// functions only while it has no other threads than the caller's and brig's own: those hold no lock
// that the functions could need.
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
        // Here and not in join(): between the two, the count would hide a thread that is not
        // brig's.
        --running;
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

  // How many threads of brig's own this process has.
  static int count() { return running; }

 private:
  inline static std::atomic<int> running{0};
  std::thread thread_;
};

}  // namespace brig
