// Service: what the server does for every protocol: tools, calls, who may make them, and what is
// reported about them. Use it on the loop's thread only.
#pragma once

#include <brig/manifest.h>
#include <brig/sandbox.h>

#include <time.h>

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/worker.h"
#include "http/caller.h"
#include "http/http.h"
#include "http/loop.h"
#include "service/audit.h"
#include "service/builtin.h"
#include "service/excerpt.h"
#include "service/give_back.h"
#include "service/handover.h"
#include "service/history.h"
#include "service/metrics.h"
#include "service/refusal_log.h"
#include "service/shown_arguments.h"
#include "service/trace.h"

namespace brig::serve {

struct ServiceOptions {
  // Empty: none.
  std::string manifest;
  SandboxOptions sandbox;
  std::string audit = "none";
  ArgumentsShown arguments =
      ArgumentsShown::off;            // in the audit log, in events and in the list of calls
  std::size_t mcp_text = kUsualText;  // bytes of text in a result of MCP
  std::vector<std::string> preload;   // of run_python, beside what the manifest names
};

// Bytes.
inline constexpr std::size_t kLongestCallId = 128;

// A sandbox that serves calls, and the watch of its events.
struct ServedSandbox {
  std::shared_ptr<Sandbox> sandbox;
  Policy policy;  // for tools that have none of their own
  std::map<std::string, std::shared_ptr<const Tool>> tools;  // its own; they never change
  std::shared_ptr<Watch> watch;
  std::shared_ptr<void> readable;
};

// A tool, and the sandbox that serves its calls. Good for this turn of the loop: a reload may come
// behind it.
struct FoundTool {
  std::shared_ptr<const Tool> tool;
  std::shared_ptr<ServedSandbox> served;
  explicit operator bool() const { return tool != nullptr; }
};

// A request for a call.
struct CallRequest {
  std::string tool;
  Json arguments = Json::object();
  // Empty: one is made, of 128 random bits.
  std::string call_id;
  CallerPtr caller;
  std::string session;    // of the caller's, or empty
  std::string peer, via;  // for the audit log: "127.0.0.1:4711", "mcp"
  Trace trace;
  CallLimits limits;
  // If the tool was looked up before start() is called.
  FoundTool found;
};

// Why a request was refused and did not become a call.
struct Refusal {
  unsigned status;   // HTTP's
  const char* name;  // "rate-limited"
  std::string detail;
  std::optional<std::chrono::milliseconds> retry_after = {};
  // The audit log has it.
  bool noted = false;
};

// A call that was accepted. Its id is the caller's name for it, and another caller may use the same
// id. Its number is the server's own: it is unique, and no client ever sees it.
struct AcceptedCall {
  std::uint64_t number = 0;
  std::string call_id;
};

// The callbacks for the maker of a call: on the loop, in order, never before start() has returned.
struct CallObserver {
  std::function<void(const Event&)>
      on_event;                             // queued, started, output, progress, lost; may be null
  std::function<void(ToolResult)> on_done;  // once
};

// An event for watchers of /events.
struct Notice {
  std::string kind, call_id, tool;
  // The caller whose call it is about; null: it is about no call.
  CallerPtr caller;

  // An admin receives everything, others only what is about their own calls and the tools that they
  // may call.
  bool is_for(const CallerPtr& watcher) const {
    return watcher->admin || (caller ? caller == watcher : tool.empty() || watcher->may_call(tool));
  }
  // JSON, for however many watch.
  std::string data;
};

struct CallSummary {
  std::string call_id, tool, caller;
  // Or it waits.
  bool running = false;
  std::chrono::system_clock::time_point since;
  // As far as they are shown.
  Json arguments = nullptr;
};

class Service {
 public:
  // Loads the manifest. Throws Error.
  Service(Loop& loop, ServiceOptions options, Builtins builtins);
  // Cancels what is running.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // The tools that the caller may call, by name.
  std::vector<std::shared_ptr<const Tool>> tools(const Caller& caller,
                                                 const std::string& query = "") const;
  FoundTool find(const std::string& tool, const Caller& caller) const;

  // Refuses a call_id only while the same caller has a call with it: the ids of other callers
  // neither matter nor show.
  std::variant<AcceptedCall, Refusal> start(CallRequest request, CallObserver observer);
  // Records a refusal made elsewhere in the audit log and the counts; start() records its own.
  void refused(const CallRequest& request, Refusal& refusal);
  // The same for an HTTP response that belongs to no call.
  void refused(const Answered& answer);
  // Ends a call: SIGTERM, the grace period, SIGKILL; with `at_once` SIGKILL. False: it has already
  // ended.
  bool cancel(std::uint64_t number, bool at_once = false);
  // The same by the caller's own call_id. For an admin it may be another caller's call; `of`, if
  // not empty, names that caller. `several`: more than one caller has a call with that id, and none
  // was ended.
  enum class Cancelled { yes, none, several };
  Cancelled cancel(const std::string& call_id, const Caller& caller, const std::string& of = "");
  std::vector<CallSummary> calls(const Caller& caller) const;
  // The calls that ended, the newest first, as a list in JSON.
  std::string ended_calls(const CallerPtr& caller, std::size_t most) const {
    return history_.list(caller, most);
  }
  // Forgets the ended calls of a caller that is gone.
  void forget(const Caller& caller) { history_.forget(caller); }
  ArgumentsShown arguments_shown() const { return options_.arguments; }

