// The parts of a Sandbox. Private to sandbox*.cc.
#pragma once

#include <brig/sandbox.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "base/fd.h"
#include "base/own_thread.h"
#include "base/worker.h"
#include "cell/warden.h"
#include "json/schema.h"
#include "sandbox/admission.h"
#include "sandbox/call_maker.h"
#include "sandbox/watchers.h"
#include "sandbox/zygote_key.h"
#include "tool/command_template.h"
#include "tool/function_guest.h"
#include "tool/library.h"

namespace brig {

// A tool that can be called: its schemas compiled, its zygote running.
struct PreparedTool {
  std::shared_ptr<const Tool> tool;
  Schema input;
  std::optional<Schema> output;
  std::optional<CommandTemplate> command;
  std::shared_ptr<Warden> warden;
  Limits limits;
  // Variables that no argument of a call can bring back.
  std::vector<std::string> unset;
};

// One call, from the request to the result.
struct SandboxCall {
  std::string tool_name, call_id;
  Admission::Caller caller;
  std::shared_ptr<const PreparedTool> tool;
  CellRequest request;
  OutputMaker output;     // of a tool with a CallMaker
  bool own_time = false;  // the arguments give it less time than the policy
  ToolResult result;
  Clock::time_point asked;
  Clock::time_point deadline;               // while the call waits for a cell
  std::function<void(ToolResult)> on_done;  // of call_async

  // For cancel(), under the Sandbox's lock.
  std::uint64_t ticket = 0;       // while it waits
  std::uint64_t warden_call = 0;  // of call_async, while it runs
  UniqueFd cancel_event;          // of call, while it runs
  bool cancelled = false, at_once = false;
  // Its result is there: nothing is left to cancel.
  bool over = false;
};

struct Sandbox::Impl {
  Impl(Toolbox tools, Policy policy, SandboxOptions options);
  ~Impl();
  static SandboxOptions as_beside(SandboxOptions options);

  // Null if `result` is already set: there is no such tool, or the arguments do not fit it.
  std::shared_ptr<SandboxCall> begin(const std::string& tool, Json arguments, CallOptions options,
                                     ToolResult& result);
  ToolResult call(const std::shared_ptr<SandboxCall>& call);
  Admission::Verdict await_turn(SandboxCall& call);
  void call_async(const std::shared_ptr<SandboxCall>& call);
  bool cancel(const std::string& call_id, bool at_once);
  void finish(SandboxCall& call, CellResult cell);
  void refuse(SandboxCall& call, Outcome outcome, std::string message);
  void refuse(SandboxCall& call, Admission::Verdict verdict);

  using Calls = std::multimap<std::string, std::shared_ptr<SandboxCall>>;
  Calls::iterator add(const std::shared_ptr<SandboxCall>& call);
  void remove(Calls::iterator entry);
  // The steps of call_async.
  void run_async(Calls::iterator entry, const std::shared_ptr<SandboxCall>& call);
  void end_async(Calls::iterator entry, std::shared_ptr<SandboxCall> call,
                 std::function<void(SandboxCall&)> how, std::optional<std::size_t> to_read);
  UniqueFd take_event();
  void set_ticket(SandboxCall& call, std::uint64_t ticket);
  static void stop(SandboxCall& call,
                   bool at_once);  // under the lock; the admission cancels a call that waits

  static Event event_of(const SandboxCall& call, Event::Kind kind);
  // Both are valid for as long as the call exists.
  void request_progress(SandboxCall& call);
  OutputCallback output_publisher(const SandboxCall& call);

  // sandbox_tools.cc: the tools that can be called.
  using Tools = std::map<std::string, std::shared_ptr<const Tool>>;
  void install(Tools tools);
  void set_policy(Policy policy);
  std::shared_ptr<const PreparedTool> prepare(const std::shared_ptr<const Tool>& tool);
  std::shared_ptr<Warden> warden_for(const Tool& tool, Policy policy);
  void load(const Tool& any, const std::string& title, Tools& tools);
  void load_all(const Toolbox& toolbox);

  // The Sandbox's own thread: results of call_async, deadlines of waiting calls.
  void work();
  void later(std::function<void()> job, bool is_long);
  // Held while a thread, perhaps another Sandbox's, starts a call: the call may be over, and off
  // the list, before the thread is done with this object.
  struct Deciding;

  const SandboxOptions options_;
  Watchers watchers_;
  // Shared with the Sandboxes beside this one: a thread of theirs may decide about a call of this
  // one.
  const std::shared_ptr<Admission> admission_;

  // One change of toolbox or policy at a time.
  std::mutex changing_;
  Tools tools_;
  Policy policy_;
  std::shared_ptr<const Functions> functions_;
  std::shared_ptr<HostCopy> host_copy_;
  std::vector<std::pair<ZygoteKey, std::shared_ptr<Warden>>> wardens_;
  // By path.
  std::map<std::string, LoadedLibrary> libraries_;

  // Guards everything below.
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const PreparedTool>> prepared_;
  std::vector<std::string> sources_;
  Calls calls_;
  std::vector<UniqueFd> idle_events_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  // A call with a deadline waits.
  bool deadlines_ = false;
  bool stopping_ = false;
  unsigned deciding_ = 0;
  OwnThread thread_;
  // Their own thread, so that they delay no other job.
  Worker long_jobs_;
};

// sandbox_result.cc: turns a cell's result into a tool's. Lets go of the cell's workspace.
void read_result(const SandboxCall& call, CellResult cell, ToolResult& result);

}  // namespace brig
