// Sandbox: a toolbox behind a policy. Every call of a tool runs in a fresh cell.
//
//   brig::Toolbox tools;
//   tools.add("add", "Adds two integers.", {"a", "b"},
//             [](std::int64_t a, std::int64_t b) { return a + b; });
//   brig::Sandbox box(std::move(tools), brig::Policy{.limits = {.timeout = 5s, .memory = 64_MiB}});
//   brig::ToolResult r = box.call("add", {{"a", 2}, {"b", 3}});  // r.ok(), r.output == 5
#pragma once

#include <brig/policy.h>
#include <brig/report.h>
#include <brig/toolbox.h>
#include <brig/watch.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace brig {

struct ToolResult {
  std::string call_id;
  // The result of a call that is ok. The server's run_command and run_python also have one beside
  // an error, if they were run: what they wrote until then, and the files that are left.
  Json output;
  // Of a call that is not ok: "Type: message" of what the tool threw, or a sentence. For a denied
  // call: why.
  std::string error;
  // The type alone, of what the tool threw.
  std::string error_type;
  // Where the tool threw it, if the tool's language says so.
  std::string traceback;
  std::chrono::microseconds duration{0};
  std::chrono::system_clock::time_point started_at;
  // Its outcome says how the call ended.
  Report report;

  [[nodiscard]] bool ok() const { return report.ok(); }
  // Whether the call was denied. Nothing ran then.
  [[nodiscard]] bool denied() const { return report.outcome == Outcome::denied; }
};

struct SandboxOptions {
  // How many calls run at once, at most 10000. More wait. 0: twice the number of cores.
  unsigned concurrency = 0;
  // How many calls may wait, at most 1000000. More are answered with Outcome::overloaded.
  unsigned queue = 1024;
  // How many cells are kept ready for each pair of policy and runtime when nothing happens.
  unsigned ready_min = 1;
  // The same when calls come often: ready_min to 1024.
  unsigned ready_max = 16;
  // Another Sandbox whose places and queue this one shares from now on. Calls of both are counted
  // together, wait together and take turns; that Sandbox's `concurrency` and `queue` apply, and
  // the values here are ignored. The pointer is read only during construction, and either Sandbox
  // may go first.
  const class Sandbox* beside = nullptr;
};

struct CallOptions {
  // The name of the call for cancel() and for watchers. Several calls may have the same. Empty:
  // brig makes one that nobody can guess.
  std::string call_id;
  // The name of the caller. Waiting calls are admitted in turn, one of each caller. No caller can
  // fill the queue: it may have three times as many waiting calls as there are free places in it.
  // Empty: an unnamed caller; it may use the whole queue.
  std::string caller;
  // The name of a session of the caller. Calls of two callers or two sessions never have cells in
  // the same room (Policy::room).
  std::string session;
  // Whether other callers share the Sandbox. Then this caller may have three times as many running
  // calls as there are free places, so that the next caller finds one, however long these calls
  // take. Otherwise it may use every place.
  bool shares = false;
  // Narrower limits for this call. A limit that can't be enforced for one call ends it as denied.
  CallLimits limits;
  // A narrower network for this call: Network::none, with which it reaches no host and has its own
  // loopback at most; or, where the policy has a list of hosts, another list whose entries that one
  // covers. What the policy denies stays denied.
  std::optional<Network> network;
  // Only for call(). Called on the caller's thread when a signal has interrupted the wait, and
  // every 100 ms. When it returns true, the call ends at once. For languages whose signal handlers
  // run only when their interpreter is back in charge.
  std::function<bool()> interrupted;
};

// How busy a Sandbox is.
struct SandboxState {
  // Calls of every Sandbox that shares its places.
  unsigned running = 0, waiting = 0;
  // Cells of this Sandbox.
  unsigned ready = 0;
};