  // Watches until the handle goes.
  using Subscriber = std::function<void(const Notice&)>;
  [[nodiscard]] std::shared_ptr<void> watch(Subscriber subscriber);
  // Calls `job` when tools were added, removed or changed.
  [[nodiscard]] std::shared_ptr<void> on_tools_changed(std::function<void()> job);

  // Reads the manifest again, while calls go on. `done` gets what is wrong, or "". If anything is
  // wrong, the old tools stay.
  void reload(const std::function<void(std::string)>& done);
  // The manifest, and the files that its tools are loaded from. If the last reload failed, also
  // files whose change could make the next one work.
  std::vector<std::string> sources() const;
  // When the last reload, or the first load, began.
  const timespec& loaded() const { return loaded_; }
  bool has_manifest() const { return !options_.manifest.empty(); }

  // Accepts no call any more; calls `done` when the last one has ended.
  void drain(std::function<void()> done);
  bool draining() const { return draining_; }
  // Cancels the calls of all callers, or of one, at once.
  void cancel_all(const Caller* only = nullptr);

  SandboxState state() const;
  unsigned concurrency() const { return concurrency_; }
  unsigned queue() const { return options_.sandbox.queue; }
  // How many tools the caller may call.
  std::size_t tool_count(const Caller& caller) const;
  bool has_builtins() const { return builtins_ != nullptr; }
  // The policy for calls of that tool.
  Policy policy_of(const Tool& tool) const;
  // Whether that is the built-in run_command or run_python, and not a tool of the manifest with
  // that name.
  bool is_own(const std::string& tool) const { return builtins_ && is_builtin(tool); }
  std::size_t mcp_text() const { return options_.mcp_text; }
  Metrics& metrics() { return metrics_; }
  Audit& audit() { return audit_; }

 private:
  struct ActiveCall {
    CallSummary summary;
    std::shared_ptr<ServedSandbox> served;
    CallerPtr caller;
    CallObserver observer;
    Trace trace;
    std::string peer, via, arguments_hash;
  };

  // Bytes shown of a word that a client made up.
  static constexpr std::size_t kLongestWord = 100;

  static Json line_of(const char* event, const CallRequest& request);
  std::string start_line(const CallRequest& request, const std::string& hash) const;

  std::shared_ptr<ServedSandbox> serve(std::shared_ptr<Sandbox> sandbox, Policy policy);
  // `beside`: the Sandbox whose places it shares, or null. Sets `policy`, too.
  std::shared_ptr<Sandbox> make_sandbox(const std::string& manifest, const Sandbox* beside,
                                        Policy& policy) const;
  // Applies the changes of a reloaded manifest to the built-in tools.
  void change_builtins(const Policy& policy);
  std::shared_ptr<ServedSandbox> sandbox_with(const std::string& tool) const;
  std::optional<Refusal> refusal_of(const CallRequest& request);
  void read_events(ServedSandbox& served, bool all);
  void receive(Event event);
  std::string new_id(const Caller& caller) const;
  void end(std::uint64_t number, ToolResult result);
  void record(const ActiveCall& call, const ToolResult& result);
  void keep(const ActiveCall& call, const ToolResult& result);
  // `call`: the call that the event is about, or null. `result`: of a call that has ended.
  void publish(const Event& event, const ActiveCall* call, const ToolResult* result = nullptr);
  // Replaces the manifest's tools, and the policy of the built-in ones; says what has changed.
  void swap_in(std::shared_ptr<ServedSandbox> next);
  void sweep_retired();

  Loop& loop_;
  const ServiceOptions options_;
  unsigned concurrency_ = 0;
  Audit audit_;
  RefusalLog refusals_;
  Metrics metrics_;
  History history_;
  // By number, which is also the id that the sandboxes use: nothing that a caller sends is a key to
  // what others have.
  std::map<std::uint64_t, ActiveCall> active_;
  std::uint64_t next_number_ = 1;
  // By caller and id.
  std::map<std::pair<const Caller*, std::string>, std::uint64_t> named_;
  // Shared, so that a handle that outlives this object finds that they are gone.
  std::shared_ptr<std::list<Subscriber>> subscribers_;
  std::shared_ptr<std::list<std::function<void()>>> on_tools_;
  bool draining_ = false, reloading_ = false, reload_again_ = false;
  std::function<void()> drained_;
  Handover handover_;
  GiveBack give_back_;
  std::shared_ptr<ServedSandbox> builtins_, tools_;
  // The modules that run_python has preloaded now.
  std::vector<std::string> preloaded_;
  timespec loaded_{};
  std::vector<std::string> may_help_;  // after a reload that failed: files and directories
  std::vector<std::shared_ptr<ServedSandbox>> retired_;  // until their last calls have ended
  std::unique_ptr<Worker> worker_;  // for long work: reloading, and destroying a sandbox
};

}  // namespace brig::serve
