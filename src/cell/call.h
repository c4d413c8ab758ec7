// Call: one command in one cell, from the request to the report. It is a passive state machine: its
// owner polls its descriptors and its timer, and hands the events in. The owner is a Runner's
// thread for run_async, and the caller's own for run. One thread at a time.
#pragma once

#include <brig/command.h>
#include <brig/policy.h>
#include <brig/report.h>
#include <brig/runner.h>

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "cell/answer.h"
#include "cell/cell_view.h"
#include "cell/interruption.h"
#include "cell/output_buffer.h"
#include "cell/slot_cgroup.h"
#include "cell/workspace.h"
#include "egress/way_out.h"
#include "policy/listed_path.h"
#include "wire/wire.h"

namespace brig {

using Clock = std::chrono::steady_clock;

// The properties of a cell that depend on what was on the disk when its zygote was made.
struct AsMade {
  CellView view;
  std::vector<MissingName> missing;
};

// A cell that waits for its one request, with everything that it needs made ahead.
struct ReadyCell {
  unsigned slot = 0;
  unsigned zygote = 0;  // The number of a Warden's zygote.
  std::shared_ptr<const AsMade> made;
  // On floors without mounts: its private directory.
  std::string scratch;
  // Null where there is none. begin() has been called.
  std::shared_ptr<SlotCgroup> cgroup;
  UniqueFd pidfd;  // The cell's init.
  // To the tool until its exec; and to the init, unless the room is kept.
  UniqueFd socket;
  // To the init of a room that is kept, how many cells it has had before this one, and whose they
  // were.
  UniqueFd room;
  unsigned earlier_cells = 0;
  std::string owner;
  std::uint64_t slot_birth = 0;  // Which of all slots that had this number.
  // A directory, O_PATH, from zygotes that show it.
  UniqueFd workspace;
  UniqueFd listener;  // The lock filter's.
  // Of cells with Network::proxy. While the cell is made, only their sockets are there.
  egress::Sockets proxy_sockets;
  std::unique_ptr<egress::WayOut> way_out;
  // For a single cell: a read-only view of the file for stdin.
  UniqueFd input;
  // /dev/null, opened for this cell, because flags that are set on it must not reach another
  // cell's.
  UniqueFd null;
  UniqueFd out_read, out_write, err_read, err_write;
  UniqueFd answer_read, answer_write;  // For function zygotes.
};

inline const UniqueFd& init_socket(const ReadyCell& cell) {
  return cell.room ? cell.room : cell.socket;
}

// What a cell has to do: run a command or, if there are arguments, call the function argv[0].
struct CellRequest {
  Command command;
  std::optional<std::string> arguments;
  // If the arguments are large, the caller makes this ahead: a file that holds them, or a
  // descriptor to read what belongs into the gaps of their outline.
  UniqueFd arguments_file;
  std::uint32_t arguments_size = 0;  // How many bytes are in the file.
  // For a command: variables, which replace the cell's own of the same names, and the directory to
  // start in, relative to the working directory. Empty: the working directory.
  std::map<std::string, std::string> variables;
  std::string directory;
  UniqueFd files;                       // For a command: see stow_files.
  std::vector<std::string> file_names;  // For messages.
  ProgressCallback on_progress;
  CallLimits limits;  // None is wider than the policy's.
  // For Network::proxy: the hosts of this call. Null: all of the policy's.
  std::shared_ptr<const egress::Rules> hosts;
  // For callers that drive the call themselves (see Interruption): returning true ends it.
  std::function<bool()> interrupted;
  // Who asks. Two callers never have cells in the same room.
  std::string owner;
  // The timeout counts from here.
  Clock::time_point asked = Clock::now();
};
// Gives the request a function's arguments, whose text consists of these pieces; large ones go into
// a file. Throws Error: `config` for more than brig accepts.
void stow_arguments(CellRequest& request, std::span<const std::string_view> pieces);
// The same for arguments that consist mostly of long strings: a short text with gaps, and what
// belongs into them.
void stow_outline(CellRequest& request, std::string outline,
                  std::span<const std::string_view> runs);

// A file that a command finds in its working directory.
struct InputFile {
  std::string path;  // Relative and normal.
  std::string bytes;
};
// Throws Error(config) for a path that leads elsewhere, or for more than brig accepts.
void check_files(std::span<const InputFile> files);
// Gives the request a command's files. Throws Error: `config` for a path that leads elsewhere, or
// for more than brig accepts.
void stow_files(CellRequest& request, std::span<const InputFile> files);

// Has the proxy serve a cell's sockets, if the policy says so. Throws Error.
struct CallSettings;
void open_way_out(const CallSettings& settings, ReadyCell& cell);

// Gives a function's cell everything that does not depend on the call. False on failure; errno is
// set.
bool send_equipment(const CallSettings& settings, ReadyCell& cell);

// What came of a request.
struct CellResult {
  Report report;
  Answer answer;  // A function's.
  // What a call has left, if its zygote shows that and all of the call's processes are known to be
  // gone; otherwise null. The cell's slot is not used again while this exists, and the Warden must
  // live as long.
  std::unique_ptr<Workspace> workspace;
  std::shared_ptr<const AsMade> made;  // The properties of its cell, if it had one.
};

// What all calls of one Runner share. It outlives them.
struct CallSettings {
  Limits limits;
  std::string environment;  // "NAME=value" strings, each with a NUL at its end.
  std::uint32_t variables = 0;
  // Names of variables that get the path of the cell's own directory, where it has one.
  std::vector<std::string> scratch_variables;
  std::vector<std::string> enforced;
  // There is no memory cgroup: limits.memory holds for each process.
  bool counts_memory = false;
  // A single call whose policy names no limit of the tree: with one, the user's systemd would have
  // been asked for a cgroup.
  bool asked_for_no_scope = false;
  // Then: the calls that the host counts and lets go on.
  std::vector<int> counted_calls;
  Network network;
  std::shared_ptr<const egress::Settings> egress;  // For Network::proxy.
  Syscalls syscalls;
  bool counts_processes = false;  // A cgroup counts refused processes.
  bool init_exposed = false;      // There is no pid namespace: the tool can kill the cell's init.
  unsigned own_tasks = 2;         // brig's processes in each slot: keeper and init.
  bool functions = false;         // Whether the zygote runs functions.
  bool shows_workspace = false;
  bool keeps_room = false;  // The plan's.
};

// Finds what else stood in the way of a call that did not end well, beside the cause. Adds it as
// violations, and as sentences behind the message. `said` is the text with the command's
// complaints, `argv` the words of the command.
void conclude(Report& report, const CallSettings& settings, const CellView& view,
              std::uint64_t scratch, const std::vector<std::string>& argv, const std::string& said);

class Call {
 public:
  // The answer comes first: polls look at these in this order, so when a poll finds the answer, all
  // output from before it has been seen.
  enum Source { kAnswer, kSocket, kOut, kErr, kListener, kCancel, kStdin, kSources };

