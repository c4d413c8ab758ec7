#include "os/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <utility>

#include "base/error.h"
#include "os/sys.h"

// clone(2) under a name that no one intercepts. The thread sanitizer takes any clone for a fork and
// would reset its own state in the child, which shares the host's memory here.
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...);

namespace brig {

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    end();
    pid_ = other.pid_;
    ended_well_ = other.ended_well_;
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
  siginfo_t info{};
  while (waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.get()), &info,
                WEXITED | __WALL) < 0 &&
         errno == EINTR) {
  }
  ended_well_ = info.si_code == CLD_EXITED && info.si_status == 0;
  pidfd_.reset();
  return true;
}

void Child::end() {
  if (!pidfd_) return;
  kill(SIGKILL);
  wait(-1);
}

namespace {

// A system call that leaves errno alone: the host is running and errno is the host's.
template <typename... Args>
__attribute__((always_inline)) inline long raw_call(long number, Args... args) {
  const long all[6] = {(long)args...};
#if defined(__x86_64__)
  register long r10 asm("r10") = all[3];
  register long r8 asm("r8") = all[4];
  register long r9 asm("r9") = all[5];
  long result = number;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(all[0]), "S"(all[1]), "d"(all[2]), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = all[0];
  register long x1 asm("x1") = all[1];
  register long x2 asm("x2") = all[2];
  register long x3 asm("x3") = all[3];
  register long x4 asm("x4") = all[4];
  register long x5 asm("x5") = all[5];
  asm volatile("svc 0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
#else
#error "brig runs on x86-64 and arm64"
#endif
}

constexpr std::size_t kStack = 16 * 1024;

}  // namespace

// Runs in the host's memory until exec, while the host runs too. It makes system calls only:
// nothing that allocates, locks, writes to what the host uses or is instrumented. All signals are
// blocked, so no handler of the host runs here; the helper unblocks them.
__attribute__((no_sanitize("address", "undefined", "thread"), no_stack_protector)) int
CleanSpawn::start(void* argument) noexcept {
  auto* spawn = static_cast<CleanSpawn*>(argument);
  char* const argv[] = {const_cast<char*>(spawn->name_), nullptr};
  char* const envp[] = {nullptr};
  int high[4];
  const long null = raw_call(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0);
  const int sources[4] = {static_cast<int>(null), spawn->fds_[0], spawn->fds_[1], spawn->program_};
  long result = null;
  spawn->doing_ = "opening /dev/null";
  if (result >= 0) spawn->doing_ = "its descriptors";
  // Moves the descriptors out of the way of 0 to 4 first, and then into place.
  for (int i = 0; result >= 0 && i < 4; ++i) {
    result = raw_call(SYS_fcntl, sources[i], F_DUPFD_CLOEXEC, 5);
    // The error where the limit is below that number.
    if (result == -EINVAL) result = -EMFILE;
    high[i] = static_cast<int>(result);
  }
  for (int i = 0; result >= 0 && i < 5; ++i)
    result = raw_call(SYS_dup3, high[i < 3 ? 0 : i - 2], i, 0);
  if (result >= 0) spawn->doing_ = "execveat";
  if (result >= 0) result = raw_call(SYS_execveat, high[3], "", argv, envp, AT_EMPTY_PATH);
  spawn->error_ = static_cast<int>(-result);
  raw_call(SYS_exit_group, 127);
  return 127;
}

CleanSpawn::CleanSpawn(int program, const char* name, const int (&fds)[2])
    : program_(program), name_(name), fds_{fds[0], fds[1]} {
  stack_ =
      mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack_ == MAP_FAILED) throw_sys("starting the helper: mmap");
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  int pidfd = -1;
  // Not CLONE_VFORK: the child would wake this thread in the middle of its exec, on its own CPU,
  // and then wait there for the thread while another CPU is idle. Instead the kernel clears
  // running_ when the exec is done.
  const pid_t pid =
      __clone(start, static_cast<char*>(stack_) + kStack,
              CLONE_VM | CLONE_PIDFD | CLONE_CHILD_CLEARTID, this, &pidfd, nullptr, &running_);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) {
    munmap(stack_, kStack);
    throw_sys_error(error, error == EAGAIN
                               ? "starting the helper: clone (no more processes: ulimit "
                                 "-u, or pids.max of the cgroup)"
                               : "starting the helper: clone");
  }
  child_ = Child(pid, UniqueFd(pidfd));
  sys::send_away(pid);
}

void CleanSpawn::await_exec() {
  if (!stack_) return;
  while (std::atomic_ref(running_).load() != 0)
    syscall(SYS_futex, &running_, 0 /* FUTEX_WAIT, not private: the kernel's wake is not */, 1,
            nullptr, nullptr, 0);
  munmap(std::exchange(stack_, nullptr), kStack);
}

CleanSpawn::~CleanSpawn() {
  child_ = Child();
  await_exec();
}

Child CleanSpawn::take() {
  await_exec();
  if (error_) {
    child_ = Child();
    throw_sys_error(error_, std::string("starting the helper: ") + doing_);
  }
  return std::move(child_);
}

}  // namespace brig
