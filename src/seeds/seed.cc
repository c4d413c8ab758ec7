#include <brig/runner.h>
#include <brig/seed.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include "base/error.h"
#include "policy/listed_path.h"

namespace brig {
namespace {

struct Process {
  pid_t pid, parent;
  char state;
};

std::vector<Process> all_processes() {
  std::vector<Process> processes;
  DIR* proc = opendir("/proc");
  if (!proc) return processes;
  while (const dirent* entry = readdir(proc)) {
    const pid_t pid = static_cast<pid_t>(strtol(entry->d_name, nullptr, 10));
    if (pid <= 0) continue;
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    std::FILE* file = std::fopen(path, "re");
    if (!file) continue;
    const char* got = std::fgets(line, sizeof line, file);
    std::fclose(file);
    const char* paren = got ? strrchr(line, ')') : nullptr;
    if (paren && strlen(paren) > 4)
      processes.push_back({pid, static_cast<pid_t>(strtol(paren + 4, nullptr, 10)), paren[2]});
  }
  closedir(proc);
  return processes;
}

// Adds to `tree` all descendants of its members. True if there were new ones.
bool add_descendants(const std::vector<Process>& processes, std::set<pid_t>& tree,
                     std::vector<pid_t>& added) {
  added.clear();
  for (bool more = true; more;) {
    more = false;
    for (const Process& process : processes)
      if (tree.contains(process.parent) && tree.insert(process.pid).second) {
        added.push_back(process.pid);
        more = true;
      }
  }
  return !added.empty();
}

// Whether every member is stopped or dead.
bool all_stopped(const std::vector<Process>& processes, const std::set<pid_t>& tree) {
  return std::none_of(processes.begin(), processes.end(), [&](const Process& process) {
    return tree.contains(process.pid) && !strchr("TtZX", process.state);
  });
}

}  // namespace

void kill_process_tree(pid_t pid) noexcept {
  try {
    if (pid < 2 || pid == getpid()) return;
    // Stopped first, until no new ones turn up: a stopped process can't fork away. One that is in
    // the midst of a fork stops after it, so that counts only once all were seen to have stopped.
    // Then all are killed. Bounded: a tree that outgrows this needs a cell, not this function.
    std::set<pid_t> tree{pid};
    std::vector<pid_t> added{pid};
    bool stopped = false;
    for (int round = 0; round < 100; ++round) {
      for (const pid_t each : added) kill(each, SIGSTOP);
      const std::vector<Process> processes = all_processes();
      const bool grown = add_descendants(processes, tree, added);
      if (!grown && stopped) break;
      stopped = !grown && all_stopped(processes, tree);
      if (!grown && !stopped) usleep(1000);
    }
    for (const pid_t each : tree) kill(each, SIGKILL);
  } catch (...) {
    kill(pid, SIGKILL);
  }
}

SandboxResult run_sandboxed(const std::string& command, const SandboxedOptions& options) {
  SandboxResult result;
  try {
    Policy policy;
    if (!(options.timeout > 0) || !std::isfinite(options.timeout))
      throw_error(ErrorKind::config, "timeout must be a positive number of seconds");
    policy.limits.timeout =
        std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(options.timeout * 1000)));
    policy.limits.output = options.max_output_bytes;
    policy.environment.passthrough = options.env_passthrough;
    policy.environment.set = options.env_extra;
    if (options.working_dir) {
      policy.files.write.push_back(listed_text(*options.working_dir));
      policy.files.working_directory = *options.working_dir;
    }
    Report report = run(Command::shell(command), policy);
    result.stdout_ = std::move(report.out.bytes);
    result.stderr_ = std::move(report.err.bytes);
    if (report.signal) result.returncode = -*report.signal;
    if (report.exit_code) result.returncode = *report.exit_code;
    result.timed_out = report.outcome == Outcome::timeout;
    result.killed = result.timed_out || report.outcome == Outcome::memory_limit;
    if (result.timed_out) result.returncode = -1;
    // A command that was not run says why on stderr, as the original function does.
    if (report.outcome == Outcome::internal ||
        (report.outcome == Outcome::invalid_arguments && !report.exit_code)) {
      result.stderr_ = "Execution error: " + report.message;
      result.returncode = -1;
    }
  } catch (const Error& error) {
    result.stderr_ = std::string("Execution error: ") + error.what();
  }
  return result;
}

}  // namespace brig
