// Worker: a thread that does jobs one after the other. The thread starts with the first job. The
// destructor waits until all jobs are done.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/own_thread.h"

namespace brig {

class Worker {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      wake_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }

  // Takes the job and returns true, unless the thread can't be started. The caller's `job` is empty
  // then, so that the caller is never the last owner of what the job holds.
  bool post(std::function<void()>& job) {
    const std::lock_guard lock(mutex_);
    try {
      if (!thread_.joinable()) thread_ = OwnThread([this] { work(); });
    } catch (const std::system_error&) {
      return false;
    }
    jobs_.push_back(std::move(job));
    job = nullptr;
    wake_.notify_one();
    return true;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return ending_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      // Releases what the job held here, and not under the lock.
      job = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool ending_ = false;
  OwnThread thread_;
};

}  // namespace brig
