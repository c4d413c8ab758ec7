// Child: a process of this program's own making, held by pidfd.
#pragma once

#include <sys/types.h>

#include "base/fd.h"

namespace brig {

// Not copyable; the destructor kills and reaps. The host gets a SIGCHLD when it ends (exec sets that,
// whatever clone said), and a waitpid(-1) of the host's may reap it first: both do no harm here.
class Child {
 public:
  Child() = default;
  Child(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  Child(Child&&) = default;
  Child& operator=(Child&& other) noexcept;
  ~Child() { end(); }

  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }
  explicit operator bool() const { return static_cast<bool>(pidfd_); }
  void kill(int signal) const;
  // Waits up to `milliseconds` (-1: for ever). True, and reaped, if it ended.
  bool wait(int milliseconds);

 private:
  void end();
  pid_t pid_ = -1;
  UniqueFd pidfd_;
};

// Runs the program open at `program` with no arguments, no environment, /dev/null as 0-2 and `fds` as
// 3 and 4; no other descriptor is inherited that is not close-on-exec. The host is not copied
// (CLONE_VM), so its size and its threads do not matter. Throws Error.
Child spawn_clean(int program, const char* name, const int (&fds)[2]);

}  // namespace brig
