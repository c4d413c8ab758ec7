// Jobs: calls whose results are kept for a while.
#pragma once

#include <brig/json.h>

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "serve/service.h"

namespace brig::serve {

// Of all callers together: each has a share (is_fair).
struct JobLimits {
  std::chrono::seconds kept{600};                  // after the end
  std::size_t count = 10'000;                      // running and kept
  std::size_t arguments = std::size_t{256} << 20;  // bytes, of those that are not done
  std::size_t bytes = std::size_t{256}
                      << 20;  // of kept results; of the caller that has most, the oldest go first
};

class Jobs {
 public:
  Jobs(Loop& loop, Service& service, JobLimits limits = {});

  // The job's id.
  // `size`: of the request, which is held until the job is done.
  std::variant<std::string, Refusal> submit(Order order, std::size_t size);
  // As JSON text, with the result once it is done; nothing if the caller has no such job.
  std::optional<std::string> find(const std::string& id, const Caller& caller) const;
  bool has(const std::string& id, const Caller& caller) const;
  std::vector<Json> list(const Caller& caller) const;
  // Calls `job` when it is done, or after that time.
  void wait(const std::string& id, std::chrono::milliseconds time, std::function<void()> job);
  enum class Removal { none, cancelled, forgotten };
  Removal remove(const std::string& id, const Caller& caller);
  std::size_t size() const { return jobs_.size(); }

 private:
  struct Job {
    std::string tool;
    Taken call;
    CallerPtr caller;
    std::chrono::system_clock::time_point created;
    enum class Status { queued, running, done } status = Status::queued;
    std::size_t size = 0;
    std::string result;  // JSON
    std::chrono::steady_clock::time_point ended;
    std::vector<std::uint64_t> waiting;  // in waits_
  };
  // Without its result.
  static Json json_of(const std::string& id, const Job& job);
  bool is_of(const Job& job, const Caller& caller) const;
  void expire();
  void forget(std::map<std::string, Job>::iterator job);
  // Forgets the oldest result of the caller for which `measure` is largest. False: no result is kept.
  bool forget_oldest_of(const std::function<std::size_t(const Caller&)>& measure);
  bool has_room(const Caller& caller, std::size_t size);

  Loop& loop_;
  Service& service_;
  const JobLimits limits_;
  std::map<std::string, Job> jobs_;
  std::map<CallerPtr, std::list<std::string>> done_;  // oldest first; never empty
  std::size_t bytes_ = 0, arguments_ = 0;
  Loop::Timer timer_;
  struct Wait {
    std::function<void()> job;
    Loop::Timer timer;
  };
  void wake(std::uint64_t wait);
  std::map<std::uint64_t, Wait> waits_;
  std::uint64_t next_wait_ = 1;
};

}  // namespace brig::serve
