// Report: all that is known of one finished call. Data only; nothing in it was executed or trusted.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace brig {

enum class Outcome {
  ok,             // exit code 0
  tool_error,     // a tool raised (functions, not commands)
  exit,           // another exit code: Report::exit_code
  signal,         // died of Report::signal, not sent by brig
  timeout,        // wall or CPU time, or waiting in the queue: the message says which
  memory_limit,   // the kernel's OOM killer ended it at limits.memory
  output_limit,   // wrote more than limits.output_total, or answered more than limits.result
  process_limit,  // failed after being refused a process at limits.processes
  denied,         // the policy refused it
  cancelled,      // by the caller
  invalid_arguments,  // not run: the command or the arguments are malformed, or there is no such program
  unknown_tool,       // not run
  overloaded,         // not run: the queue was full
  internal,           // brig failed; the message says where
};

const char* to_string(Outcome outcome);

// What a tool wrote to one stream: the first and the last part, and the exact count of the whole.
struct Output {
  std::string bytes;        // the kept bytes, any value, not necessarily UTF-8
  std::uint64_t total = 0;  // all bytes the tool wrote
  bool truncated = false;   // total > bytes.size(): bytes are missing at `cut`
  std::size_t cut = 0;      // where in `bytes` the missing part was (meaningful if truncated)
};

struct Usage {
  std::chrono::microseconds wall{0};
  std::chrono::microseconds cpu{0};  // of the whole tree
  // Peak of the tree where a memory cgroup is in force, else of the largest process.
  std::uint64_t memory_peak = 0;
  // Processes and threads alive at once; unset where no pids cgroup counts them.
  std::optional<std::uint64_t> processes_peak;
};

// Where the time of a call went. The steps add up to Usage::wall.
struct Steps {
  std::chrono::microseconds queue{0};     // until it had a cell
  std::chrono::microseconds dispatch{0};  // until the request was sent
  std::chrono::microseconds run{0};       // until a function had answered, or a command ended
  std::chrono::microseconds teardown{0};  // until all of it was gone and counted
};

// Something the cell tried and was refused, as the kernel told it: a tool can't forge one.
struct Violation {
  std::string layer;  // "seccomp", "memory", "processes"
  std::string what;   // "mount", "socket(AF_INET)", ...
  std::uint64_t count = 0;
};

struct Report {
  Outcome outcome = Outcome::internal;
  std::optional<int> exit_code;  // set if the tool exited
  std::optional<int> signal;     // set if a signal ended it, brig's own included
  std::string message;           // one sentence to act on
  Output out;
  Output err;
  Usage usage;
  Steps steps;
  std::vector<std::string> enforced;  // the layers really in force
  std::vector<Violation> violations;

  bool ok() const { return outcome == Outcome::ok; }
};

// The report as one JSON object (README has the shape). Streams that are not UTF-8 appear as
// "stdout_base64"/"stderr_base64". indent < 0: one line.
std::string to_json(const Report& report, int indent = -1);

}  // namespace brig