  Call(const CallSettings& settings, CellRequest request, OutputCallback on_output);

  // What is wrong with the command itself, in words, or "".
  static std::string defect(const CellRequest& request, bool single = false);

  // Takes the cell and sends the request. False if the cell is dead and never got it: start with
  // another one. After any other failure the call is over (internal).
  bool start(ReadyCell cell);
  // Ends a call that is not run after all: it is over, with this outcome.
  void refuse(Outcome outcome, std::string message);

  // Kills the cell of a call that was started: the call is over as brig's own failure (internal).
  void abandon(const std::string& why);

  // -1 where there is nothing to poll (any more). All are for reading, except kStdin, which is for
  // writing.
  std::array<int, kSources> descriptors() const;
  Interruption& interruption() { return interruption_; }
  void on_ready(Source source);
  // When to call on_timer() next.
  Clock::time_point timer() const { return timer_; }
  void on_timer(Clock::time_point now);
  // For owners with nothing else to do: waits for the next event and handles it.
  void drive();
  // SIGTERM, the grace period, SIGKILL. With `at_once`: SIGKILL, also during the grace period.
  void cancel(bool at_once = false);

  bool over() const { return over_; }
  // To be called once, when the call is over. What is left of the cell is the keeper's.
  CellResult take() { return {std::move(report_), answer_.take(), nullptr, cell_.made}; }
  // Whether the command or function ran, and its init has reported that no process of it is alive
  // any more.
  bool left_workspace() const {
    return ended_ && !end_.killed && cell_.workspace && !exec_error_ && !request_error_ &&
           !files_error_ && !directory_error_;
  }
  // What the call held of the cell. Closing that takes a while, and nobody needs to wait for it.
  ReadyCell remains() { return std::move(cell_); }
  // Whether the next cell may stand in the same room. If not yet known, the init's next message
  // tells it: the call is over, but the last of its processes may not be.
  enum class RoomAfter { goes, stays, unknown };
  RoomAfter room_after() const { return room_after_; }
  // Descriptors that stay with the room.
  std::array<int, 2> of_room() const { return {cell_.room.get(), cell_.listener.get()}; }
  const std::string& owner() const { return request_.owner; }
  unsigned slot() const { return cell_.slot; }
  Clock::time_point deadline() const { return deadline_; }

