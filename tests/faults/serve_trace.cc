#include "serve_trace.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <thread>

namespace faults {
namespace {

struct Typical {
  long number;
  const char* name;
  int error;
};
// What can fail in practice, and how. Not: waiting, signals, close, exit, what only asks for an id or the time.
#define CALL(name, error) \
  { SYS_##name, #name, error }
const Typical kTypical[] = {
    CALL(accept4, EMFILE),
    CALL(access, EIO),
    CALL(bind, EADDRINUSE),
    CALL(chdir, ENOENT),
    CALL(chmod, EPERM),
    CALL(chown, EPERM),
    CALL(clone, EAGAIN),
    CALL(clone3, EAGAIN),
    CALL(close_range, EINVAL),
    CALL(connect, EAGAIN),
    CALL(dup, EMFILE),
    CALL(dup2, EMFILE),
    CALL(dup3, EMFILE),
    CALL(epoll_create1, EMFILE),
    CALL(epoll_ctl, ENOMEM),
    CALL(eventfd2, EMFILE),
    CALL(execve, ENOENT),
    CALL(execveat, ENOENT),
    CALL(faccessat2, EIO),
    CALL(fchmod, EPERM),
    CALL(fchown, EPERM),
    CALL(fcntl, EMFILE),
    CALL(fstat, EIO),
    CALL(fstatfs, EIO),
    CALL(ftruncate, ENOSPC),
    CALL(getdents64, EIO),
    CALL(getrandom, EAGAIN),
    CALL(getrlimit, EPERM),
    CALL(getsockname, ENOBUFS),
    CALL(getsockopt, ENOPROTOOPT),
    CALL(inotify_add_watch, ENOSPC),
    CALL(inotify_init1, EMFILE),
    CALL(ioctl, EPERM),
    CALL(landlock_create_ruleset, EMFILE),
    CALL(listen, EADDRINUSE),
    CALL(lseek, EIO),
    CALL(lstat, EIO),
    CALL(memfd_create, EMFILE),
    CALL(mkdir, ENOSPC),
    CALL(mkdirat, ENOSPC),
    CALL(mmap, ENOMEM),
    CALL(mprotect, ENOMEM),
    CALL(mremap, ENOMEM),
    CALL(newfstatat, EIO),
    CALL(open, EMFILE),
    CALL(openat, EMFILE),
    CALL(openat2, EMFILE),
    CALL(pidfd_open, EMFILE),
    CALL(pipe2, EMFILE),
    CALL(prctl, EPERM),
    CALL(pread64, EIO),
    CALL(prlimit64, EPERM),
    CALL(pwrite64, ENOSPC),
    CALL(read, EIO),
    CALL(readlink, EIO),
    CALL(readlinkat, EIO),
    CALL(recvfrom, ENOMEM),
    CALL(recvmsg, ENOMEM),
    CALL(seccomp, ENOMEM),
    CALL(sendmsg, ENOBUFS),
    CALL(sendto, ENOBUFS),
    CALL(setrlimit, EPERM),
    CALL(setsockopt, ENOBUFS),
    CALL(shutdown, ENOTCONN),
    CALL(socket, EMFILE),
    CALL(socketpair, EMFILE),
    CALL(stat, EIO),
    CALL(statfs, EIO),
    CALL(statx, EIO),
    CALL(timerfd_create, EMFILE),
    CALL(timerfd_settime, ECANCELED),
    CALL(vfork, EAGAIN),
    CALL(write, ENOSPC),
    CALL(writev, ENOSPC),
};
#undef CALL

const Typical* typical(std::uint64_t number) {
  for (const Typical& each : kTypical)
    if (static_cast<std::uint64_t>(each.number) == number) return &each;
  return nullptr;
}

// Whether the kernel could refuse it: not to change a flag, to take a descriptor out of an epoll set, or to use an
// eventfd or a pipe that is there.
bool can_fail(pid_t pid, const __ptrace_syscall_info& info) {
  const std::uint64_t second = info.entry.args[1];
  switch (info.entry.nr) {
    case SYS_epoll_ctl: return second == EPOLL_CTL_ADD;
    case SYS_fcntl: return second == F_DUPFD || second == F_DUPFD_CLOEXEC;
    case SYS_ioctl: return second != FIONBIO;
    case SYS_read:
    case SYS_write: {
      char target[64] = "";
      const std::string link =
          "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(info.entry.args[0]);
      const ssize_t size = readlink(link.c_str(), target, sizeof target - 1);
      return size <= 0 ||
             (strncmp(target, "anon_inode:", 11) != 0 && strncmp(target, "pipe:", 5) != 0);
    }
    default: return true;
  }
}

struct Text {
  std::uint64_t begin = 0, end = 0, entry = 0;
};

// Where the program begins: its loader has that on its stack.
std::uint64_t entry_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/auxv", std::ios::binary);
  for (std::uint64_t pair[2]; file.read(reinterpret_cast<char*>(pair), sizeof pair);)
    if (pair[0] == AT_ENTRY) return pair[1];
  return 0;
}

// Where the program's own code lies in a process that has just executed it.
Text text_of(pid_t pid) {
  char exe[4096];
  const std::string base = "/proc/" + std::to_string(pid);
  const ssize_t size = readlink((base + "/exe").c_str(), exe, sizeof exe);
  const std::string name(exe, size > 0 ? static_cast<std::size_t>(size) : 0);
  std::ifstream maps(base + "/maps");
  for (std::string line; std::getline(maps, line);) {
    Text text;
    char mode[8] = "";
    if (sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %7s", &text.begin, &text.end, mode) == 3 &&
        mode[2] == 'x' && !name.empty() && line.ends_with(name)) {
      text.entry = entry_of(pid);
      return text;
    }
  }
  return {};
}

// The first addresses on the stack that point into the program tell who makes the call. Some are left over from
// earlier calls: then one site counts as two, which does no harm. 0: the program does not run yet, or a thread has not
// come to its code.
std::uint64_t callers_of(pid_t pid, std::uint64_t stack, const Text& text) {
  std::uint64_t words[192] = {}, hash = 0;
  iovec local{words, sizeof words}, remote{reinterpret_cast<void*>(stack), sizeof words};
  const ssize_t size = process_vm_readv(pid, &local, 1, &remote, 1, 0);
  int found = 0;
  for (ssize_t i = 0; i < size / 8 && found < 4; ++i)
    if (words[i] >= text.begin && words[i] < text.end && words[i] != text.entry) {
      hash = hash * 1'000'003 + (words[i] - text.begin);
      ++found;
    }
  return hash;
}

bool is_thread_of(pid_t process, pid_t thread) {
  return access(("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread)).c_str(),
                F_OK) == 0;
}

class Tracer {
 public:
  Tracer(pid_t root, const Fault& fault, Served& served, ServeRun& result)
      : root_(root), fault_(fault), served_(served), result_(result) {}

  void follow() {
    int status = 0;
    waitpid(root_, &status, __WALL);
    ptrace(PTRACE_SETOPTIONS, root_, nullptr,
           reinterpret_cast<void*>(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
                                   PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL));
    ptrace(PTRACE_SYSCALL, root_, nullptr, nullptr);
    while (!threads_.empty()) {
      const pid_t pid = waitpid(-1, &status, __WALL);
      if (pid < 0 && errno == EINTR) continue;
      if (pid < 0) return;
      if (WIFSTOPPED(status))
        on_stop(pid, status);
      else
        on_end(pid, status);
    }
  }

 private:
  void on_end(pid_t pid, int status) {
    threads_.erase(pid);  // else a process that outlived the server, and is ours now
    if (pid == root_)
      result_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  void on_stop(pid_t pid, int status) {
    const int signal = WSTOPSIG(status), event = status >> 16;
    const bool newborn = threads_.insert(pid).second;
    if (newborn && !is_thread_of(root_, pid)) {  // a process: the other sweep is for those
      threads_.erase(pid);
      ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
      return;
    }
    void* pass = nullptr;
    if (signal == (SIGTRAP | 0x80))
      on_call(pid);
    else if (event == PTRACE_EVENT_EXEC)
      text_ = text_of(pid);
    else if (event == 0 && !(newborn && signal == SIGSTOP) && signal != SIGTRAP)
      pass = reinterpret_cast<void*>(static_cast<long>(signal));
    ptrace(PTRACE_SYSCALL, pid, nullptr, pass);
  }

  void on_call(pid_t pid) {
    __ptrace_syscall_info info{};
    if (ptrace(static_cast<__ptrace_request>(0x420e /* GET_SYSCALL_INFO */), pid,
               reinterpret_cast<void*>(sizeof info), &info) <= 0)
      return;
    user_regs_struct registers;
    if (info.op == 2 /* exit */ && failing_ == pid) {
      failing_ = 0;
      ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
      registers.rax = static_cast<unsigned long long>(-error_);
      ptrace(PTRACE_SETREGS, pid, nullptr, &registers);
      served_.faulted = true;
    }
    const Typical* call = info.op == 1 /* entry */ ? typical(info.entry.nr) : nullptr;
    if (!call || text_.end == 0 || !can_fail(pid, info)) return;
    const std::uint64_t callers = callers_of(pid, info.stack_pointer, text_);
    if (callers == 0) return;
    ServeCall seen;
    seen.name = call->name;
    seen.phase = served_.phase;
    seen.main = pid == root_;
    seen.thread = name_of_process(pid);
    seen.detail[0] = info.entry.args[0];
    seen.detail[1] = info.entry.args[1];
    seen.site = (callers * 1'000'003 + info.entry.nr) * 4 + static_cast<unsigned>(seen.phase) + 1;
    result_.calls.push_back(seen);
    if (result_.failed.name) return;
    if (fault_.site ? seen.site != fault_.site || ++passed_ != fault_.number
                    : fault_.number != static_cast<int>(result_.calls.size()))
      return;
    failing_ = pid;
    error_ = fault_.error ? fault_.error : call->error;
    seen.error = strerrorname_np(error_);
    result_.failed = seen;
    ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
    registers.orig_rax = ~0ull;
    ptrace(PTRACE_SETREGS, pid, nullptr, &registers);
  }

  const pid_t root_;
  const Fault& fault_;
  Served& served_;
  ServeRun& result_;
  std::set<pid_t> threads_{root_};
  Text text_;
  pid_t failing_ = 0;
  int error_ = 0, passed_ = 0;
};

}  // namespace

bool Served::ends_within(int milliseconds) const {
  pollfd wait{pidfd_, POLLIN, 0};
  return poll(&wait, 1, milliseconds) != 0;
}

bool Served::ended() const { return ends_within(0); }

void Served::signal(int number) const {
  syscall(SYS_pidfd_send_signal, pidfd_, number, nullptr, 0);
}

ServeRun run_server(char** command, const Fault& fault,
                    const std::function<void(Served&)>& client) {
  ServeRun result;
  // A file, not a pipe: what the server says is read when it is gone, and it never waits for a reader.
  const int err = memfd_create("err", MFD_CLOEXEC);
  const pid_t root = fork();
  if (root == 0) {
    dup2(err, 2);
    const int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    close(null);
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    execv(command[0], command);
    _exit(99);
  }
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, root, 0));
  if (root < 0 || err < 0 || pidfd < 0) {
    perror("starting the server");
    exit(2);
  }
  result.pid = root;
  Served served(pidfd);
  std::thread beside([&] { client(served); });
  Tracer(root, fault, served, result).follow();
  beside.join();
  close(pidfd);
  char buffer[4096];
  lseek(err, 0, SEEK_SET);
  for (ssize_t size; (size = read(err, buffer, sizeof buffer)) > 0;)
    result.err.append(buffer, static_cast<std::size_t>(size));
  close(err);
  return result;
}

}  // namespace faults
