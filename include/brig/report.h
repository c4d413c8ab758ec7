// Report: all that is known of one finished call. Data only: brig has executed none of it, and what
// came from the tool is not to be trusted.
#pragma once

#include <brig/policy.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace brig {

enum class Outcome {
  // Exit code 0, or a function returned.
  ok,
  // A tool threw or raised (functions, not commands).
  tool_error,
  // Another exit code: Report::exit_code.
  exit,
  // Ended by Report::signal, which brig did not send.
  signal,
  // The timeout or the CPU time is over, or the call waited too long in the queue. The message says
  // which.
  timeout,
  // The kernel's OOM killer ended it at limits.memory.
  memory_limit,
  // Wrote more than limits.output_total, or returned more than limits.result.
  output_limit,
  // Failed after the kernel had refused it a process at limits.processes.
  process_limit,
  // The policy refused it.
  denied,
  // The caller cancelled it.
  cancelled,
  // Not run: the command or the arguments are malformed, or the program does not exist.
  invalid_arguments,
  // Not run: there is no such tool.
  unknown_tool,
  // Not run: the queue was full.
  overloaded,
  // brig failed. The message says where.
  internal,
};

// The name as JSON has it: "ok", "memory_limit", ...
[[nodiscard]] const char* to_string(Outcome outcome);

// What a tool wrote to one stream: the first and the last part, and the exact size of the whole.
struct Output {
  // The bytes that were kept. Any value; not necessarily UTF-8.
  std::string bytes;
  // How many bytes the tool wrote.
  std::uint64_t total = 0;
  // Whether bytes are missing (total > bytes.size()).
  bool truncated = false;
  // Where in `bytes` the missing part was. Meaningful only if truncated.
  std::size_t cut = 0;
};

struct Usage {
  std::chrono::microseconds wall{0};
  // CPU time of the whole tree.
  std::chrono::microseconds cpu{0};
  // The peak of the tree where a memory cgroup is in force, otherwise of the largest process.
  std::uint64_t memory_peak = 0;
  // Most processes and threads alive at once. Unset where no pids cgroup counts them.
  std::optional<std::uint64_t> processes_peak;
};

// Where the time of a call went. The steps add up to Usage::wall.
struct Steps {
  // Until the call had a cell.
  std::chrono::microseconds queue{0};
  // Until the request was sent.
  std::chrono::microseconds dispatch{0};
  // Until a function had answered, or a command had ended.
  std::chrono::microseconds run{0};
  // Until the cell was gone and everything was counted.
  std::chrono::microseconds teardown{0};
};

// Whether it makes sense to try again.
enum class Retry {
  // No policy allows it.
  never,
  // After the operator has given Violation::grant.
  after_grant,
  // What was used up is shared with others, and becomes free again when they need less.
  may_help,
};

[[nodiscard]] const char* to_string(Retry retry);

// Something that the cell tried and its policy does not allow. docs/violations.md has every code.
struct Violation {
  // Stable: "network.refused", "file.not_in_cell", ...
  std::string code;
  // "socket(AF_INET)", "killed by the out-of-memory killer", ...
  std::string what;
  // The path that it was about. Empty if there is none. The tool chose it: treat it as data.
  std::string target;
  // The line of the policy that forbids it: network = "none".
  std::string rule;
  // The least that would allow it, as a line of the policy: files.read = ["/srv/data"]. For a
  // limit, the key to raise. Empty: nothing would allow it. Only the operator may give it.
  std::string grant;
  Retry retry = Retry::never;
  std::uint64_t count = 1;
  // True: the kernel reported it, and a tool can't forge it. False: brig concluded it from the
  // policy, the command line and what the command printed, without looking at the host's files.
  bool certain = true;
  // Whether Report::message mentions it, in brig's own words. Not part of any JSON.
  bool mentioned = false;

  bool operator==(const Violation&) const = default;
};

// The violation as one sentence without a full stop:
// "'/srv/data' is not in the cell; if it exists, files.read = [\"/srv/data\"] gives it".
[[nodiscard]] std::string sentence(const Violation& violation);
// The violation as one JSON object, on one line.
[[nodiscard]] std::string to_json(const Violation& violation);

// One try of a tool to reach a host through brig's proxy (Network::proxy).
struct Connection {
  enum class Verdict {
    // A rule allows it, and there was a connection.
    allowed,
    // No rule allows it, or one forbids it.
    denied,
    // A rule allows it, but the host could not be found or reached, or brig closed the connection.
    failed,
  };
  // The name or the address that the tool asked for. The tool chose it: treat it as data.
  std::string host;
  // 0: the tool only looked up the name.
  std::uint16_t port = 0;
  Verdict verdict = Verdict::denied;
  // The rule that decided, from network.allow or network.deny. Empty: there is none.
  std::string rule;
  // Why it was denied or failed. Empty for `allowed`.
  std::string reason;
  // The address that brig connected to. Empty: it connected to none.
  std::string address;
  // How the tool asked: "connect" and "http" by the proxy's variables, "socks", "direct" without,
  // "dns" if it only looked up the name.
  std::string way;
  // Bytes from the tool to the host, and back.
  std::uint64_t sent = 0, received = 0;
  // Since the call began, and how long it lasted.
  std::chrono::microseconds begin{0}, duration{0};

  bool operator==(const Connection&) const = default;
};

[[nodiscard]] const char* to_string(Connection::Verdict verdict);

struct Report {
  Outcome outcome = Outcome::internal;
  // Set if the tool exited.
  std::optional<int> exit_code;
  // Set if a signal ended the tool, even one that brig sent.
  std::optional<int> signal;
  // The errno, if the program could not be executed; exit_code is unset then. 0 otherwise.
  int exec_error = 0;
  // One sentence to act on.
  std::string message;
  Output out;
  Output err;
  Usage usage;
  Steps steps;
  // Room::as_new: the cell stood in a room in which a call of the same caller had left nothing.
  Room room = Room::fresh;
  // The layers that were really in force.
  std::vector<std::string> enforced;
  std::vector<Violation> violations;
  // The first 256 connections through brig's proxy, in the order in which they began; and how many
  // there were.
  std::vector<Connection> connections;
  std::uint64_t connections_total = 0;

  [[nodiscard]] bool ok() const { return outcome == Outcome::ok; }
};

// The report as one JSON object (docs/report.md has the shape). A stream that is not UTF-8 appears
// as "stdout_base64" or "stderr_base64". indent < 0: on one line.
[[nodiscard]] std::string to_json(const Report& report, int indent = -1);

}  // namespace brig
