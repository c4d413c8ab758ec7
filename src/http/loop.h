// Loop: the one thread of the server. All that the server does happens on it, one thing after the other, so
// that nothing here needs a lock; what other threads have to say is posted to it.
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

  // Until stop(). What a job throws is a defect: `on_defect` is told, and what else there is to do goes on. Without one it
  // comes out here.
  void run(const std::function<void(const std::exception&)>& on_defect = {});
  // From any thread.
  void stop();
  void post(std::function<void()> job);

  // Only on the loop's thread, or before run().
  // Once, after that time; not at all if the handle has gone by then.
  using Timer = std::shared_ptr<void>;
  [[nodiscard]] Timer after(std::chrono::milliseconds time, std::function<void()> job);
  [[nodiscard]] Timer every(std::chrono::milliseconds time, std::function<void()> job);
  // Whenever `fd` is readable, until the handle goes, which must be before `fd` does. `job` reads what is there.
  [[nodiscard]] std::shared_ptr<void> when_readable(int fd, std::function<void()> job);
  // The process's signals come here instead.
  void on_signal(const std::vector<int>& signals, std::function<void(int)> job);

  struct Impl;  // for http_server.cc
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace brig::serve
