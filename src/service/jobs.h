// Jobs: calls whose results are kept for a while, those of /v1/jobs and the tasks of MCP. To find a
// job takes its id of 128 random bits, its caller and its kind. Use it on the loop's thread only.
#pragma once

#include <brig/json.h>

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "service/service.h"

namespace brig::serve {

// The limits of all callers together; each has a share (is_fair).
struct JobLimits {
  std::chrono::milliseconds kept = std::chrono::seconds(600);  // after the end
  std::size_t count = 10'000;                                  // running and kept
  std::size_t arguments = std::size_t{256} << 20;              // bytes, of those that are not done
  std::size_t bytes = std::size_t{256}
                      << 20;  // of kept results; the oldest of the caller with the most go first
};

// The protocol that a job belongs to. An admin sees the `api` jobs of others, but only its own
// tasks.
enum class JobKind {
  api,          // /v1/jobs; its result has the form of to_json()
  task,         // MCP 2026-07-28
  legacy_task,  // MCP 2025-11-25
};

struct Job {
  JobKind kind = JobKind::api;
  std::string tool;
  AcceptedCall call;
  CallerPtr caller;
  // Bytes of the request, which is held until the job is done.
  std::size_t size = 0;
  std::chrono::milliseconds kept{0};
  std::chrono::system_clock::time_point created, changed;
  std::chrono::steady_clock::time_point began, ended;
  enum class Status { queued, running, done } status = Status::queued;
  bool asked_to_end = false;                // by end()
  bool was_cancelled = false;               // it ended by a cancellation
  bool has_failed = false;                  // the result is an error
  std::string message;                      // its last progress, or why it failed; may be empty
  std::string result;                       // JSON, once it is done
  std::vector<std::uint64_t> waiting = {};  // keys of wait()
};

class Jobs {
 public:
  Jobs(Loop& loop, Service& service, JobLimits limits = {});

  // Makes the call as a job of the kind `api`, and returns the job's id. `size`: that of the
  // request, which is held until the job is done.
  std::variant<std::string, Refusal> submit(CallRequest request, std::size_t size);
  // The job as JSON text, with the result once it is done; nothing if the caller has no such job.
  // This and the next three are for the kind `api`.
  std::optional<std::string> find(const std::string& id, const Caller& caller) const;
  bool has(const std::string& id, const Caller& caller) const;
  std::vector<Json> list(const Caller& caller) const;
  enum class Removal { none, cancelled, forgotten };
  Removal remove(const std::string& id, const Caller& caller);

  // Whether a caller may have one more job, with a request of that size. To make room, it drops
  // kept results of a caller that has more of them.
  bool has_room(const Caller& caller, std::size_t size);
  static Refusal no_room();
  // Makes a job of a call that its maker has started and observes; the maker passes on its events
  // by receive(). `job` has kind, tool, call, caller, size, status and, unless it is 0, `kept`: how
  // long the result is wanted, which is at most as long as for other jobs. Returns its id, or
  // nothing if there is no room.
  std::optional<std::string> adopt(Job job);
  void receive(const std::string& id, const Event& event);
  struct End {
    // JSON.
    std::string result;
    bool was_cancelled = false, has_failed = false;
    std::string message = {};
  };
  void finish(const std::string& id, End end);

  // The caller's own job of that kind, or null. The pointer is valid until the next call of any
  // function here.
  const Job* look(const std::string& id, JobKind kind, const Caller& caller) const;
  // Ends the call of a job that look() finds, with SIGTERM and the grace period. A job that is done
  // stays as it is.
  void end(const std::string& id);

  // Calls `job` when the job is done, or after that time. Returns a key for stop_waiting(); 0:
  // `job` was already called.
  std::uint64_t wait(const std::string& id, std::chrono::milliseconds time,
                     std::function<void()> job);
  void stop_waiting(const std::string& id, std::uint64_t key);
  // Ends the longest wait for this job, as if its time were over.
  void wake_oldest(const std::string& id);

  std::size_t size() const { return jobs_.size(); }

 private:
  // The job without its result.
  static Json json_of(const std::string& id, const Job& job);
  std::string add(Job job);
  void expire();
  void forget(std::map<std::string, Job>::iterator job);
  // Forgets the oldest result of the caller for which `measure` is largest. False: no result is
  // kept.
  bool forget_oldest_of(const std::function<std::size_t(const Caller&)>& measure);

  Loop& loop_;
  Service& service_;
  const JobLimits limits_;
  std::map<std::string, Job> jobs_;
  // Oldest first; never empty.
  std::map<CallerPtr, std::list<std::string>> done_;
  // For jobs that are done: when each is forgotten, the next one first.
  std::set<std::pair<std::chrono::steady_clock::time_point, std::string>> expiries_;
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
