// What a call's end means: the one true cause, and a sentence that says what to do about it.
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "cell/call.h"
#include "cell/complaint.h"
#include "cell/violation.h"
#include "os/user_scope.h"

namespace brig {
namespace {

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

// In the sentence; all are in the list.
constexpr std::size_t kMostPathsMentioned = 2, kMostCallsMentioned = 2;

// Marks the violations of that code: the message words them already.
void mark_mentioned(Report& report, std::string_view code) {
  for (Violation& each : report.violations)
    if (each.code == code) each.mentioned = true;
}

void say(Report& report, Outcome outcome, std::string message) {
  report.outcome = outcome;
  report.message = std::move(message);
}

// Adds a violation that the message words already. Returns its sentence.
std::string tell(Report& report, Violation violation) {
  violation.mentioned = true;
  report.violations.push_back(std::move(violation));
  return sentence(report.violations.back());
}

void add_network(Report& report) {
  constexpr const char* kCode = "network.refused";
  for (const Violation& each : report.violations)
    if (each.code == kCode) {
      report.message += "; " + sentence(each);
      // AF_INET and AF_INET6 are one network.
      return mark_mentioned(report, kCode);
    }
}

void add_calls(Report& report, const std::string& said) {
  std::size_t more = 0;
  bool traces = false;
  for (Violation& each : report.violations) {
    if (each.code != "syscall.refused" || each.mentioned) continue;
    traces = traces || each.what == "ptrace";
    // A surface with a list shows it there.
    if (++more > kMostCallsMentioned) continue;
    each.mentioned = true;
    report.message += "; " + sentence(each);
  }
  if (more > kMostCallsMentioned)
    report.message += fmt::format("; and {} more", more - kMostCallsMentioned);
  if (traces && said.find("LeakSanitizer") != std::string::npos)
    report.message +=
        "; LeakSanitizer needs ptrace: set ASAN_OPTIONS=detect_leaks=0 in the program's "
        "environment to run it without";
}

}  // namespace

// Returns where a program complains: on stderr, unless that is joined to its stdout.
const Output& Call::said_in(const Report& report) const {
  return request_.command.join_output ? report.out : report.err;
}

// Without a cgroup nothing is killed for memory, and nothing counts refused processes: a request
// fails, and the program decides how it ends. So this looks at what the program printed and used,
// and names only a possible reason.
std::string Call::guess(Report& report) const {
  if (report.exit_code == 0 || ending_ != Ending::none || exec_error_ || request_error_) return "";
  std::string hint;
  const std::string& said = said_in(report).bytes;
  const bool lacks_process = !settings_.counts_processes && complains_of(Lack::process, said);
  // V8 ends by SIGTRAP when it can't have what it needs to start.
  const bool lacks_memory =
      settings_.counts_memory &&
      (memory_refusals_ || complains_of(Lack::memory, said) || report.signal == SIGTRAP ||
       end_.max_rss_kib * 1024 >= limits_.memory / 4 * 3);
  if (lacks_process && settings_.init_exposed) {
    // Without a cgroup limits.processes holds on the floor jail alone.
    hint += "; " + tell(report, may_lack_shared_process());
  } else if (lacks_process) {
    tell(report, may_lack_process(limits_.processes));
    hint +=
        fmt::format("; it may have been refused a process or thread: raise limits.processes, {}",
                    limits_.processes);
  }
  if (settings_.counts_memory && complains_of(Lack::shadow, said)) {
    // More memory would lead in a circle: there is no such limit that anyone would give.
    const bool may_have_scope = settings_.asked_for_no_scope && !user_manager_socket().empty();
    hint += "; " + tell(report, lacks_address_space(limits_.memory, may_have_scope));
  } else if (lacks_memory) {
    if (!memory_refusals_) tell(report, may_lack_memory(limits_.memory));
    mark_mentioned(report, "memory.refused");
    hint += fmt::format(
        "; it may have run out of memory: without a cgroup limits.memory holds each process to {}. "
        "Raise limits.memory, or see `brig doctor` for how to limit the whole tree instead",
        format_size(limits_.memory));
  }
  return hint;
}

// Adds what else stood in the way beside the cause, since a limit can hide a refusal: what the
// kernel reported, and what the plan says about the paths that the command named. Only for a
// command that was run and did not end well.
void Call::conclude(Report& report) const {
  switch (report.outcome) {
    case Outcome::ok:
    case Outcome::cancelled:
    case Outcome::denied:
    case Outcome::unknown_tool:
    case Outcome::overloaded:
    case Outcome::internal: return;
    default: break;
  }
  if (request_error_ || files_error_ || directory_error_) return;
  static const std::vector<std::string> kNone;
  if (exec_error_) return add_network(report);
  brig::conclude(report, settings_, cell_.made->view, limits_.scratch,
                 request_.arguments ? kNone : request_.command.argv,
                 answer_.answer().kind == Answer::Kind::error
                     ? last_lines_of_json(answer_.answer().bytes)
                     : last_lines(said_in(report)));
}

void conclude(Report& report, const CallSettings& settings, const CellView& view,
              std::uint64_t scratch, const std::vector<std::string>& argv,
              const std::string& said) {
  add_network(report);
  add_calls(report, said);
  const auto add = [&](Violation violation) {
    report.message += "; " + tell(report, std::move(violation));
  };
  if (!settings.init_exposed && complains_of(Lack::space, said)) add(may_lack_scratch(scratch));
  std::size_t more = 0;
  for (Violation& each : judge_paths(view, argv, said)) {
    if (++more <= kMostPathsMentioned)
      add(std::move(each));
    else
      report.violations.push_back(std::move(each));
  }
}

// Returns why the program could not be executed.
std::string Call::why_not_run(Report& report) const {
  const std::string& program = request_.command.argv[0];
  const std::string name = in_quotes(program);
  if (exec_error_ == EACCES)
    if (std::optional<Violation> found = judge_path(cell_.made->view, program, Refused::any);
        found && found->code == "file.not_executable")
      return tell(report, std::move(*found));
  if (exec_error_ != ENOENT)
    return fmt::format("{} could not be run in the cell: {}", name, errno_text(exec_error_));
  if (program.find('/') == std::string_view::npos)
    return fmt::format(
        "{} was not found in the cell's PATH; check the name, or list its directory in files.read "
        "and in PATH",
        name);
  if (std::optional<Violation> found = judge_path(cell_.made->view, program, Refused::lookup))
    return tell(report, std::move(*found));
  if (program[0] != '/' && starts_in_scratch(cell_.made->view))
    return fmt::format(
        "{} does not exist in the cell, which begins in an empty directory of its own; list yours "
        "in files.read and name it as files.working_directory",
        name);
  return fmt::format("{} does not exist in the cell, or its interpreter doesn't", name);
}

// Returns why the directory that the request names could not be entered.
std::string Call::why_not_there(Report& report) const {
  const std::string name = in_quotes(request_.directory);
  if (directory_error_ == ENOENT || directory_error_ == EACCES)
    if (std::optional<Violation> found =
            judge_path(cell_.made->view, request_.directory, Refused::lookup))
      return fmt::format("cwd: {}; the command was not run", tell(report, std::move(*found)));
  return fmt::format("cwd: {} can't be entered in the cell: {}; the command was not run", name,
                     errno_text(directory_error_));
}

void Call::judge(Report& report, const CgroupUsage& usage) {
  if (ended_ && WIFEXITED(end_.status)) report.exit_code = WEXITSTATUS(end_.status);
  if (ended_ && WIFSIGNALED(end_.status)) report.signal = WTERMSIG(end_.status);
  if (!ended_ && kills_ == 2) report.signal = SIGKILL;
  if (!unaccounted_.empty()) return say(report, Outcome::internal, unaccounted_);
  if (request_error_ || directory_error_ || files_error_ || exec_error_)
    report.exit_code.reset();  // it is that of brig's own code, which was to become the program
  if (request_error_) return judge_request(report);
  if (files_error_) return judge_files(report);
  if (directory_error_) return say(report, Outcome::invalid_arguments, why_not_there(report));
  if (exec_error_) {
    report.exec_error = exec_error_;
    return say(report, Outcome::invalid_arguments, why_not_run(report));
  }
  if (ending_ != Ending::none) return judge_ending(report);
  if (early_) return judge_function(report);
  if (!ended_ || end_.killed || hearing_error_) return judge_lost(report, usage);
  if (report.signal) return judge_signal(report, usage);
  judge_exit(report, usage);
}

const char* Call::what() const { return request_.arguments ? "tool" : "command"; }

void Call::judge_memory(Report& report) const {
  mark_mentioned(report, "memory.killed");
  say(report, Outcome::memory_limit,
      fmt::format("the {} was killed because its processes together used more than {} of memory; "
                  "raise limits.memory or make it use less",
                  what(), format_size(limits_.memory)));
}

// The cell could not take the request.
void Call::judge_request(Report& report) const {
  if (request_error_ == ENOMEM && request_.arguments)
    return say(report, Outcome::memory_limit,
               fmt::format("the arguments do not fit into the {} that the tool may use; it was "
                           "not run, raise limits.memory",
                           format_size(limits_.memory)));
  if (request_error_ == ESTALE)
    return say(report, Outcome::internal,
               fmt::format("a path that files.hide or files.protect names, or that is listed "
                           "below another one, was replaced on the host just now; the {} was "
                           "not run, try again",
                           what()));
  return say(report, Outcome::internal,
             fmt::format("the cell could not take the command: {}; it was not run, try again",
                         errno_text(request_error_)));
}

// The host ended the call.
void Call::judge_ending(Report& report) const {
  switch (ending_) {
    case Ending::wall:
      return say(report, Outcome::timeout,
                 fmt::format("the {} was ended after its timeout of {}; raise limits.timeout or "
                             "make it faster",
                             what(), format_duration(limits_.timeout)));
    case Ending::cpu:
      return say(report, Outcome::timeout,
                 fmt::format("the {} was ended after it had used its CPU time limit of {}; "
                             "raise limits.cpu_time or make it compute less",
                             what(), format_duration(*limits_.cpu_time)));
    case Ending::output:
      return say(report, Outcome::output_limit,
                 fmt::format("the {} was ended after it had written more than {}; raise "
                             "limits.output_total or make it write less",
                             what(), format_size(*limits_.output_total)));
    case Ending::result:
      return say(report, Outcome::output_limit,
                 fmt::format("the tool's result of {} is larger than {}; raise limits.result or "
                             "return less",
                             format_size(answer_.answer().size), format_size(limits_.result)));
    case Ending::cancelled: return say(report, Outcome::cancelled, "the call was cancelled");
    case Ending::none: break;
  }
}

// The cell has not reported how the call ended.
void Call::judge_lost(Report& report, const CgroupUsage& usage) const {
  if (ended_ && end_.killed)
    return say(report, Outcome::internal,
               "the cell was ended because a process of brig's was killed; try again");
  if (hearing_error_)
    return say(
        report, Outcome::internal,
        fmt::format("brig lost its connection to the cell ({}); the cell was ended; try again",
                    errno_text(hearing_error_)));
  if (usage.oom_kills) return judge_memory(report);
  if (settings_.init_exposed) {
    report.signal = SIGKILL;
    return say(
        report, Outcome::signal,
        fmt::format("the cell's own init was killed, and all that the {0} had started was ended; "
                    "on this floor the {0} can do that itself",
                    what()));
  }
  return say(report, Outcome::internal,
             "the cell ended without a report: its init was killed from outside, or the zygote "
             "ended; try again");
}

void Call::judge_signal(Report& report, const CgroupUsage& usage) const {
  if (usage.oom_kills && *report.signal == SIGKILL) return judge_memory(report);
  if (*report.signal == SIGXCPU && limits_.cpu_time)
    return say(
        report, Outcome::timeout,
        fmt::format("the {} was ended after a process of it had used its CPU time limit of {}; "
                    "raise limits.cpu_time or make it compute less",
                    what(), format_duration(*limits_.cpu_time)));
  if (*report.signal == SIGXFSZ && limits_.file_size)
    return say(
        report, Outcome::signal,
        fmt::format("the {} was ended by SIGXFSZ: it wrote a file larger than limits.file_size, {}",
                    what(), format_size(*limits_.file_size)));
  return say(report, Outcome::signal,
             fmt::format("the {} was ended by {} ({}){}", what(), signal_name(*report.signal),
                         sigdescr_np(*report.signal) ? sigdescr_np(*report.signal) : "unknown",
                         guess(report)));
}

void Call::judge_exit(Report& report, const CgroupUsage& usage) {
  if (*report.exit_code == 0 && request_.arguments) return judge_function(report);
  if (*report.exit_code == 0) return say(report, Outcome::ok, "the command succeeded");
  if (usage.oom_kills) return judge_memory(report);
  if (usage.fork_failures) {
    mark_mentioned(report, "processes.refused");
    return say(report, Outcome::process_limit,
               fmt::format("the {} failed with exit code {} after it was refused more than {} "
                           "processes; raise limits.processes or make it start fewer",
                           what(), *report.exit_code, limits_.processes));
  }
  const std::string hint = guess(report);
  say(report, Outcome::exit,
      request_.arguments
          ? fmt::format("the tool exited with code {} without giving a result{}", *report.exit_code,
                        hint)
          : fmt::format("the command failed with exit code {}{}", *report.exit_code, hint));
}

// A file of the call could not be put into the working directory, and so the command was not run.
void Call::judge_files(Report& report) const {
  const std::string name = in_quotes(
      failed_file_ < request_.file_names.size() ? request_.file_names[failed_file_] : "?");
  const bool scratch_is_limited = !settings_.init_exposed;
  report.exit_code.reset();
  report.outcome = Outcome::invalid_arguments;
  std::string why;
  if (files_error_ == ENOSPC && scratch_is_limited) {
    why = fmt::format(
        "{} does not fit into the {} of the cell's scratch space; give fewer or smaller files, or "
        "raise limits.scratch",
        name, format_size(limits_.scratch));
  } else if (files_error_ == EFBIG && limits_.file_size) {
    why = fmt::format("{} is larger than limits.file_size, {}", name,
                      format_size(*limits_.file_size));
  } else if (files_error_ == EEXIST) {
    why = fmt::format("{} is in the working directory already", name);
  } else {
    why = fmt::format("{} could not be put into the working directory: {}", name,
                      errno_text(files_error_));
    if (files_error_ == ENOMEM) report.outcome = Outcome::memory_limit;
    for (const int brigs_own : {EINVAL, EIO, EMFILE, ENFILE, EBADF})
      if (files_error_ == brigs_own) report.outcome = Outcome::internal;
  }
  report.message = fmt::format("files: {}; the command was not run", why);
}

// The function ended by itself, without an error: what did it answer? (The reader of the result
// checks that it is JSON.)
void Call::judge_function(Report& report) {
  switch (answer_.answer().kind) {
    case Answer::Kind::result:
      report.outcome = Outcome::ok;
      report.message = "the tool succeeded";
      return;
    case Answer::Kind::error:
      report.outcome = Outcome::tool_error;
      report.message = "the tool failed";
      return;
    case Answer::Kind::too_large:
    case Answer::Kind::none: break;
  }
  report.outcome = Outcome::exit;
  report.message = answer_.cut_off() ? "the tool ended in the middle of its result"
                                     : "the tool exited with code 0 without giving a result";
}

}  // namespace brig
