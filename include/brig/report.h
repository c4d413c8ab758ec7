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

// Whether it makes sense to try again.
enum class Retry {
  never,        // no policy allows it
  after_grant,  // once the operator has given Violation::grant
  may_help,     // what was used up is given back in time
};

const char* to_string(Retry retry);

// Something that the cell tried and its policy does not allow. docs/violations.md has every code.
struct Violation {
  std::string code;    // stable: "network.refused", "file.not_in_cell", ...
  std::string what;    // "socket(AF_INET)", "killed by the out-of-memory killer", ...
  std::string target;  // the path that it was about; empty if there is none. The tool's word: data
  std::string rule;    // what forbids it, as a line of the policy: network = "none"
  // The least that would allow it, as a line of the policy: files.read = ["/srv/data"]; of a limit, the key to
  // raise. Empty: nothing would. It is the operator's to give.
  std::string grant;
  Retry retry = Retry::never;
  std::uint64_t count = 1;
  // True: the kernel told it, and a tool can't forge it. False: concluded from what the command was given and
  // what it printed, by what the policy gives; nothing on the host was looked at.
  bool certain = true;
  // Whether Report::message, in brig's own words, says it already. No part of the record: no JSON has it.
  bool told = false;

  bool operator==(const Violation&) const = default;
};

// "'/srv/data' is not in the cell; if it exists, files.read = [\"/srv/data\"] gives it": no full stop.
std::string sentence(const Violation& violation);
std::string to_json(const Violation& violation);

struct Report {
  Outcome outcome = Outcome::internal;
  std::optional<int> exit_code;  // set if the tool exited
  std::optional<int> signal;     // set if a signal ended it, brig's own included
  int exec_error = 0;            // errno, if the program could not be run: then it has no exit code
  std::string message;           // one sentence to act on
  Output out;
  Output err;
  Usage usage;
  Steps steps;
  std::vector<std::string> enforced;  // the layers really in force
  std::vector<Violation> violations;

  bool ok() const { return outcome == Outcome::ok; }
};

// The report as one JSON object (docs/report.md has the shape). Streams that are not UTF-8 appear as
// "stdout_base64"/"stderr_base64". indent < 0: one line.
std::string to_json(const Report& report, int indent = -1);

}  // namespace brig
