// Child: a process that brig has started, held by a pidfd.
#pragma once

#include <sys/types.h>

#include <utility>

#include "base/fd.h"

namespace brig {

// Not copyable; the destructor kills and reaps the process. The host gets a SIGCHLD when the
// process ends, because exec restores that signal whatever clone said, and a waitpid(-1) of the
// host may reap it first. Neither does harm here.
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
  // Waits for the end, up to `milliseconds` (-1: for ever). True if the process has ended; it is
  // reaped then.
  bool wait(int milliseconds);
  // Whether it ended with exit code 0.
  bool ended_well() const { return ended_well_; }

 private:
  void end();
  pid_t pid_ = -1;
  bool ended_well_ = false;
  UniqueFd pidfd_;
};

// Runs the program open at `program` with no arguments, no environment, /dev/null as descriptors 0
// to 2, and `fds` as 3 and 4. It also inherits the host's descriptors that are not close-on-exec;
// brig-helper closes those first of all. The host is not copied (CLONE_VM), so its size and its
// threads do not matter. The constructor does not wait either: the host goes on while the program
// starts, until it calls take().
class CleanSpawn {
 public:
  // `name` must live as long as this object. Throws Error.
  CleanSpawn(int program, const char* name, const int (&fds)[2]);
  CleanSpawn(const CleanSpawn&) = delete;
  CleanSpawn& operator=(const CleanSpawn&) = delete;
  // Kills the child, unless take() has given it away.
  ~CleanSpawn();

  // Waits until the program runs, and gives it to the caller. Throws Error if it can't run.
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
  // The kernel clears this when the child has left this process's memory.
  int running_ = 1;
  void* stack_ = nullptr;
  Child child_;
};

}  // namespace brig
