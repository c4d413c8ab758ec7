// The helper: the program behind every cell. It runs as four kinds of process, each forked from the
// one before:
//
//     janitor   outside the jail, as the host's user. Makes the slots' cgroups; when the host is
//               gone, even by SIGKILL, it ends the zygote, removes the cgroups and exits.
//     zygote    pid 1 of the outer pid namespace, in the finished root file system; forks keepers.
//     keeper    one per slot, born into the slot's cgroups and network namespace; makes one cell
//               at a time and reaps it. A cell born there has its cgroup at no cost.
//     cell      pid 1 (init) of an inner pid namespace, and the tool before exec, which waits for
//               the one request.
//
// All of it is plain code over a Plan and a few descriptors: no exceptions, no locks, and no
// allocation between a cell's clone and "ready". Two things allocate: clean_up.cc, and what a zygote
// of functions loads in load_tools(). The build looks at the symbols (cmake/CheckHelper.cmake).
// Every failure is sent as {stage, errno, index} and ends the process: nothing runs half
// locked.
#pragma once

#include "helper/clean_up.h"
#include "helper/failure.h"
#include "helper/id_map.h"
#include "helper/own_process.h"
#include "helper/plan_file.h"
#include "helper/text.h"
#include "wire/plan.h"
#include "wire/wire.h"

namespace brig::helper {

[[noreturn]] void janitor_main(int host_socket, int host_pidfd);
[[noreturn]] void zygote_main(const Plan& plan, int janitor_socket, const int* id_map_fds,
                              int catalog);
// What a zygote does in the jail: it loads its tools and makes keepers.
[[noreturn]] void zygote_serve(const Plan& plan, int janitor_socket, int catalog);
// The same, done by the program that the plan names. RuntimeFd lists the descriptors for that
// program.
[[noreturn]] void become_runtime(const Plan& plan, int janitor_socket, int catalog);
enum RuntimeFd { kRuntimeJanitor = 3, kRuntimePlan, kRuntimeCatalog, kRuntimeImage, kRuntimeFiles };
[[noreturn]] void keeper_main(const Plan& plan, int slot_socket, const int* entrances,
                              int entrance_count, unsigned slot);
[[noreturn]] void cell_init(const Plan& plan, int socket, unsigned slot);
// An init sets this when everything is done that others depend on. From then on it can be killed at
// any moment and leaves its memory, which may be its keeper's, in good order.
extern volatile bool g_settled;  // NOLINT(bugprone-dynamic-static-initializers)
// How the zygote of a single plan starts: it becomes the init of the only cell. `plan` is null if
// it still has to arrive on the cell's socket.
struct SingleStart {
  // CLONE_NEW* flags. They exist already, except the network's, which is still to be made.
  unsigned namespaces;
  unsigned uid, gid;      // The janitor's.
  unsigned user;          // The tool's, inside the cell.
  int input = -1;         // The file that becomes stdin, or -1.
  bool terminal = false;  // Whether the host wants one.
};
[[noreturn]] void single_main(const Plan* plan, int cell_socket, const int* id_map_fds,
                              const SingleStart& start);

// The new root is built in two steps, which both need CAP_SYS_ADMIN over a fresh mount namespace.
// The first step needs no plan: it makes a private mount tree and what the root is built from.
struct RootStage {
  int old_root = -1, root = -1, proc = -1;
};
bool stage_root(RootStage& stage, Failure& failure, const char* size = "8m");
// Builds the root and pivots into it. Uses the stage up.
bool build_root(const Plan& plan, const RootStage& stage, const int* id_map_fds, Failure& failure);
// A view of the file or FIFO behind `input`: found by its name, opened anew for reading through a
// read-only mount of its own, at the same offset. Whoever has the view can neither write to the
// file nor change its mode, times or attributes. To be called between the two steps above. -1: the
// file has no name here or may not be opened.
int view_of(int proc, int input);
// Gives up root for the plan's unprivileged ids.
bool become_user(const Plan& plan, Failure& failure);

// Mounts the scratch space with listed paths on top, masks parts of /proc, and brings the loopback
// interface up. Sets `workspace` to a descriptor of the private workspace, if the plan shows it to
// the host.
bool mount_private(const Plan& plan, int* workspace, Failure& failure);
// Whether the mounts that hide or protect listed paths are still in place. If not, `index` says
// which guard is gone. The kernel removes a mount in every namespace when somebody on the host
// replaces the file below it, as editors and git do, and then the cell would see the new file
// unhidden. So brig checks when a cell is made and once more before the tool runs.
bool guards_hold(const Plan& plan, unsigned* index);
// Mounts a scratch space for code that runs while a zygote loads its tools: places and listed paths
// as in a cell, but small and separate. No cell ever sees what is dropped there; memory that is
// still mapped stays until it is unmapped.
bool mount_load_scratch(const Plan& plan, Failure& failure);
bool drop_load_scratch(const Plan& plan, Failure& failure);
// What a single cell has beside the rest, for the host.
struct Extras {
  int input = -1;         // The result of view_of().
  bool terminal = false;  // Whether the host wants one.
};
// The rest of a cell's life: it locks itself, forks the tool, reports to the host and reaps. `proc`
// is a writable /proc, or -1. `scratch` is the private directory on floors without mounts, or "".
// `workspace` is a descriptor for the host, or -1.
[[noreturn]] void run_cell(const Plan& plan, int socket, int proc, const char* scratch,
                           int workspace, const Extras& extras = {});

// The next functions differ between commands and functions: tool_exec.cc or tool_function.cc is
// linked. This one runs in the zygote, jailed, before it makes cells. `catalog` is the host's, or
// -1.
void load_tools(const Plan& plan, int catalog);
// Separates this process from the file of the program that it runs, in two steps (see
// own_program.cc). The first needs the right to mount, the second a user namespace of the process's
// own. A command's tool executes another program and needs neither.
bool make_stand_in(int* stand_in, Failure& failure);
bool leave_program_file(int stand_in, Failure& failure);
// How much address space a tool has at its start without having asked for it. Its limit is counted
// from there. `proc` is the cell's /proc, or -1 for the host's.
uint64_t inherited_memory(int proc, unsigned long resource);
int fork_tool();
// Waits for the one request and runs its tool.
[[noreturn]] void tool_main(const Plan& plan, int socket);

// For floors without a pid namespace: this process sees to the end of its tree, also when it is
// orphaned.
void watch_over_tree();

}  // namespace brig::helper
