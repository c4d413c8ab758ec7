// Makes every system call of brig fail, one per run, and checks that nothing fails open.
//
//   sweep [-e ERRNO] [-n NAME] [-v] DIRECTORY -- COMMAND... (brig run --write DIRECTORY ... fingerprint DIRECTORY/mark)
//
// The command is traced with all its descendants up to the tool's own exec. Run number N fails the N-th
// call that is worth failing, counted over the whole tree, with the given errno and without doing it.
// Whatever happens then:
//   - if the tool ran (there is a mark), it was locked exactly as in a run without faults;
//   - if it did not, the exit code is 125 or 126 and there is a message;
//   - it ends within ten seconds, and leaves no process, no cgroup and no directory.
// A run that ends well although a call failed must be named in kHarmless, with the reason.
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

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

const char* name_of(long number) {
  for (const Call& call : kCalls)
    if (call.number == number) return call.name;
  return nullptr;
}

// Calls whose failure may leave a run that ends well, by the process that makes them ("*": any). That
// the tool was locked as ever is checked for each of them all the same, but for lines that may differ.
struct Harmless {
  const char* process;
  const char* call;
  // Beginnings of lines of the fingerprint that may differ, split by '|'. "@silent": there may be no
  // message; "@late": the command may run into its time limit; "@lost": it may be told as killed.
  const char* may_differ;
  const char* reason;
};
const Harmless kHarmless[] = {
#include "harmless.inc"
};

const Harmless* harmless(const std::string& process, const char* call) {
  for (const Harmless& each : kHarmless)
    if (process == each.process && !strcmp(each.call, call)) return &each;
  return nullptr;
}

bool may_differ(const Harmless* harmless, const std::string& line) {
  std::istringstream list(harmless ? harmless->may_differ : "");
  for (std::string prefix; std::getline(list, prefix, '|');)
    if (line.starts_with(prefix)) return true;
  return false;
}

// Lines that only one of two fingerprints has, and that may not differ.
std::string difference(const std::string& expected, const std::string& found,
                       const Harmless* harmless) {
  std::string text;
  static const std::regex ids(",[ug]id=[0-9]+");  // of a tmpfs: they differ by run
  const auto lines = [](const std::string& all) {
    std::multiset<std::string> set;
    std::istringstream stream(all);
    for (std::string line; std::getline(stream, line);)
      set.insert(std::regex_replace(line, ids, ""));
    return set;
  };
  const auto was = lines(expected), is = lines(found);
  for (const std::string& line : was)
    if (!is.contains(line) && !may_differ(harmless, line)) text += "    gone: " + line + "\n";
  for (const std::string& line : is)
    if (!was.contains(line) && !may_differ(harmless, line)) text += "    new:  " + line + "\n";
  return text;
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

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  DIR* proc = opendir("/proc");
  while (const dirent* entry = proc ? readdir(proc) : nullptr) {
    const std::string stat = read_file("/proc/" + std::string(entry->d_name) + "/stat");
    const std::size_t paren = stat.rfind(')');
    if (atoi(entry->d_name) > 0 && paren != std::string::npos && stat.size() > paren + 4 &&
        atoi(stat.c_str() + paren + 4) == parent)
      found.push_back(atoi(entry->d_name));
  }
  if (proc) closedir(proc);
  return found;
}

// Of the brig process `owner`.
std::set<std::string> brig_cgroups(pid_t owner) {
  std::set<std::string> found;
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(
      "/sys/fs/cgroup", std::filesystem::directory_options::skip_permission_denied, error),
      end;
  for (; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("brig-") &&
        name.find("-" + std::to_string(owner) + "-") != std::string::npos)
      found.insert(at->path().string());
  }
  return found;
}

std::set<std::string> entries_of(const std::string& directory) {
  std::set<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error))
    found.insert(at->path().string());
  return found;
}

struct Run {
  pid_t pid = 0;
  bool after = false;  // the tool had run already
  int code = -1;       // 128+n for a signal, -1: did not end
  std::string err, mark, process;
  long call = -1;  // the one that was made to fail
  unsigned long detail = 0;
  int counted = 0;  // calls worth failing
  double seconds = 0;
};

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

using Clock = std::chrono::steady_clock;
double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

volatile sig_atomic_t g_late = 0;

