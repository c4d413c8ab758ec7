// Call: one command in one cell, from the request to the report. A passive state machine: whoever
// owns it polls its descriptors and its timer (a Runner's thread for run_async, the caller's own for
// run) and hands the events in. One thread at a time.
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
#include "policy/listed_path.h"
#include "wire/wire.h"

namespace brig {

using Clock = std::chrono::steady_clock;

// What of a cell depends on what was on the disk when its zygote was made.
struct AsMade {
  CellView view;
  std::vector<MissingName> missing;
};

// A cell that waits for its one request, with all it needs made ahead.
struct ReadyCell {
  unsigned slot = 0;
  unsigned zygote = 0;  // of a Warden's
  std::shared_ptr<const AsMade> made;
  std::string scratch;                 // floors without mounts: its private directory
  std::shared_ptr<SlotCgroup> cgroup;  // null where there is none; begin() was called
  UniqueFd pidfd;                      // of the cell's init
  UniqueFd socket;                     // to the init, and to the tool until it has exec'ed
  UniqueFd workspace;                  // of zygotes that show it: a directory, O_PATH
  UniqueFd listener;                   // of the lock filter
  UniqueFd input;                      // of a single cell: a read-only view of the file for stdin
  UniqueFd null;  // /dev/null, opened for this cell: flags set on it must not reach another's
  UniqueFd out_read, out_write, err_read, err_write;
  UniqueFd answer_read, answer_write;  // of function zygotes
};

// What is asked of a cell: a command, or, with arguments, the function argv[0].
struct CellRequest {
  Command command;
  std::optional<std::string> arguments;
  // Made ahead, by who asks, if the arguments are large: a file that holds them, or something to read
  // what belongs into the gaps of their outline.
  UniqueFd arguments_file;
  std::uint32_t arguments_size = 0;  // of what is in the file
  // Of a command: more variables, which take the place of the cell's own of that name; and the directory that it starts in, from
  // its working directory on. Empty: there.
  std::map<std::string, std::string> variables;
  std::string directory;
  UniqueFd files;                       // of a command: see stow_files
  std::vector<std::string> file_names;  // for messages
  ProgressCallback on_progress;
  CallLimits limits;                  // none wider than the policy's
  std::function<bool()> interrupted;  // asked, if the caller drives (Interruption): true ends it
  Clock::time_point asked = Clock::now();  // the clock of the wall limit starts here
};
// Gives the request a function's arguments, the text of these pieces: large ones in a file. Throws Error;
// config for more than brig takes.
void stow_arguments(CellRequest& request, std::span<const std::string_view> pieces);
// The same for arguments most of which are long strings: a short text with gaps, and what is in them.
void stow_outline(CellRequest& request, std::string outline,
                  std::span<const std::string_view> runs);

// A file that a command is to find in its working directory.
struct InputFile {
  std::string path;  // relative and normal
  std::string bytes;
};
// Throws Error(config) for a path that leads elsewhere, or for more than brig takes.
void check_files(std::span<const InputFile> files);
// Gives the request a command's files. Throws Error: config for a path that leads elsewhere, or for more than
// brig takes.
void stow_files(CellRequest& request, std::span<const InputFile> files);

// Gives a function's cell all that does not depend on the call. False: errno is set.
struct CallSettings;
bool send_equipment(const CallSettings& settings, ReadyCell& cell);

// What came of it.
struct CellResult {
  Report report;
  Answer answer;  // of a function
  // What a call has left, where its zygote shows that and all of its processes are known to be gone; or
  // null. The cell's slot is not used again before it goes, and the Warden must be there until then.
  std::unique_ptr<Workspace> workspace;
  std::shared_ptr<const AsMade> made;  // its cell, if it had one
};

// What all calls of one Runner share. Outlives them.
struct CallSettings {
  Limits limits;
  std::string environment;  // "NAME=value" strings, each with its NUL
  std::uint32_t variables = 0;
  std::vector<std::string> scratch_variables;  // name the cell's own directory, where it has one
  std::vector<std::string> enforced;
  bool counts_memory = false;      // no memory cgroup: limits.memory holds for each process
  std::vector<int> counted_calls;  // then: those that the host counts, and lets go on
  Network network = Network::none;
  Syscalls syscalls;
  bool counts_processes = false;  // a cgroup tells of refused ones
  bool init_exposed = false;      // no pid namespace: the tool can kill the cell's init
  unsigned own_tasks = 2;         // brig's processes in each slot: keeper and init
  bool functions = false;         // of a function zygote
  bool shows_workspace = false;
};

// What else stood in the way of a call that did not end well, beside the cause: as violations, and as sentences behind the message.
// `said`: what it complained of; `argv`: the words of a command.
void conclude(Report& report, const CallSettings& settings, const CellView& view,
              std::uint64_t scratch, const std::vector<std::string>& argv, const std::string& said);

class Call {
 public:
  // The answer first: a poll looks at them in this order, so who finds it there has seen all output that
  // came before it.
  enum Source { kAnswer, kSocket, kOut, kErr, kListener, kCancel, kStdin, kSources };

