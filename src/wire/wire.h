// The messages between the warden (host), the janitor, the zygote, the keepers and the cells.
// Fixed-size records over SOCK_SEQPACKET: one record per packet, descriptors beside it. Both ends
// come from one build, so the layout needs no versioning; the host still checks every size and tag
// that it gets from inside a cell.
#pragma once

#include <stdint.h>

namespace brig::wire {

// Where setting up failed. The host words it (failure_text.cc).
enum class Stage : uint32_t {
  none,
  plan,
  sockets,
  clone_zygote,
  clone_cell,
  id_map,
  id_mapped_mount,
  private_mounts,
  root_tmpfs,
  bind_source,
  bind_target,
  bind_attach,
  bind_attributes,
  make_node,
  proc,
  pivot,
  read_only_root,
  become_user,
  user_namespace,
  namespaces,
  network_namespace,
  loopback_up,
  hostname,
  scratch,
  scratch_bind,
  late_bind,
  mask,
  working_directory,
  rlimit,
  no_new_privileges,
  landlock_ruleset,
  landlock_rule,
  landlock_restrict,
  capabilities,
  seccomp,
  seccomp_lock,
  fork_tool,
  cgroup,
  id_map_owner,
  runtime,
  program,
  namespace_limits,
  load_scratch,
  guard,
  terminals,
};

enum class Tag : uint32_t {
  // host -> janitor, with the cell's socket, and perhaps the file that is to be its stdin: start a single cell
  // at once; its plan follows, on the cell's socket too. `index` is the namespaces to make, `status` kExtra*, `user` the tool's
  // id inside
  prepare = 1,
  // host -> janitor, with a descriptor: the plan. The first message of all, but for prepare. Perhaps
  // with a second one, for the zygote to say what it has loaded
  plan,
  // host -> janitor, with a descriptor: the keeper's end of the slot's socket
  grow,
  // host -> janitor: make a new pids cgroup for the slot (its peak can't be reset)
  refresh_pids,
  // janitor -> host; slot_refreshed carries the entrance of the new cgroup
  zygote_ready,
  slot_refreshed,
  failed,  // stage, error, index
  // janitor -> zygote, with descriptors: the slot's socket, the entrances of its cgroups
  new_slot,
  // keeper -> host, with descriptors: pidfd of the cell's init, the cell's socket; of a single plan,
  // janitor -> host, with the pidfd alone
  cell_made,
  cell_gone,
  // host -> keeper; perhaps with the entrance of a new cgroup
  make_cell,
  // cell's init -> host; cell_ready carries the workspace, if the plan says so, what kExtra* in `status` say,
  // and the seccomp listener
  cell_ready,
  tool_ended,  // status, usage
  // the tool before exec -> host
  exec_failed,       // error: the program can't be run
  request_failed,    // error: it did not come to that
  files_failed,      // error, index: that file could not be put into the working directory
  directory_failed,  // error: the directory that the request names can't be entered
  // host -> the tool's process: a Request each. A function's is equipped when its cell is made; what
  // is left for its request is the name and the arguments
  equip,
  request,
};

// What a single cell has besides.
inline constexpr int32_t kExtraInput = 1;  // prepare: a file; cell_ready: a read-only view of it
inline constexpr int32_t kExtraTerminal =
    2;  // cell_ready: both sides of a terminal, the host's first

struct Message {
  Tag tag;
  Stage stage;           // failed
  int32_t error;         // of all that failed: errno
  uint32_t index;        // failed: which mount, rule, rlimit, file...; otherwise the slot
  int32_t status;        // tool_ended, cell_gone: a wait status; prepare, cell_ready: kExtra*
  uint32_t killed;       // tool_ended: by SIGUSR1, the host's or a dying keeper's
  uint32_t user;         // prepare
  uint64_t cpu_micros;   // tool_ended, cell_gone: of the tree so far
  uint64_t max_rss_kib;  // likewise: of the largest process
};

// A request: this header, then argv strings and environment strings, each NUL-terminated, argv first;
// then, of a function, whose name is argv[0], its arguments. `size` counts it all. With a command's
// request, or a function's equipment, come the descriptors 0, 1 and 2; with equipment the pipe for the
// answer too (see answer.h). Then, if it is above kInlineRequest, and only the header is in the packet, a
// memfd that holds it; and a memfd that holds the arguments, if they are not in the request. If a text is
// there too, it is their outline, and what comes is a pipe or a memfd to read what belongs into its gaps.
// The last descriptor of a command that finds files in its working directory is a memfd that holds them. Behind the environment of a
// command may stand one string more: the directory that it starts in, from the working directory on.
struct Request {
  Tag tag;
  uint32_t size;
  uint32_t argc;
  uint32_t envc;
  uint32_t has_tty;
  uint32_t arguments_file;  // how much is in the descriptor that they have of their own
  uint32_t files;           // how many files are in the last descriptor
  uint64_t ignored;         // signals that the command finds ignored: bit n - 1 is signal n
};

// In that memfd, for each file: this, its path with a NUL at the end, its bytes. The path is relative and
// normal: no empty component, no "." and no "..".
struct FileHeader {
  uint64_t size;
  uint32_t path_size;  // with the NUL
  uint32_t unused;
};

inline constexpr uint32_t kInlineRequest = 64 * 1024;
inline constexpr uint32_t kMaxRequest = 4 * 1024 * 1024;
inline constexpr uint32_t kInlineArguments = 16 * 1024;
inline constexpr uint32_t kMaxArguments = 1024 * 1024 * 1024;
inline constexpr uint32_t kMaxStrings = 65536;
inline constexpr uint32_t kMaxFiles = 1000;
inline constexpr uint32_t kMaxFilePath = 4096;                 // with the NUL
inline constexpr uint64_t kMaxFileBytes = 1024 * 1024 * 1024;  // of all together

}  // namespace brig::wire
