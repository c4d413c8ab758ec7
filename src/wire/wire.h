// The messages between the warden (host), the janitor, the zygote, the keepers and the cells. They
// are fixed-size records over SOCK_SEQPACKET: one record per packet, with descriptors beside it.
// Both ends come from one build, so the layout needs no version. Even so, the host checks every
// size and tag that it gets from inside a cell.
#pragma once

#include <stdint.h>

namespace brig::wire {

// Where the set-up failed. The host puts it into words (failure_text.cc).
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
  way_out,
};

enum class Tag : uint32_t {
  // host -> janitor, with the cell's socket and perhaps the file for its stdin: start a single cell
  // at once. Its plan follows, on the cell's socket too. `index` has the namespaces to make,
  // `status` kExtra*, `user` the tool's id inside.
  prepare = 1,
  // host -> janitor, with a descriptor: the plan. The first message, except prepare. A second
  // descriptor, if there is one, is where the zygote writes what it has loaded.
  plan,
  // host -> janitor, with a descriptor, the keeper's end of the slot's socket: make a slot.
  grow,
  // host -> janitor: make a new pids cgroup for the slot, because its peak can't be reset.
  refresh_pids,
  // janitor -> host. slot_refreshed carries the entrance of the new cgroup.
  zygote_ready,
  slot_refreshed,
  // Any process of the helper -> host. Uses stage, error and index.
  failed,
  // janitor -> zygote, with descriptors: the slot's socket and the entrances of its cgroups.
  new_slot,
  // keeper -> host, with descriptors: the pidfd of the cell's init and the cell's socket. For a
  // single plan: janitor -> host, with the pidfd alone.
  cell_made,
  cell_gone,
  // host -> keeper. May carry the entrance of a new cgroup.
  make_cell,
  // The cell's init -> host. cell_ready carries the workspace, if the plan says so, what kExtra* in
  // `status` say, and the seccomp listener. In a room that is kept there is no tool yet.
  cell_ready,
  // The cell's init -> host, before cell_ready: sockets of the plan's way_out_ports.
  way_out,
  // The cell's init -> host. Uses status, the usage and `room`.
  tool_ended,
  // host -> the init of a room that is kept, with a descriptor: the next tool's socket.
  next,
  // The tool before exec -> host. `error` is the errno.
  // exec_failed: the program can't be run.
  exec_failed,
  // The request failed before that.
  request_failed,
  // The file `index` could not be put into the working directory.
  files_failed,
  // The directory that the request names can't be entered.
  directory_failed,
  // host -> the tool's process: a Request each. A function is equipped when its cell is made; its
  // request then has only the name and the arguments.
  equip,
  request,
};

// What a single cell has beside the rest. With prepare: a file. With cell_ready: a read-only view
// of it.
inline constexpr int32_t kExtraInput = 1;
// With cell_ready: both sides of a terminal, the host's first.
inline constexpr int32_t kExtraTerminal = 2;

// What the init found when it compared the room with what it was when new (helper/room_check.h).
enum class RoomState : uint32_t {
  // The room ends with its cell: nobody looked.
  not_kept,
  as_new,
  // The first thing that differed. The room ends.
  space,       // blocks and inodes of the scratch space
  inode,       // one of its directories: mode, owner, size, times, flags
  attributes,  // the names of attributes there, with ACLs
  ipc,         // System V objects
  sockets,
  limits,  // of the init itself, as the two below
  scheduling,
  signals,
  // The look failed.
  unknown,
};

struct Message {
  Tag tag;
  // For failed.
  Stage stage;
  // For every tag that reports a failure: the errno.
  int32_t error;
  // For failed: which mount, rule, rlimit, file... Otherwise the slot.
  uint32_t index;
  // For tool_ended and cell_gone: a wait status. For prepare and cell_ready: kExtra*.
  int32_t status;
  // For tool_ended: whether a SIGUSR1 of the host or of a dying keeper had the init kill it.
  uint32_t killed;
  // For prepare.
  uint32_t user;
  // For tool_ended.
  RoomState room;
  // For tool_ended and cell_gone: of the tree so far, and of its largest process.
  uint64_t cpu_micros;
  uint64_t max_rss_kib;
};

// A request: this header, then the strings of argv, then those of the environment, each with a NUL
// at its end. For a function, argv[0] is its name, and its arguments follow. `size` counts all of
// it. A command's environment may be followed by one more string: the directory to start in,
// relative to the working directory.
//
// Descriptors come in this order:
// - 0, 1 and 2, with a command's request or a function's equipment;
// - with equipment, the pipe for the answer (see answer.h);
// - for a request above kInlineRequest, of which the packet has only the header, a memfd that holds
//   it;
// - if the arguments are not in the request, a memfd that holds them. If the request has a text
//   too, it is their outline, and the descriptor is a pipe or a memfd to read what belongs into its
//   gaps;
// - for a command with files in its working directory, a memfd that holds them.
struct Request {
  Tag tag;
  uint32_t size;
  uint32_t argc;
  uint32_t envc;
  uint32_t has_tty;
  // How many bytes are in the arguments' own descriptor.
  uint32_t arguments_file;
  // How many files are in the last descriptor.
  uint32_t files;
  // The signals that the command finds ignored: bit n - 1 stands for signal n.
  uint64_t ignored;
};

// That memfd has for each file: this header, its path with a NUL at the end, and its bytes. The
// path is relative and normal: no empty component, no "." and no "..".
struct FileHeader {
  uint64_t size;
  uint32_t path_size;  // With the NUL.
  uint32_t unused;
};

inline constexpr uint32_t kInlineRequest = 64 * 1024;
inline constexpr uint32_t kMaxRequest = 4 * 1024 * 1024;
inline constexpr uint32_t kInlineArguments = 16 * 1024;
inline constexpr uint32_t kMaxArguments = 1024 * 1024 * 1024;
inline constexpr uint32_t kMaxStrings = 65536;
inline constexpr uint32_t kMaxFiles = 1000;
inline constexpr uint32_t kMaxFilePath = 4096;                 // With the NUL.
inline constexpr uint64_t kMaxFileBytes = 1024 * 1024 * 1024;  // Of all files together.

}  // namespace brig::wire
