// The functions of OpenJarvis' subprocess_sandbox under their own names, on top of brig's cells.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace brig {

// PATH HOME USER LANG TERM SHELL LC_ALL LC_CTYPE TMPDIR TZ of this process, those set, then the names
// in `passthrough`, then `extra`, which wins.
std::map<std::string, std::string> build_safe_env(
    const std::vector<std::string>& passthrough = {},
    const std::map<std::string, std::string>& extra = {});

// Ends a process and all its descendants, those in other sessions too. Best effort, never throws: of a
// tree that forks all the while it may miss some, which is what cells are for.
// Refuses pids below 2 and the caller itself.
void kill_process_tree(pid_t pid) noexcept;

struct SandboxResult {
  std::string stdout_;  // bytes; `stdout` and `stderr` are macros in C
  std::string stderr_;
  int returncode = -1;
  bool timed_out = false;
  bool killed = false;
};

struct SandboxedOptions {
  double timeout = 30.0;                   // seconds
  std::optional<std::string> working_dir;  // writable inside; one that does not exist is an error
  std::vector<std::string> env_passthrough;
  std::map<std::string, std::string> env_extra;
  std::size_t max_output_bytes = 102'400;
};

// Runs a shell line in a jail. What the seed does, less its defects: on a timeout the output so far
// is kept, the whole tree is ended, and a bad working directory is an error
// ("Execution error: ...", returncode -1) instead of a run elsewhere. returncode is -N for signal N.
SandboxResult run_sandboxed(const std::string& command, const SandboxedOptions& options = {});

}  // namespace brig
