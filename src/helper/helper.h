// The helper: the program behind every cell. It runs as four kinds of process, each forked from
// the one before:
//
//   janitor   outside the jail, as the host's user. Makes the slots' cgroups; when the host is
//             gone, even by SIGKILL, it ends the zygote, removes the cgroups and exits.
//   zygote    pid 1 of the outer pid namespace, in the finished root file system; forks keepers.
//   keeper    one per slot, born into the slot's cgroups and network namespace; makes one cell at a
//             time and reaps it. Being born inside is what makes a cell's cgroup free.
//   cell      pid 1 (init) of an inner pid namespace, and the tool before exec, which waits for the
//             one request.
//
// All of it is plain code over a Plan and a few descriptors: no exceptions, no allocation, no locks.
// Whatever fails is told as {stage, errno, index} and ends the process: nothing runs half locked.
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
// What a zygote does once it is jailed: loads its tools and makes keepers.
[[noreturn]] void zygote_serve(const Plan& plan, int janitor_socket, int catalog);
// The same, by the program that the plan names. Descriptors for it: see RuntimeFd.
[[noreturn]] void become_runtime(const Plan& plan, int janitor_socket, int catalog);
enum RuntimeFd { kRuntimeJanitor = 3, kRuntimePlan, kRuntimeCatalog, kRuntimeImage, kRuntimeFiles };
[[noreturn]] void keeper_main(const Plan& plan, int slot_socket, const int* entrances,
                              int entrance_count, unsigned slot);
[[noreturn]] void cell_init(const Plan& plan, int socket, unsigned slot);
// Set by an init when all that it does not do by itself is done: from then on it can be killed at any
// moment and leaves its memory, which may be its keeper's, as it should be.
extern volatile bool g_settled;  // NOLINT(bugprone-dynamic-static-initializers)
// The zygote of a single plan: becomes the only cell's init. `plan` is null if it is still to come, on
// the cell's socket.
struct SingleStart {
  unsigned namespaces;    // CLONE_NEW*: made, but for the network's, which is to make
  unsigned uid, gid;      // the janitor's
  unsigned user;          // of the tool, inside
  int input = -1;         // the file that is to be stdin, or -1
  bool terminal = false;  // wanted
};
[[noreturn]] void single_main(const Plan* plan, int cell_socket, const int* id_map_fds,
                              const SingleStart& start);

// The new root, in two steps. Both need CAP_SYS_ADMIN over a fresh mount namespace. The first needs no
// plan: a private mount tree, and what the root is built from.
struct RootStage {
  int old_root = -1, root = -1, proc = -1;
};
bool stage_root(RootStage& stage, Failure& failure, const char* size = "8m");
// Builds it and pivots into it; uses the stage up.
bool build_root(const Plan& plan, const RootStage& stage, const int* id_map_fds, Failure& failure);
// The file or FIFO behind `input`, found by its name, opened anew, for reading, by a read-only mount of its own, at
// the same offset: whoever has that can't write to it nor change its mode, times or attributes. Between the
// two steps above. -1: it has no name here, or may not be opened.
int view_of(int proc, int input);
// Gives up root for the plan's unprivileged id.
bool become_user(const Plan& plan, Failure& failure);

// Scratch space, listed paths on top of it, masks of /proc, the loopback interface. `workspace`: set to a
// descriptor of the private one, if the plan shows it.
bool mount_private(const Plan& plan, int* workspace, Failure& failure);
// Whether what hides or protects listed paths is still in its place; if not, `index` says which guard is gone. The kernel
// takes a mount away, in every namespace, when somebody on the host puts another file in the place of the one below it, as
// editors and git do: then the new one would be there for the cell, unhidden. Asked when a cell is made, and once more
// before the tool runs.
bool guards_hold(const Plan& plan, unsigned* index);
// Scratch space for code that runs while a zygote loads its tools: places and listed paths as in a cell, but
// small and of its own. What is dropped no cell has ever seen; memory that is still mapped stays until it is not.
bool mount_load_scratch(const Plan& plan, Failure& failure);
bool drop_load_scratch(const Plan& plan, Failure& failure);
// What a single cell has besides, for the host.
struct Extras {
  int input = -1;         // what view_of() gave
  bool terminal = false;  // wanted
};
// The rest of a cell's life: locks itself, forks the tool, tells the host, reaps. `proc` is a /proc
// that may be written to, or -1; `scratch` the private directory of floors without mounts, or "";
// `workspace` is for the host, or -1.
[[noreturn]] void run_cell(const Plan& plan, int socket, int proc, const char* scratch,
                           int workspace, const Extras& extras = {});

// What commands and functions do differently: tool_exec.cc or tool_function.cc, by which is linked.
// In the zygote, jailed, before it makes cells. `catalog` is the host's, or -1.
void load_tools(const Plan& plan, int catalog);
// Cuts this process off from the file of the program that it runs, in two steps (see own_program.cc): the
// first needs the right to mount, the second a user namespace of the process' own. A command's tool executes
// another program, and needs neither.
bool make_stand_in(int* stand_in, Failure& failure);
bool leave_program_file(int stand_in, Failure& failure);
// The address space that a tool starts with and has not asked for: what its limit is counted from.
// `proc` is the cell's /proc, or -1 for the host's.
uint64_t inherited_memory(int proc, unsigned long resource);
int fork_tool();
// Waits for the one request and runs its tool.
[[noreturn]] void tool_main(const Plan& plan, int socket);

// Floors without a pid namespace: this process sees to the end of its tree, also when it is orphaned.
void watch_over_tree();

}  // namespace brig::helper
