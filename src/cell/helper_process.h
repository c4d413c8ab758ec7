// HelperProcess: the janitor, as the host sees it, with the plan and the cgroups that it works from.
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
  std::shared_ptr<HostCopy> host_copy;     // for the functions of this process
  std::shared_ptr<UniqueFd> loader;        // the program to execute instead, for those of a library
  std::shared_ptr<const Payload> payload;  // what the zygote loads, or becomes; or null
  bool shows_workspace = false;            // of its cells: see CellResult
  bool functions() const { return host_copy || payload; }
};

struct HelperProcess {
  UniqueFd socket;  // not there: not started, or stopped
  BuiltPlan plan;
  CgroupLayout cgroups;
  std::shared_ptr<const AsMade> as_made;  // of its cells
  UniqueFd catalog;  // a memfd in which the zygote tells what its payload holds: one frame
  std::unique_ptr<CleanSpawn> starting;  // until the plan is sent
  Child janitor;

  ~HelperProcess() { stop(); }

  // The program. It gets ready while the plan is worked out; an error in that is its end of file.
  void spawn(const Origin& origin = {});
  // Makes the cgroups and the plan. `single`: for one call.
  void work_out(const Policy& policy, bool single, const Origin& origin = {});
  // To the janitor, whose the cgroups are from here on; to a single cell too.
  void send_plan(int cell_socket = -1);
  // Says that it is enough: the janitor ends all cells, removes their traces and leaves.
  void hang_up();
  // hang_up(), and waits until it is done.
  void stop();
};

// brig's own processes in a cell's cgroups: keeper and init; for a single call, the init.
inline constexpr unsigned kOwnTasks = 2, kOwnTasksSingle = 1;

CallSettings call_settings(const Policy& policy, const BuiltPlan& plan, bool single);

// Set-up has a deadline too: a path on a dead network file system must not hang the caller.
std::chrono::milliseconds set_up_patience(const Policy& policy);
std::string out_of_patience(std::chrono::milliseconds patience);

// Sends, or finds that the other side has ended: then it has said why, and that can still be read. False for
// any other failure; errno is set.
bool send_or_ended(int socket, const wire::Message& message, const int* fds, int count);

// The service manager to ask for a scope, so that limits hold for the tree where this user has no cgroup of its
// own; "" if there is none, or if it is not worth while: a scope takes longer than a single call, so one
// that named no such limit does without.
std::string scope_manager(const Policy& policy, bool single);

// What a ready cell has on the host's side, but for its sockets: pipes, /dev/null.
void make_pipes(const Plan& plan, bool functions, ReadyCell& cell);

}  // namespace brig
