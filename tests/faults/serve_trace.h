// One run of a server under ptrace, in which one system call of its own is made to fail.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trace.h"

namespace faults {

enum class Phase { start, serving, end };

// A system call worth failing, of some thread of the server.
struct ServeCall {
  const char* name = nullptr;  // null: there was none
  const char* error = nullptr;
  // The phase, the call, and what its callers in the program are: the same in every run.
  std::uint64_t site = 0;
  Phase phase = Phase::start;
  bool main = false;  // of the thread that serves
  std::string thread;
  std::uint64_t detail[2] = {0, 0};  // its first arguments
};

// Which call to fail: the `number`-th (from 1; 0: none) at `site`, or of all if that is 0.
struct Fault {
  int number = 0;
  std::uint64_t site = 0;
  int error = 0;  // 0: the one that is typical for the call
};

struct ServeRun {
  pid_t pid = 0;
  int code = -1;  // 128+n for a signal
  std::string err;
  std::vector<ServeCall> calls;  // all that were worth failing
  ServeCall failed;
};

// What a client sees of the server, and tells the tracer. The client is a thread of its own.
class Served {
 public:
  explicit Served(int pidfd) : pidfd_(pidfd) {}
  std::atomic<Phase> phase{Phase::start};
  std::atomic<bool> faulted{false};
  bool ended() const;
  // Waits for the end; false: it did not come.
  bool ends_within(int milliseconds) const;
  void signal(int number) const;

 private:
  const int pidfd_;
};

// Runs `command` and, beside it, `client`, which must end the server.
ServeRun run_server(char** command, const Fault& fault, const std::function<void(Served&)>& client);

}  // namespace faults
