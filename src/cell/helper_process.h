// HelperProcess: the janitor as the host sees it, with its plan and its cgroups.
#pragma once

#include <brig/policy.h>

#include <memory>

#include "base/fd.h"
#include "cell/call.h"
#include "cell/host_copy.h"
#include "cell/plan_builder.h"
#include "os/cgroup.h"
#include "os/child.h"

namespace brig {

// Where zygotes come from. Empty: brig's helper, for commands.
struct Origin {
  // For functions of this process.
  std::shared_ptr<HostCopy> host_copy;
  // For functions of a library: the program to execute instead.
  std::shared_ptr<UniqueFd> loader;
  // What the zygote loads or becomes, or null.
  std::shared_ptr<const Payload> payload;
  // Whether its cells show their workspace: see CellResult.
  bool shows_workspace = false;
  bool functions() const { return host_copy || payload; }
};

// Its start has three steps, each of which gives what the next one is called on:
//
//   auto started = helper.spawn(origin);                          // The program gets ready ...
//   auto planned = std::move(started).work_out(policy, single);   // ... while the host thinks.
//   std::move(planned).send_plan();
//
// If a step throws or is left out, stop() and the destructor end what the others have begun.
struct HelperProcess {
  class Planned;
  class Started;

  // Empty: not started, or stopped.
  UniqueFd socket;
  BuiltPlan plan;
  CgroupLayout cgroups;
  // Of its cells.
  std::shared_ptr<const AsMade> as_made;
  // A memfd where the zygote writes what its payload holds, as one frame.
  UniqueFd catalog;
  // Until the plan is sent.
  std::unique_ptr<CleanSpawn> starting;
  Child janitor;

  ~HelperProcess() { stop(); }

  // Starts the program, which waits for its plan.
  [[nodiscard]] Started spawn(const Origin& origin = {});
  // Tells the janitor to end all cells, remove their traces and exit.
  void hang_up();
  // Calls hang_up() and waits until that is done.
  void stop();
};

// A helper whose program runs. Valid as long as the helper.
class [[nodiscard]] HelperProcess::Started {
 public:
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  // Makes the cgroups, the plan and `as_made`. `single`: for one call.
  Planned work_out(const Policy& policy, bool single) &&;

 private:
  friend HelperProcess;
  Started(HelperProcess& helper, const Origin& origin) : helper_(helper), origin_(origin) {}
  HelperProcess& helper_;
  const Origin origin_;
};

// A helper whose plan is worked out. Valid as long as the helper.
class [[nodiscard]] HelperProcess::Planned {
 public:
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;
  // Sends the plan to the janitor, which owns the cgroups from here on, and to a single cell too.
  void send_plan(int cell_socket = -1) &&;

 private:
  friend Started;
  explicit Planned(HelperProcess& helper) : helper_(helper) {}
  HelperProcess& helper_;
};

// brig's own processes in a cell's cgroups: keeper and init. For a single call, only the init.
inline constexpr unsigned kOwnTasks = 2, kOwnTasksSingle = 1;

CallSettings call_settings(const Policy& policy, const BuiltPlan& plan, bool single);

// The set-up has a deadline too, because a path on a dead network file system must not hang the
// caller.
std::chrono::milliseconds set_up_patience(const Policy& policy);
std::string out_of_patience(std::chrono::milliseconds patience);

// Sends a message. True also if the other side has ended: then it has said why, and that can still
// be read. False for any other failure; errno is set.
bool send_or_ended(int socket, const wire::Message& message, const int* fds, int count);

// Whether a limit that only a cgroup can hold for a whole tree was named or is not the default.
bool names_limit_of_tree(const Limits& limits);

// The service manager that makes a scope, so that limits hold for the tree where this user has no
// cgroup of its own. "" if there is no manager, or if a scope is not worth its time: it takes
// longer than a single call, so a single call whose policy names no such limit does without.
std::string scope_manager(const Policy& policy, bool single);

// Makes what a ready cell has on the host's side, except its sockets: pipes and /dev/null.
void make_pipes(const Plan& plan, bool functions, ReadyCell& cell);

}  // namespace brig
