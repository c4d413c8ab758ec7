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
#include <string>
#include <vector>

namespace brig {

struct ToolResult {
  std::string call_id;
  // Of a call that is ok. The server's run_command and run_python have one beside an error, too, if they were run: what was
  // written until then, and the files that are left.
  Json output;
  std::string error;  // of one that isn't: "Type: message" of what the tool threw, or a sentence
  std::string error_type;  // the type alone, of what the tool threw
  std::string traceback;   // where it was thrown, if the tool's language tells
  std::chrono::microseconds duration{0};
  std::chrono::system_clock::time_point started_at;
  Report report;  // its outcome is how the call ended

  bool ok() const { return report.ok(); }
  bool denied() const { return report.outcome == Outcome::denied; }
};

struct SandboxOptions {
  unsigned concurrency = 0;  // calls running at once; more wait. 0: twice the cores
  unsigned queue = 1024;     // waiting calls; more are answered `overloaded`
  unsigned ready_min = 1;    // cells kept ready for each (policy, runtime) when nothing happens
  unsigned ready_max = 16;   // and at most, when calls come often
  // Another Sandbox whose places and queue this one shares from now on: calls of both are counted, wait and take turns together, by that one's
  // `concurrency` and `queue`. It is looked at only while this one is made, and either may go first.
  const class Sandbox* beside = nullptr;
};

struct CallOptions {
  std::string call_id;  // for cancel() and watchers; empty: one is made
  // The name of the caller: waiting calls are admitted in turn, one of each caller, and none can fill the queue: it may have three times as
  // many waiting calls as there are places left. Empty: nobody in particular, and the whole queue.
  std::string caller;
  // Other callers share the Sandbox: this one has at most three times as many running calls as places are then left, so that the
  // next caller finds one however long these take. Otherwise it may have all.
  bool shares = false;
  CallLimits limits;  // narrower ones. Those that can't be enforced for one call end it: denied
  // Asked, by call() alone, when a signal has interrupted its wait, and every 100 ms: true ends the call at
  // once. For a language whose signal handlers run only when it is back in charge.
  std::function<bool()> interrupted;
};

// How busy it is.
struct SandboxState {
  unsigned running = 0, waiting = 0;  // calls, of all that share its places
  unsigned ready = 0;                 // cells
};

// Thread-safe. A call never throws: how it ended is in its result.
class Sandbox {
 public:
  // Starts the zygotes, and waits for a ready cell of each. C++ functions are called in copies of this
  // process as it is now: make the Sandbox before starting threads. The copies have neither its
  // environment nor its descriptors, and memory that it shares is theirs alone (a shared mapping above
  // 1 GiB is not there at all); what else is in its memory they can read.
  // Throws Error: config for a bad policy, tool or option; unsupported if this machine can't isolate.
  explicit Sandbox(Toolbox tools, Policy policy = {}, SandboxOptions options = {});
  // Cancels what is running.
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // By name. `query`: those with it in their name or description, whatever the case.
  std::vector<std::shared_ptr<const Tool>> list_tools(const std::string& query = "") const;

  // Arguments are an object; they are checked against the tool's schema before a cell is used.
  ToolResult call(const std::string& tool, Json arguments, std::string call_id = "");
  ToolResult call(const std::string& tool, Json arguments, CallOptions options);
  std::future<ToolResult> call_async(const std::string& tool, Json arguments,
                                     CallOptions options = {});
  // `on_done` is called once, on a thread of the Sandbox's or, if the result is there already, on this one.
  // It must not block for long, or throw.
  void call_async(const std::string& tool, Json arguments, CallOptions options,
                  std::function<void(ToolResult)> on_done);
  // Ends the calls of that id: SIGTERM, the grace period, SIGKILL; of call_async, with `at_once`, without
  // the grace period. False if there are none.
  bool cancel(const std::string& call_id, bool at_once = false);

  // What happens from now on: see Watch. As `callback`: on a thread of its own, until the handle goes.
  std::shared_ptr<Watch> watch(std::size_t buffer = 1024);
  [[nodiscard]] std::shared_ptr<void> watch(std::function<void(const Event&)> callback,
                                            std::size_t buffer = 1024);

  SandboxState state() const;
  // Where libraries and Python modules were loaded from: files, and directories of packages; with what modules
  // import, but for the interpreter's own and installed packages. Who watches them knows when to load anew.
  std::vector<std::string> sources() const;

  // Changes of the toolbox; as Toolbox's. A C++ function can be added or replaced only while the
  // process has no threads but brig's own: Error(config) otherwise.
  void add(Tool tool);
  void replace(Tool tool);
  bool remove(const std::string& name);
  // All of them anew, with libraries and Python modules loaded again; as it was if that throws.
  void set_tools(const Toolbox& tools);
  // For calls from now on. Cells made for the old one are not used again.
  void set_policy(Policy policy);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The result as one JSON object, its report included.
std::string to_json(const ToolResult& result, int indent = -1);
// The same in two lines, the report in the second, for who need not look at that.
std::string to_json_lines(const ToolResult& result);

}  // namespace brig