// Thread-safe. A call never throws: how it ended is in its result.
//
// A Sandbox has threads and child processes, so it belongs to the process that made it: after a
// fork() the child must neither use nor destroy it. If the process dies, even by SIGKILL, all cells
// end with it.
class Sandbox {
 public:
  // Starts the zygotes, and waits until each of them has a ready cell.
  //
  // C++ functions run in copies of this process as it is now, so make the Sandbox before the
  // process starts threads. The copies have neither its environment nor its descriptors. What the
  // process shares with others is private to each copy, and a shared mapping above 1 GiB is
  // missing. Whatever else is in the memory of this process, tools can read.
  //
  // Throws Error: `config` for a wrong policy, tool or option, `unsupported` if this machine can't
  // isolate, or another kind if the machine refuses what is needed. Then nothing is left behind.
  explicit Sandbox(Toolbox tools, Policy policy = {}, SandboxOptions options = {});
  // Cancels what is running and waits for its end. Every asynchronous call gets its result first.
  // No thread may be inside call() any more.
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // The tools, sorted by name. With a `query`, those that matches() finds.
  [[nodiscard]] std::vector<std::shared_ptr<const Tool>> list_tools(
      const std::string& query = "") const;

  // Calls a tool and waits for its end. The arguments are an object, or null for none. brig checks
  // them against the tool's schema before it uses a cell. An unknown tool, wrong arguments and a
  // full queue are results, too.
  [[nodiscard]] ToolResult call(const std::string& tool, Json arguments, std::string call_id = "");
  [[nodiscard]] ToolResult call(const std::string& tool, Json arguments, CallOptions options);
  // Starts a call and returns at once. Dropping the future is fine: the call goes on.
  std::future<ToolResult> call_async(const std::string& tool, Json arguments,
                                     CallOptions options = {});
  // `on_done` receives the result, once, on a thread of the Sandbox; on the caller's if the call
  // was refused at once. It must not block for long, and must not throw.
  void call_async(const std::string& tool, Json arguments, CallOptions options,
                  std::function<void(ToolResult)> on_done);
  // Ends the calls with that id: SIGTERM, the grace period, SIGKILL. With `at_once`, calls of
  // call_async get SIGKILL without the grace period. Returns without waiting for the end. False if
  // there is no such call; that is not an error.
  bool cancel(const std::string& call_id, bool at_once = false);

  // What happens from now on. At most `buffer` events wait for the watcher; then it loses some.
  [[nodiscard]] std::shared_ptr<Watch> watch(std::size_t buffer = 1024);
  // The same, passed to `callback` on a thread of its own until the handle is destroyed. Destroying
  // the handle waits for a running callback, so the callback must not do it.
  [[nodiscard]] std::shared_ptr<void> watch(std::function<void(const Event&)> callback,
                                            std::size_t buffer = 1024);

  [[nodiscard]] SandboxState state() const;
  // Where libraries and Python modules were loaded from: files, and directories of packages, with
  // what the modules import, except the interpreter's own modules and installed packages. Watch
  // these paths to learn when to load the tools again.
  [[nodiscard]] std::vector<std::string> sources() const;

  // Changes of the tools, as Toolbox has them, for calls from now on. Each throws Error and then
  // changes nothing. A C++ function can be added or replaced only while the process has no threads
  // but brig's own; otherwise: Error(config).
  void add(Tool tool);
  void replace(Tool tool);
  // False if there is no such tool; that is not an error.
  bool remove(const std::string& name);
  // Replaces all tools, and loads libraries and Python modules again.
  void set_tools(const Toolbox& tools);
  // Replaces the policy for calls from now on. Cells made for the old one are not used again.
  // Throws Error and then changes nothing.
  void set_policy(Policy policy);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The result as one JSON object, with its report. indent < 0: on one line.
[[nodiscard]] std::string to_json(const ToolResult& result, int indent = -1);
// The same in two lines: the report is alone on the second, for readers that do not need it.
[[nodiscard]] std::string to_json_lines(const ToolResult& result);

}  // namespace brig