  Call(const CallSettings& settings, CellRequest request, OutputCallback on_output);

  // An error in the command itself, in words, or empty.
  static std::string defect(const CellRequest& request, bool single = false);

  // Takes the cell and sends the request. False if the cell is dead and never got it: start another.
  // On any other failure the call is over (internal).
  bool start(ReadyCell cell);
  // Not run after all: over, with this outcome.
  void refuse(Outcome outcome, std::string message);

  // Kills the cell of a call that was started: over, as brig's own failure (internal).
  void abandon(const std::string& why);

  // -1 where there is nothing to poll (any more). All for reading, but kStdin, which is for writing.
  std::array<int, kSources> descriptors() const;
  Interruption& interruption() { return interruption_; }
  void on_ready(Source source);
  // When to call on_timer next.
  Clock::time_point timer() const { return timer_; }
  void on_timer(Clock::time_point now);
  // For who has nothing else to do: waits for the next event, and hands it in.
  void drive();
  // SIGTERM, the grace period, SIGKILL; `at_once`: SIGKILL, also if the grace period has begun.
  void cancel(bool at_once = false);

  bool over() const { return over_; }
  // Once, when over. What is left of the cell is the keeper's.
  CellResult take() { return {std::move(report_), answer_.take(), nullptr, cell_.made}; }
  // Whether the command or function was run, and its init has told that nothing of it is alive any more.
  bool left_workspace() const {
    return ended_ && !end_.killed && cell_.workspace && !exec_error_ && !request_error_ &&
           !files_error_ && !directory_error_;
  }
  // What it held of the cell: closing that takes a while, and need not be waited for.
  ReadyCell remains() { return std::move(cell_); }
  unsigned slot() const { return cell_.slot; }
  Clock::time_point deadline() const { return deadline_; }

 private:
  enum class Ending { none, wall, cpu, output, result, cancelled };

  // What of the request's own limits can't be enforced; empty if all can.
  std::string narrow();
  bool died_waiting() const;
  bool send_request();
  bool send_function();
  static void throw_unless_cell_gone();
  void on_message();
  void on_refusal();
  void feed();
  int give_stdin(UniqueFd& made);
  void leave_stdin() const;
  bool listen(bool to_the_end);
  bool drain(Source source, bool to_the_end);
  void end(Ending why);
  void arm(Clock::time_point now);
  void finish();
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
  const Limits limits_;  // the policy's, as far as the request has no narrower one
  OutputCallback on_output_;
  Clock::time_point asked_, deadline_, timer_, kill_at_{}, begun_{}, sent_{}, answered_{};
  Interruption interruption_;
  ReadyCell cell_;
  // A regular file as stdin of which there is no view reaches the tool through a pipe: with the descriptor itself
  // it could change the file's mode or times. Both ends are held, so that a tool that does not read raises no
  // SIGPIPE, and what it has not read can be given back.
  UniqueFd stdin_read_, stdin_write_;
  off_t stdin_begin_ = -1;  // where the file stood
  OutputBuffer out_, err_;
  AnswerReader answer_;
  Ending ending_ = Ending::none;
  int kills_ = 0;
  bool quiet_ = false;      // there was an answer and no output when that was last looked at
  bool unwatched_ = false;  // nobody is left who could be refused: the listener need not be polled
  bool over_ = false;
  bool heard_ = false;  // all that a function says
  bool early_ = false;  // a function has answered, and nobody waits for it to end
  bool ended_ = false;  // the init has told the tool's end
  wire::Message end_{};
  int exec_error_ = 0, request_error_ = 0, files_error_ = 0, directory_error_ = 0,
      hearing_error_ = 0;
  std::uint32_t failed_file_ = 0;
  std::map<std::string, std::uint64_t> refusals_;
  std::uint64_t refusal_count_ = 0;
  std::uint64_t shared_memory_ = 0;  // granted in all; what was freed again is not known
  std::uint64_t memory_refusals_ = 0;
  Report report_;
};

}  // namespace brig