// Runs `command`; fails call number `target` (0: none) with `error`; `only`: count only this call.
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
  pid_t failing = 0;
  bool root_done = false;
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
          failing = pid;
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
        ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
        known.erase(pid);
        continue;
      }
    } else if (event == 0 && !(newborn && signal == SIGSTOP) && signal != SIGTRAP) {
      pass = reinterpret_cast<void*>(static_cast<long>(signal));
    }
    ptrace(PTRACE_SYSCALL, pid, nullptr, pass);
  }
  alarm(0);
  char buffer[4096];
  fcntl(err[0], F_SETFL, O_NONBLOCK);
  for (ssize_t size; (size = read(err[0], buffer, sizeof buffer)) > 0;)
    result.err.append(buffer, static_cast<std::size_t>(size));
  close(err[0]);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  int error = EPERM;
  bool verbose = false;
  const char* only = nullptr;
  int at = 1;
  for (; at < argc && argv[at][0] == '-' && strcmp(argv[at], "--"); ++at) {
    if (!strcmp(argv[at], "-v")) verbose = true;
    if (!strcmp(argv[at], "-n") && at + 1 < argc) only = argv[++at];
    if (!strcmp(argv[at], "-e") && at + 1 < argc) error = atoi(argv[++at]);
  }
  if (argc < at + 3) return 2;
  const std::string directory = argv[at], mark = directory + "/mark";
  char** command = argv + at + 2;
  struct sigaction action {};
  action.sa_handler = [](int) { g_late = 1; };
  sigaction(SIGALRM, &action, nullptr);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);

  unlink(mark.c_str());
  const Run baseline = run(command, mark.c_str(), 0, 0, nullptr);
  const std::string expected = read_file(mark);
  if (baseline.code != 0 || expected.empty()) {
    printf("without a fault: exit code %d, %s\n", baseline.code, baseline.err.c_str());
    return 1;
  }
  const char* tmp = getenv("TMPDIR");
  const std::string temporary = tmp ? tmp : "/tmp";
  const auto files_before = entries_of(temporary);
  int runs = 0, refused = 0, unharmed = 0, bad = 0;
  for (int target = 1;; ++target) {
    unlink(mark.c_str());
    Run result = run(command, mark.c_str(), target, error, only);
    if (result.call < 0) break;  // fewer calls than that: all have had their turn
    ++runs;
    std::string wrong;
    const std::string found = read_file(mark);
    const bool marked = access(mark.c_str(), F_OK) == 0;
    if (result.code < 0) wrong += "  did not end within ten seconds\n";
    const Harmless* entry = harmless(result.process, name_of(result.call));
    if (marked) {
      const std::string differs = difference(expected, found, entry);
      if (!differs.empty()) wrong += "  THE TOOL RAN, LOCKED OTHERWISE:\n" + differs;
    }
    if (result.code == 0 && !marked) wrong += "  success, but the tool did not run\n";
    // brig itself was not running yet.
    const bool not_started =
        result.err.find("error while loading shared libraries") != std::string::npos;
    const bool late = result.code == 124 && may_differ(entry, "@late");
    const bool lost = result.code == 128 + SIGKILL && may_differ(entry, "@lost");
    const bool absent = result.code == 127 && error == ENOENT;
    if (result.code > 0 && result.code != 125 && result.code != 126 && !not_started && !late &&
        !lost && !absent)
      wrong += "  exit code " + std::to_string(result.code) + "\n";
    if (result.seconds > 4 && !late) wrong += "  took " + std::to_string(result.seconds) + " s\n";
    if (result.code != 0 && result.err.empty() && !may_differ(entry, "@silent"))
      wrong += "  no message\n";
    if (result.code == 0 && !entry && !result.after)
      wrong += "  the run ended well, and that is not listed as harmless\n";
    // What is left. The janitor may outlive its host by as long as it takes to clean up.
    const auto begin = Clock::now();
    std::vector<pid_t> left;
    do {
      while (waitpid(-1, nullptr, WNOHANG | __WALL) > 0) {
      }
      left = children_of(getpid());
      if (!left.empty()) usleep(2000);
    } while (!left.empty() && since(begin) < 3);
    for (const pid_t pid : left) {
      wrong += "  left: process " + name_of_process(pid) + "\n";
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, __WALL);
    }
    for (const std::string& each : brig_cgroups(result.pid)) {
      wrong += "  left: " + each + "\n";
      rmdir((each + "/0").c_str());
      rmdir(each.c_str());
    }
    for (const std::string& each : entries_of(temporary))
      if (!files_before.contains(each) && each.find("/brig-") != std::string::npos) {
        wrong += "  left: " + each + "\n";
        std::error_code ignored;
        std::filesystem::remove_all(each, ignored);
      }
    if (result.code == 0)
      ++unharmed;
    else
      ++refused;
    if (!wrong.empty()) ++bad;
    if (verbose || !wrong.empty())
      printf("%d: %s of %s (%#lx) fails with %s: exit code %d: %s%s\n%s", target,
             name_of(result.call), result.process.c_str(), result.detail, strerrorname_np(error),
             result.code, result.err.substr(0, 300).c_str(),
             result.err.empty() || result.err.back() != '\n' ? "\n" : "", wrong.c_str());
    fflush(stdout);
    if (target > 5000) break;
  }
  printf("%s: %d faults: %d refused, %d harmless, %d wrong\n", strerrorname_np(error), runs,
         refused, unharmed, bad);
  return bad ? 1 : 0;
}
