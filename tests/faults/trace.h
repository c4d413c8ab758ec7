// One run of brig under ptrace, in which one system call is made to fail.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace faults {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point begin);

std::string read_file(const std::string& path);
std::string name_of_process(pid_t pid);

// Null for a call that is not worth failing.
const char* name_of(long number);

struct Run {
  pid_t pid = 0;
  bool after = false;   // the tool had run already
  bool beside = false;  // the fault was in another cell than the tool's, made for the next call
  int code = -1;        // 128+n for a signal, -1: did not end
  std::string err, mark, process;
  long call = -1;  // the one that was made to fail
  unsigned long detail = 0;
  int counted = 0;  // calls worth failing
  double seconds = 0;
};

// Runs `command`; fails call number `target` (0: none) with `error`; `only`: count only this call.
// Ends it all, hard, after ten seconds (by SIGALRM). `mark` is the file that the tool makes.
Run run(char** command, const char* mark, int target, int error, const char* only);

}  // namespace faults
