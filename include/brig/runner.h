// Runner: keeps cells ready for one policy and runs commands in them, one cell per command.
#pragma once

#include <brig/command.h>
#include <brig/policy.h>
#include <brig/report.h>

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string_view>

namespace brig {

enum class Stream { out, err };

// Called with output as it arrives, in order per stream, before the report. It runs on a thread of
// the Runner (for run(): on the caller's): it must not block for long, call back into the Runner
// (cancel excepted) or throw. Bytes beyond limits.output come too.
using OutputCallback = std::function<void(Stream, std::string_view)>;
// Called once, on a thread of the Runner; for a call that is refused at once, on the caller's. The same
// rules.
using DoneCallback = std::function<void(const Report&)>;

struct RunnerOptions {
  unsigned ready = 2;  // cells kept ready
  unsigned ready_max =
      0;  // as many when calls find none ready, until that has not been for a while
  unsigned max_cells = 1024;  // commands running at once; more wait in the queue
  unsigned max_queue = 4096;  // waiting commands; more are answered `overloaded`
};

// Thread-safe. The cost of a call does not depend on the size or the threads of the host.
class Runner {
 public:
  // Validates the policy, starts the zygote and waits for the first ready cell.
  // Throws Error: config, or unsupported with the missing feature and the fix.
  explicit Runner(Policy policy, RunnerOptions options = {});
  // Cancels what is running, ends every process and removes every cgroup of this Runner.
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Never throws for what the command does; a malformed command is Outcome::invalid_arguments.
  Report run(const Command& command, const OutputCallback& on_output = {});

  struct Pending {
    std::uint64_t id = 0;
    std::future<Report> report;
  };
  // Borrowed descriptors of `command` must stay open until the call ends.
  Pending run_async(const Command& command, OutputCallback on_output = {},
                    DoneCallback on_done = {});

  // Ends a run_async call: SIGTERM, the grace period, SIGKILL; with `at_once` SIGKILL. False if it is unknown or already over.
  bool cancel(std::uint64_t id, bool at_once = false);

  // Cells that are ready now. For tests and benchmarks.
  unsigned ready() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One command in one cell: a Runner for a single call. Throws as Runner's constructor does.
Report run(const Command& command, const Policy& policy = {}, const OutputCallback& on_output = {});

}  // namespace brig
