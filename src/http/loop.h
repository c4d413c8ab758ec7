// Loop: the one thread of the server. Everything that the server does happens on it, one thing
// after the other, so nothing here needs a lock. Other threads post jobs to it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace brig::serve {

class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs until stop(). An exception from a job is a defect: it goes to `on_defect`, and the loop
  // goes on. Without `on_defect` it leaves run().
  void run(const std::function<void(const std::exception&)>& on_defect = {});
  // From any thread.
  void stop();
  void post(std::function<void()> job);

  // The rest: only on the loop's thread, or before run().
  // Calls `job` once, after that time; not at all if the handle has gone by then.
  using Timer = std::shared_ptr<void>;
  [[nodiscard]] Timer after(std::chrono::milliseconds time, std::function<void()> job);
  [[nodiscard]] Timer every(std::chrono::milliseconds time, std::function<void()> job);
  // Calls `job`, which reads what is there, whenever `fd` is readable. The handle ends this, and
  // must go before `fd` does.
  [[nodiscard]] std::shared_ptr<void> when_readable(int fd, std::function<void()> job);
  // From now on, signals of the process come to `job`.
  void on_signal(const std::vector<int>& signals, std::function<void(int)> job);

  // For http_server.cc.
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace brig::serve
