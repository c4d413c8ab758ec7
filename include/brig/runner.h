// Runner: keeps cells ready for one policy and runs commands in them, one fresh cell per command.
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

// Receives output as it arrives, in order for each stream, before the report. Bytes beyond
// limits.output are passed on too. run() calls it on the caller's thread, run_async() on the
// Runner's. It must not block for long, must not throw, and must not call the Runner, except
// cancel(). The text is valid only during the call.
using OutputCallback = std::function<void(Stream, std::string_view)>;
// Receives the report, once, on the Runner's thread. A call that is refused at once reports on the
// caller's thread, before run_async() returns. The rules of OutputCallback hold here too.
using DoneCallback = std::function<void(const Report&)>;

struct RunnerOptions {
  // How many cells are kept ready. At most 1024.
  unsigned ready = 2;
  // How many cells are kept ready after calls found none. The number falls back to `ready` when
  // that has not happened for a while. At most 1024. 0, or less than `ready`: always `ready`.
  unsigned ready_max = 0;
  // How many commands run at once, 1 to 60000. More wait in the queue.
  unsigned max_cells = 1024;
  // How many commands may wait. More are answered with Outcome::overloaded.
  unsigned max_queue = 4096;
};

// Thread-safe. The cost of a call does not depend on the size or the threads of the host.
//
// A Runner has a thread and child processes, so it belongs to the process that made it: after a
// fork() the child must neither use nor destroy it. If the process dies, even by SIGKILL, all cells
// end with it.
class Runner {
 public:
  // Validates the policy, starts the zygote and waits for the first ready cell.
  // Throws Error: `config` for a wrong policy, `unsupported` with the missing feature and the fix,
  // or another kind if the machine refuses what is needed. Then nothing is left behind.
  explicit Runner(Policy policy, RunnerOptions options = {});
  // Cancels what is running, ends every process and removes every cgroup of this Runner. The future
  // of every pending call gets its report first. No thread may be inside run() any more.
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Runs the command and waits for its end. Never throws for what the command does: a failed
  // command, a full queue and a malformed command (Outcome::invalid_arguments) are all reports.
  [[nodiscard]] Report run(const Command& command, const OutputCallback& on_output = {});

  struct Pending {
    // For cancel().
    std::uint64_t id = 0;
    // Gets the report after on_done has returned.
    std::future<Report> report;
  };
  // Starts the command and returns at once. The command is copied; its descriptors must stay open
  // until the call ends. Dropping the result is fine: the call goes on, and on_done still runs.
  Pending run_async(const Command& command, OutputCallback on_output = {},
                    DoneCallback on_done = {});

  // Ends a run_async call: SIGTERM, the grace period, SIGKILL. With `at_once`: SIGKILL. Returns
  // without waiting for the end. False if no such call is running or waiting; that is not an error.
  bool cancel(std::uint64_t id, bool at_once = false);

  // How many cells are ready now. For tests and benchmarks.
  [[nodiscard]] unsigned ready() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Runs one command in one cell, with no Runner to keep. The policy holds for this call alone.
// Throws as Runner's constructor does; how the command ended is in the report. Thread-safe.
[[nodiscard]] Report run(const Command& command, const Policy& policy = {},
                         const OutputCallback& on_output = {});

}  // namespace brig
