// The functions of OpenJarvis' subprocess_sandbox under their own names, on top of brig's cells.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace brig {

// PATH HOME USER LANG TERM SHELL LC_ALL LC_CTYPE TMPDIR TZ of this process, as far as they are set,
// then the names in `passthrough`, then `extra`. The later one wins. No thread may change the
// environment meanwhile.
[[nodiscard]] std::map<std::string, std::string> build_safe_env(
    const std::vector<std::string>& passthrough = {},
    const std::map<std::string, std::string>& extra = {});

// Kills a process and all its descendants, also those in other sessions. Best effort and never
// throws: it may miss processes of a tree that forks all the time; cells exist for that. Ignores
// pids below 2 and the caller's own.
void kill_process_tree(pid_t pid) noexcept;

struct SandboxResult {
  // Bytes, with an underscore because `stdout` and `stderr` are macros in C. If the command could
  // not be run, stderr_ is "Execution error: " and the reason.
  std::string stdout_;
  std::string stderr_;
  // The exit code, -N for signal N, or -1 for a timeout or an execution error.
  int returncode = -1;
  bool timed_out = false;
  // Whether brig or the kernel ended it: a timeout, or the memory limit.
  bool killed = false;
};

struct SandboxedOptions {
  // Seconds.
  double timeout = 30.0;
  // Writable inside the cell. A directory that does not exist is an execution error.
  std::optional<std::string> working_dir;
  std::vector<std::string> env_passthrough;
  std::map<std::string, std::string> env_extra;
  std::size_t max_output_bytes = 102'400;
};

// Runs a shell line in a jail. Does what the seed does without its defects: on a timeout it keeps
// the output so far and ends the whole process tree, and it never runs a command in another
// directory than the one that was asked for. Throws no Error; every failure is in the result.
[[nodiscard]] SandboxResult run_sandboxed(const std::string& command,
                                          const SandboxedOptions& options = {});

}  // namespace brig
