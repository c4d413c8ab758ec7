// Which system calls are worth failing, and the tracer that fails one of them.
#include "trace.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace faults {
namespace {

struct Call {
  long number;
  const char* name;
};
// What sets a cell up, or carries a message of it. Not: memory, waiting, signal dispositions, close,
// exit, which can't fail that way; nor what cleans up.
#define CALL(name) \
  { SYS_##name, #name }
const Call kCalls[] = {
    CALL(clone),
    CALL(clone3),
    CALL(vfork),
    CALL(unshare),
    CALL(setns),
    CALL(mount),
    CALL(umount2),
    CALL(pivot_root),
    CALL(open_tree),
    CALL(move_mount),
    CALL(mount_setattr),
    CALL(fsopen),
    CALL(fsconfig),
    CALL(fsmount),
    CALL(openat),
    CALL(openat2),
    CALL(open),
    CALL(mkdir),
    CALL(mkdirat),
    CALL(symlinkat),
    CALL(chdir),
    CALL(fchdir),
    CALL(chown),
    CALL(fchown),
    CALL(fchmod),
    CALL(chmod),
    CALL(write),
    CALL(pwrite64),
    CALL(read),
    CALL(setresuid),
    CALL(setresgid),
    CALL(setgroups),
    CALL(sethostname),
    CALL(setdomainname),
    CALL(prctl),
    CALL(seccomp),
    CALL(landlock_create_ruleset),
    CALL(landlock_add_rule),
    CALL(landlock_restrict_self),
    CALL(capset),
    CALL(setrlimit),
    CALL(getrlimit),
    CALL(prlimit64),
    CALL(socketpair),
    CALL(socket),
    CALL(setsockopt),
    CALL(ioctl),
    CALL(sendmsg),
    CALL(recvmsg),
    CALL(recvfrom),
    CALL(setsid),
    CALL(execve),
    CALL(execveat),
    CALL(memfd_create),
    CALL(eventfd2),
    CALL(pipe2),
    CALL(close_range),
    CALL(dup),
    CALL(dup2),
    CALL(dup3),
    CALL(fcntl),
    CALL(newfstatat),
    CALL(stat),
    CALL(pidfd_open),
    CALL(epoll_create1),
    CALL(epoll_ctl),
    CALL(signalfd4),
};
#undef CALL

// Whether a process that has just exec'ed runs brig's helper (its image is a memfd or a file so named).
bool contains_helper(pid_t pid) {
  char target[4096];
  const ssize_t size =
      readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), target, sizeof target - 1);
  const std::string comm = name_of_process(pid);
  return comm.starts_with("brig") || comm.find_first_not_of("0123456789") == std::string::npos ||
         (size > 0 &&
          std::string(target, static_cast<std::size_t>(size)).find("memfd:") != std::string::npos);
}

volatile sig_atomic_t g_late = 0;

}  // namespace

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string name_of_process(pid_t pid) {
  std::string name = read_file("/proc/" + std::to_string(pid) + "/comm");
  if (!name.empty()) name.pop_back();
  return name;
}

const char* name_of(long number) {
  for (const Call& call : kCalls)
    if (call.number == number) return call.name;
  return nullptr;
}

