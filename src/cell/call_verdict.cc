// What a call's end means: the one true cause, and a sentence that says what to do about it.
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "cell/call.h"

namespace brig {
namespace {

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

}  // namespace

void Call::judge(Report& report, const CgroupUsage& usage) {
  const Limits& limits = limits_;
  if (ended_ && WIFEXITED(end_.status)) report.exit_code = WEXITSTATUS(end_.status);
  if (ended_ && WIFSIGNALED(end_.status)) report.signal = WTERMSIG(end_.status);
  if (!ended_ && kills_ == 2) report.signal = SIGKILL;
  const char* it = request_.arguments ? "tool" : "command";
  const auto say = [&](Outcome outcome, std::string message) {
    report.outcome = outcome;
    report.message = std::move(message);
  };
  const auto out_of_memory = [&] {
    say(Outcome::memory_limit,
        fmt::format("the {} was killed because its processes together used more than {} of memory; "
                    "raise limits.memory or make it use less",
                    it, format_size(limits.memory)));
  };
  if (request_error_) {
    report.exit_code.reset();
    if (request_error_ == ENOMEM && request_.arguments)
      return say(Outcome::memory_limit,
                 fmt::format("the arguments do not fit into the {} that the tool may use; it was "
                             "not run, raise limits.memory",
                             format_size(limits.memory)));
    return say(Outcome::internal,
               fmt::format("the cell could not take the command: {}; it was not run, try again",
                           errno_text(request_error_)));
  }
  if (files_error_) return judge_files(report);
  if (exec_error_) {
    report.exit_code = exec_error_ == ENOENT ? 127 : 126;
    const std::string& program = request_.command.argv[0];
    const bool path = program.find('/') != std::string::npos;
    if (exec_error_ == ENOENT)
      return say(Outcome::invalid_arguments,
                 path ? fmt::format("'{}' does not exist in the cell, or its interpreter doesn't; "
                                    "list its directory in files.read",
                                    program)
                      : fmt::format("'{}' was not found in the cell's PATH; check the name, or "
                                    "list its directory in files.read and in PATH",
                                    program));
    return say(Outcome::invalid_arguments, fmt::format("'{}' could not be run in the cell: {}",
                                                       program, errno_text(exec_error_)));
  }
  switch (ending_) {
    case Ending::wall:
      return say(Outcome::timeout, fmt::format("the {} was ended after its wall time limit of {}; "
                                               "raise limits.wall_time or make it faster",
                                               it, format_duration(limits.wall_time)));
    case Ending::cpu:
      return say(Outcome::timeout,
                 fmt::format("the {} was ended after it had used its CPU time limit of {}; "
                             "raise limits.cpu_time or make it compute less",
                             it, format_duration(*limits.cpu_time)));
    case Ending::output:
      return say(Outcome::output_limit,
                 fmt::format("the {} was ended after it had written more than {}; raise "
                             "limits.output_total or make it write less",
                             it, format_size(*limits.output_total)));
    case Ending::result:
      return say(Outcome::output_limit,
                 fmt::format("the tool's result of {} is larger than {}; raise limits.result or "
                             "make it answer less",
                             format_size(answer_.answer().size), format_size(limits.result)));
    case Ending::cancelled: return say(Outcome::cancelled, "the call was cancelled");
    case Ending::none: break;
  }
  if (early_) return judge_function(report);
  if (ended_ && end_.killed)
    return say(Outcome::internal,
               "the cell was ended because a process of brig's was killed; try again");
  if (hearing_error_)
    return say(Outcome::internal, fmt::format("the cell could not be heard: {}; it was ended",
                                              errno_text(hearing_error_)));
  if (!ended_) {
    if (usage.oom_kills) return out_of_memory();
    if (settings_.init_exposed) {
      report.signal = SIGKILL;
      return say(
          Outcome::signal,
          fmt::format("the cell's own init was killed, which on this floor the {} can do itself; "
                      "all that it had started was ended",
                      it));
    }
    return say(Outcome::internal,
               "the cell ended without a report: its init was killed from outside, or the zygote "
               "ended; try again");
  }
  if (report.signal) {
    if (usage.oom_kills && *report.signal == SIGKILL) return out_of_memory();
    if (*report.signal == SIGXCPU && limits.cpu_time)
      return say(
          Outcome::timeout,
          fmt::format("the {} was ended after a process of it had used its CPU time limit of {}; "
                      "raise limits.cpu_time or make it compute less",
                      it, format_duration(*limits.cpu_time)));
    if (*report.signal == SIGXFSZ && limits.file_size)
      return say(
          Outcome::signal,
          fmt::format(
              "the {} was ended by SIGXFSZ: it wrote a file larger than limits.file_size, {}", it,
              format_size(*limits.file_size)));
    return say(Outcome::signal,
               fmt::format("the {} was ended by {} ({})", it, signal_name(*report.signal),
                           sigdescr_np(*report.signal) ? sigdescr_np(*report.signal) : "unknown"));
  }
  if (*report.exit_code == 0 && request_.arguments) return judge_function(report);
  if (*report.exit_code == 0) return say(Outcome::ok, "the command succeeded");
  if (usage.oom_kills) return out_of_memory();
  if (usage.fork_failures)
    return say(Outcome::process_limit,
               fmt::format("the {} failed with exit code {} after it was refused more than {} "
                           "processes; raise limits.processes or make it start fewer",
                           it, *report.exit_code, limits.processes));
  std::string hint;
  if (refusals_.contains("socket(AF_INET)") || refusals_.contains("socket(AF_INET6)"))
    hint = "; it tried to use the network, which the policy forbids (network = \"none\")";
  say(Outcome::exit,
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

// It ended by itself and well: what did it answer? (That a result is JSON is for the reader to see.)
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