 private:
  enum class Ending { none, wall, cpu, output, result, cancelled };

  // Returns the first limit of this call that can't be enforced, in words, or "".
  std::string narrow();
  bool died_waiting() const;
  bool send_request();
  bool send_function();
  static void throw_unless_cell_gone();
  void on_message();
  bool hear_tool(const wire::Message& message);
  RoomAfter judge_room() const;
  void on_refusal();
  void feed();
  int give_stdin(UniqueFd& made);
  void leave_stdin() const;
  bool listen(bool to_the_end);
  bool drain(Source source, bool to_the_end);
  void end(Ending why);
  void arm(Clock::time_point now);
  void finish();
  void close_way_out();
  void judge(Report& report, const CgroupUsage& usage);
  void conclude(Report& report) const;
  std::string why_not_run(Report& report) const;
  std::string why_not_there(Report& report) const;
  const Output& said_in(const Report& report) const;
  std::string guess(Report& report) const;
  const char* what() const;  // "tool" or "command"
  // By the stage that the call ended at; each sets outcome and message.
  void judge_request(Report& report) const;
  void judge_files(Report& report) const;
  void judge_ending(Report& report) const;
  void judge_lost(Report& report, const CgroupUsage& usage) const;
  void judge_signal(Report& report, const CgroupUsage& usage) const;
  void judge_exit(Report& report, const CgroupUsage& usage);
  void judge_memory(Report& report) const;
  void judge_function(Report& report);

  const CallSettings& settings_;
  CellRequest request_;
  const Limits limits_;  // The policy's, or the request's where it has a narrower one.
  OutputCallback on_output_;
  Clock::time_point asked_, deadline_, timer_, kill_at_{}, begun_{}, sent_{}, answered_{};
  Interruption interruption_;
  ReadyCell cell_;
  // A regular file for stdin that has no view reaches the tool through a pipe: with the descriptor
  // itself the tool could change the file's mode or times. The call holds both ends, so that a tool
  // that does not read causes no SIGPIPE, and what it has not read can be given back.
  UniqueFd stdin_read_, stdin_write_;
  off_t stdin_begin_ = -1;  // Where the file's offset was.
  OutputBuffer out_, err_;
  AnswerReader answer_;
  Ending ending_ = Ending::none;
  int kills_ = 0;
  // Set when the init has closed its socket and is not gone yet: until when to wait for that.
  Clock::time_point gone_by_{};
  // At the last look there was an answer and no output.
  bool quiet_ = false;
  // No process is left under the filter, so the listener need not be polled.
  bool unwatched_ = false;
  bool over_ = false;
  bool heard_ = false;  // The function has sent everything.
  bool early_ = false;  // A function has answered, and nobody waits for its end.
  bool ended_ = false;  // The init has reported the tool's end.
  wire::Message end_{};
  int exec_error_ = 0, request_error_ = 0, files_error_ = 0, directory_error_ = 0,
      hearing_error_ = 0;
  std::string unaccounted_;  // Why the report lacks what the tool reached.
  std::uint32_t failed_file_ = 0;
  // A descriptor of the cell may be outside.
  bool may_have_handed_out_ = false;
  RoomAfter room_after_ = RoomAfter::goes;
  std::map<std::string, std::uint64_t> refusals_;
  std::uint64_t refusal_count_ = 0;
  std::uint64_t shared_memory_ = 0;  // Granted in all. How much of it was freed again is not known.
  std::uint64_t memory_refusals_ = 0;
  Report report_;
};

}  // namespace brig
