#include "os/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cerrno>

#include "base/error.h"
#include "os/sys.h"

namespace brig {

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    end();
    pid_ = other.pid_;
    pidfd_ = std::move(other.pidfd_);
  }
  return *this;
}

void Child::kill(int signal) const {
  if (pidfd_) sys::pidfd_send_signal(pidfd_.get(), signal);
}

bool Child::wait(int milliseconds) {
  if (!pidfd_) return true;
  pollfd poll_for{pidfd_.get(), POLLIN, 0};
  int ready;
  do ready = poll(&poll_for, 1, milliseconds);
  while (ready < 0 && errno == EINTR);
  if (ready <= 0) return false;
  siginfo_t info;
  while (waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.get()), &info,
                WEXITED | __WALL) < 0 &&
         errno == EINTR) {
  }
  pidfd_.reset();
  return true;
}

void Child::end() {
  if (!pidfd_) return;
  kill(SIGKILL);
  wait(-1);
}

namespace {

struct Start {
  int program;
  const char* name;
  const int* fds;
  int error;
};

// Runs on the host's memory until exec: system calls only, nothing that allocates, locks or is
// instrumented. All signals are blocked, so no handler of the host runs here; the helper unblocks.
__attribute__((no_sanitize("address", "undefined", "thread"))) int start(void* argument) noexcept {
  auto* start = static_cast<Start*>(argument);
  char* const argv[] = {const_cast<char*>(start->name), nullptr};
  char* const envp[] = {nullptr};
  int high[4];
  const long null = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0);
  const int sources[4] = {static_cast<int>(null), start->fds[0], start->fds[1], start->program};
  bool ok = null >= 0;
  // First out of the way of 0-4, then into place.
  for (int i = 0; ok && i < 4; ++i) {
    high[i] = static_cast<int>(syscall(SYS_fcntl, sources[i], F_DUPFD_CLOEXEC, 16));
    ok = high[i] >= 0;
  }
  for (int i = 0; ok && i < 5; ++i) ok = syscall(SYS_dup3, high[i < 3 ? 0 : i - 2], i, 0) == i;
  if (ok) syscall(SYS_execveat, high[3], "", argv, envp, AT_EMPTY_PATH);
  start->error = errno;
  syscall(SYS_exit_group, 127);
  return 127;
}

}  // namespace

Child spawn_clean(int program, const char* name, const int (&fds)[2]) {
  constexpr std::size_t kStack = 64 * 1024;
  void* stack =
      mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) throw_sys("starting the helper: mmap");
  Start arguments{program, name, fds, 0};
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  int pidfd = -1;
  const pid_t pid = clone(start, static_cast<char*>(stack) + kStack,
                          CLONE_VM | CLONE_VFORK | CLONE_PIDFD, &arguments, &pidfd);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  munmap(stack, kStack);
  if (pid < 0) throw_sys_error(error, "starting the helper: clone");
  Child child(pid, UniqueFd(pidfd));
  if (arguments.error) throw_sys_error(arguments.error, "starting the helper: execveat");
  return child;
}

}  // namespace brig
