// Child: a process of this program's own making, held by pidfd.
#pragma once

#include <sys/types.h>

#include <utility>

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
  // It did, with exit code 0.
  bool ended_well() const { return ended_well_; }

 private:
  void end();
  pid_t pid_ = -1;
  bool ended_well_ = false;
  UniqueFd pidfd_;
};

// Runs the program open at `program` with no arguments, no environment, /dev/null as 0-2 and `fds` as
// 3 and 4; no other descriptor is inherited that is not close-on-exec. The host is not copied
// (CLONE_VM), so its size and its threads do not matter. It does not wait either: the program is being
// started while the host goes on, until it asks.
class CleanSpawn {
 public:
  // `name` must live as long as this. Throws Error.
  CleanSpawn(int program, const char* name, const int (&fds)[2]);
  CleanSpawn(const CleanSpawn&) = delete;
  CleanSpawn& operator=(const CleanSpawn&) = delete;
  // Ends the child, if it was not taken.
  ~CleanSpawn();

  // Waits until the program runs. Throws Error if it can't.
  Child take();
  pid_t pid() const { return child_.pid(); }

 private:
  static int start(void* self) noexcept;
  void await_exec();

  int program_;
  const char* name_;
  int fds_[2];
  const char* doing_ = "execveat";
  int error_ = 0;
  int running_ = 1;  // the kernel's to clear, when the child has left this memory
  void* stack_ = nullptr;
  Child child_;
};

}  // namespace brig