// Long, because the branches of a tracer's loop share what it knows of the processes.
Run run(char** command, const char* mark, int target, int error, const char* only) {
  Run result;
  int err[2];
  if (pipe2(err, O_CLOEXEC) != 0) exit(2);
  const auto begin = Clock::now();
  const pid_t root = fork();
  if (root == 0) {
    dup2(err[1], 2);
    const int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    close(null);
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    execv(command[0], command);
    _exit(99);
  }
  result.pid = root;
  close(err[1]);
  int status;
  waitpid(root, &status, 0);
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                       PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  ptrace(PTRACE_SETOPTIONS, root, nullptr, reinterpret_cast<void*>(options));
  ptrace(PTRACE_SYSCALL, root, nullptr, nullptr);
  std::set<pid_t> known{root};
  std::map<pid_t, int> execs{{root, 0}};
  std::map<pid_t, pid_t> parents;
  pid_t failing = 0, failed = 0, tool = 0;
  bool root_done = false;
  struct sigaction action {};
  action.sa_handler = [](int) { g_late = 1; };
  sigaction(SIGALRM, &action, nullptr);
  g_late = 0;
  alarm(10);
  while (!known.empty()) {
    const pid_t pid = waitpid(-1, &status, __WALL);
    if (pid < 0) {
      if (errno == EINTR && !g_late) continue;
      if (errno == EINTR)  // too late: end it all, hard
        for (const pid_t each : known) kill(each, SIGKILL);
      else
        break;
      g_late = 0;
      result.code = -1;
      root_done = true;
      alarm(5);
      continue;
    }
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      known.erase(pid);
      if (pid == root && !root_done) {
        root_done = true;
        result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        result.seconds = since(begin);
      }
      continue;
    }
    const bool newborn = !known.contains(pid);
    known.insert(pid);
    const int signal = WSTOPSIG(status), event = status >> 16;
    void* pass = nullptr;
    if (signal == (SIGTRAP | 0x80)) {
      __ptrace_syscall_info info{};
      if (ptrace(static_cast<__ptrace_request>(0x420e /* GET_SYSCALL_INFO */), pid,
                 reinterpret_cast<void*>(sizeof info), &info) > 0) {
        user_regs_struct registers;
        if (info.op == 1 /* entry */ && name_of(static_cast<long>(info.entry.nr)) &&
            execs[root] > 0 &&
            (!only || !strcmp(only, name_of(static_cast<long>(info.entry.nr)))) &&
            ++result.counted == target) {
          result.call = static_cast<long>(info.entry.nr);
          result.detail = info.entry.args[0];
          result.process = name_of_process(pid);
          if (result.process == name_of_process(root)) result.process = "host";
          result.after = access(mark, F_OK) == 0;
          failing = failed = pid;
          ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
          registers.orig_rax = ~0ull;
          ptrace(PTRACE_SETREGS, pid, nullptr, &registers);
        } else if (info.op == 2 /* exit */ && failing == pid) {
          failing = 0;
          ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
          registers.rax = static_cast<unsigned long long>(-error);
          ptrace(PTRACE_SETREGS, pid, nullptr, &registers);
        }
      }
    } else if (event == PTRACE_EVENT_EXEC) {
      // The program itself; the helper; the tool, which is no longer brig.
      const bool helper = contains_helper(pid);
      if (pid == root && execs[root]++ == 0) {
      } else if (!helper) {
        tool = pid;
        ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
        known.erase(pid);
        continue;
      }
    } else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
               event == PTRACE_EVENT_CLONE) {
      unsigned long child = 0;
      if (ptrace(PTRACE_GETEVENTMSG, pid, nullptr, &child) == 0)
        parents[static_cast<pid_t>(child)] = pid;
    } else if (event == 0 && !(newborn && signal == SIGSTOP) && signal != SIGTRAP) {
      pass = reinterpret_cast<void*>(static_cast<long>(signal));
    }
    ptrace(PTRACE_SYSCALL, pid, nullptr, pass);
  }
  alarm(0);
  if (tool && (result.process == "brig-init" || result.process == "brig-keeper")) {
    pid_t each = tool;
    while (each && each != failed) each = parents.contains(each) ? parents[each] : 0;
    result.beside = each == 0;
  }
  char buffer[4096];
  fcntl(err[0], F_SETFL, O_NONBLOCK);
  for (ssize_t size; (size = read(err[0], buffer, sizeof buffer)) > 0;)
    result.err.append(buffer, static_cast<std::size_t>(size));
  close(err[0]);
  return result;
}

}  // namespace faults
