// Escapes through /proc, namespaces, capabilities, system calls and terminals (groups C, D and E).
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <termios.h>

#include <future>
#include <iterator>
#include <utility>

#include "escape.h"

namespace {

using namespace escape;
using brig::Outcome;
using brig::Policy;
using brig::Report;

TEST(Escape, SeesOnlyItsOwnProcesses) {
  expect_refused(attack({"proc", "pids"}),
                 {"only pid 1 and this one are there", "no other pid answers"});
}

TEST(Escape, CannotReadKernelMemoryDevicesOrHostSecrets) {
  expect_refused(attack({"proc", "secrets"}),
                 {"/proc/1/environ", "/proc/1/mem", "/proc/1/root/etc/passwd", "/proc/kcore",
                  "/proc/keys", "/sys/kernel/notes", "/sys/fs/cgroup/cgroup.procs",
                  "/sys/kernel/debug/.", "/dev/mem", "/dev/kmsg", "/dev/vsock", "/dev/ptmx",
                  "/etc/shadow", "/run/docker.sock", "/proc/kcore's mask is the real null device"});
}

TEST(Escape, CannotChangeAnythingInProc) {
  const std::string limit = read_file("/proc/sys/user/max_user_namespaces"),
                    pattern = read_file("/proc/sys/kernel/core_pattern");
  expect_refused(
      attack({"proc", "changes"}),
      {"/proc/self/oom_score_adj", "/proc/self/uid_map", "/proc/self/gid_map",
       "/proc/self/setgroups", "/proc/sys/user/max_user_namespaces",
       "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "syslog read all", "syslog clear"});
  EXPECT_EQ(read_file("/proc/sys/user/max_user_namespaces"), limit);
  EXPECT_EQ(read_file("/proc/sys/kernel/core_pattern"), pattern);
}

TEST(Escape, CannotReadTheHostsEnvironmentThroughProc) {
  const std::vector<std::string> names = {"AWS_SECRET_ACCESS_KEY",
                                          "GITHUB_TOKEN",
                                          "OPENAI_API_KEY",
                                          "LD_PRELOAD",
                                          "LD_LIBRARY_PATH",
                                          "LD_AUDIT",
                                          "PYTHONPATH",
                                          "PYTHONSTARTUP",
                                          "NODE_OPTIONS",
                                          "BASH_ENV",
                                          "ENV",
                                          "GIT_SSH_COMMAND",
                                          "GIT_CONFIG_GLOBAL",
                                          "PERL5OPT",
                                          "RUBYOPT",
                                          "JAVA_TOOL_OPTIONS",
                                          "IFS",
                                          "SSH_AUTH_SOCK",
                                          "http_proxy",
                                          "BRIG_GUESTS"};
  std::vector<std::pair<std::string, const char*>> before;
  for (const std::string& name : names) {
    before.emplace_back(name, getenv(name.c_str()));
    if (name != "BRIG_GUESTS") setenv(name.c_str(), "/brig-test-secret", 1);
  }
  const Report report = attack({"proc", "environment"});
  brig::Runner runner(policy());
  const Report second = runner.run(guest({"proc", "environment"}));
  for (const auto& [name, value] : before) {
    if (name == "BRIG_GUESTS") continue;
    value ? setenv(name.c_str(), value, 1) : unsetenv(name.c_str());
  }
  for (const Report& each : {report, second}) {
    EXPECT_EQ(each.outcome, Outcome::ok) << describe(each);
    EXPECT_TRUE(has_line(each, "env PATH=")) << describe(each);
    EXPECT_TRUE(has_line(each, "file /proc/1/environ -1")) << describe(each);
    EXPECT_EQ(each.out.bytes.find("brig-test-secret"), std::string::npos) << describe(each);
    for (const std::string& name : names)
      EXPECT_EQ(each.out.bytes.find(name + "="), std::string::npos) << name;
  }
}

TEST(Escape, OnlyNamedVariablesPass) {
  setenv("BRIG_TEST_SECRET", "secret-1", 1);
  setenv("BRIG_TEST_SECRETS", "secret-2", 1);
  Policy named = policy();
  named.environment.passthrough = {"BRIG_TEST_SECRET"};
  const Report report = attack({"proc", "environment"}, named);
  unsetenv("BRIG_TEST_SECRET");
  unsetenv("BRIG_TEST_SECRETS");
  EXPECT_TRUE(has_line(report, "env BRIG_TEST_SECRET=secret-1"));
  EXPECT_EQ(report.out.bytes.find("secret-2"), std::string::npos);
}

TEST(Escape, CannotMakeOrJoinNamespaces) {
  const Report report = attack({"namespaces", "namespaces"});
  expect_refused(report, {"unshare user", "unshare mount", "unshare time", "clone user",
                          "clone net with a dirty upper half", "clone3 user",
                          "setns /proc/self/ns/mnt", "setns /proc/1/ns/user",
                          "parent of /proc/self/ns/user", "setns by pidfd", "sethostname"});
  EXPECT_GT(violations(report, "syscall", "unshare"), 0u);
  EXPECT_GT(violations(report, "syscall", "clone(CLONE_NEW*)"), 0u);
  char name[256] = "";
  gethostname(name, sizeof name);
  EXPECT_STRNE(name, "x");
}

TEST(Escape, HasNoCapabilityAndCannotRaiseOne) {
  expect_refused(attack({"namespaces", "capabilities"}),
                 {"no capability at all", "capset", "empty bounding set", "raise ambient",
                  "setuid 0", "setgroups", "not root"});
}

TEST(Escape, GainsNothingByPrctl) {
  expect_refused(attack({"namespaces", "prctl"}),
                 {"no_new_privs is on", "no_new_privs off", "securebits", "PR_SET_MM",
                  "PR_SET_MM with a dirty upper half", "filtered"});
}

TEST(Escape, CannotTraceItsInitOrRaiseItsLimits) {
  expect_refused(attack({"namespaces", "tracing"}),
                 {"ptrace attach 1", "ptrace traceme", "process_vm_readv 1", "process_vm_writev 1",
                  "/proc/1/mem", "raise the file limit", "raise init's process limit"});
}

// That a handler which core_pattern names is not started is tried on a machine of its own (tests/systemd):
// the pattern is the whole machine's.
TEST(Escape, CannotHaveItsCrashesDumpedOrHandled) {
  rlimit host{};
  getrlimit(RLIMIT_CORE, &host);
  BRIG_NEEDS(is_root() || host.rlim_max > 0, "the host's own core limit is 0 for good");
  expect_refused(
      attack({"namespaces", "core"}),
      {"the core limit is 1", "set it and ask for the old one", "the core limit is still 1",
       "turn core dumps off", "a crash is not dumped", "no core file"});
}

TEST(Escape, CannotReachItsInitsMemoryWithADebuggersSystemCalls) {
  Policy debugger = policy();
  debugger.syscalls.allow = {"ptrace", "process_vm_readv", "process_vm_writev",
                             "kcmp",   "process_madvise",  "move_pages"};
  expect_refused(attack({"namespaces", "debugging"}, debugger),
                 {"process_vm_writev to one's own", "ptrace one's own", "ptrace attach 1",
                  "ptrace seize 1", "process_vm_readv 1", "process_vm_writev 1", "pidfd_getfd 1",
                  "process_madvise 1", "kcmp 1", "/proc/1/mem", "/proc/1/maps", "/proc/1/fd"});
}

TEST(Escape, CannotCallWhatIsNotForTools) {
  const Report report = attack({"syscalls", "dangerous"});
  expect_refused(report, {"keyctl", "add_key", "request_key", "bpf", "perf_event_open",
                          "io_uring_setup", "userfaultfd", "init_module", "kexec_load", "reboot",
                          "swapon", "acct", "quotactl", "iopl", "modify_ldt", "clock_settime",
                          "personality READ_IMPLIES_EXEC", "personality, asked"});
  for (const char* name : {"bpf", "perf_event_open", "userfaultfd", "init_module", "kexec_load",
                           "reboot", "swapon", "acct", "quotactl", "iopl"})
    EXPECT_EQ(violations(report, "syscall", name), 1u) << name;
}

// With the answer of a kernel that does not have them: programs that filter for speed go on without.
TEST(Escape, CannotSetOptionsThatTakeWhatAllSocketsShare) {
  Policy loopback = policy();
  loopback.network = brig::Network::loopback;
  const std::vector<std::pair<int, Policy>> families = {{AF_UNIX, policy()}, {AF_INET, loopback}};
  for (const auto& [family, each] : families) {
    const Report report = attack({"syscalls", "options", std::to_string(family)}, each);
    expect_refused(report,
                   {"filter", "filter with dirty upper halves", "BPF program", "filter of a group",
                    "BPF program of a group", "flow label", "an ordinary option"});
    EXPECT_EQ(violations(report, "syscall", "setsockopt(SO_ATTACH_FILTER)"), 2u);
    EXPECT_EQ(violations(report, "syscall", "setsockopt(IPV6_FLOWLABEL_MGR)"), 1u);
  }
}

TEST(Escape, UnknownSyscallNumbersGetTheDefaultAnswer) {
  expect_refused(attack({"syscalls", "numbers"}),
                 {"number -1", "number 451", "number 462", "number 467", "number 470", "number 500",
                  "mount with a dirty number"});
}

TEST(Escape, ForeignAbisAreRefused) {
#if defined(__x86_64__)
  expect_refused(attack({"syscalls", "foreign"}),
                 {"x32 number 39", "int 0x80 getpid", "int 0x80 mount", "int 0x80 keyctl"});
#else
  BRIG_NEEDS(false, "x32 and int 0x80 are of x86-64 only");
#endif
}

TEST(Escape, CannotLoosenItsFilter) {
  expect_refused(attack({"syscalls", "loosen"}),
                 {"filter with a listener", "listener with dirty flags", "in a thread, before",
                  "after it: unshare", "in a thread, after", "with a SIGSYS handler",
                  "and nothing was mounted"});
}

TEST(Escape, RefusedCallsOfProcessesThatDieDoNotHoldTheSupervisor) {
  Policy bounded = policy();
  bounded.limits.timeout = milliseconds(15'000);
  brig::Runner runner(bounded, {.ready = 1});
  for (int i = 0; i < 5; ++i) {
    const Report report = runner.run(guest({"syscalls", "storm", "100"}));
    expect_refused(report, {"unshare after the storm"});
    auto pending = runner.run_async(guest({"syscalls", "storm", "100"}));
    expect_refused(pending.report.get(), {"unshare after the storm"});
  }
}

TEST(Escape, DenyWinsOverAllow) {
  Policy both = policy();
  both.syscalls.allow = {"ptrace", "kcmp"};
  both.syscalls.deny = {"ptrace"};
  const Report report =
      attack({"syscalls", "one", std::to_string(SYS_ptrace)}, both);  // PTRACE_TRACEME
  expect_refused(report, {"call"});
}

TEST(Escape, WhatWouldUndoTheJailCannotBeAllowed) {
  for (const char* name :
       {"mount", "unshare", "setns", "bpf", "pidfd_getfd", "chroot", "pivot_root",
        "open_by_handle_at", "keyctl", "clone3", "openat2", "reboot", "init_module"}) {
    Policy loose = policy();
    loose.syscalls.allow = {name};
    EXPECT_THROW((void)brig::run({.argv = {"true"}}, loose), brig::Error) << name;
  }
}

TEST(Escape, CodeMadeInTheCellRunsUnderTheSameLocks) {
  Policy given = policy();
  given.syscalls.allow = {"memfd_create"};  // refused where no cgroup counts its memory
  const Report report = attack({"execute"}, given);
  expect_refused(report, {"from a memfd: mount", "from /tmp: unshare", "a memfd ran, locked",
                          "a file in /tmp ran, locked", "set-user-ID programs give nothing"});
  EXPECT_FALSE(exists("/usr/brig-escape"));
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

// Runs it on a terminal of the host's, and collects what is printed there.
Report on_terminal(brig::Command command, std::string& printed) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  EXPECT_TRUE(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
  command.tty_fd = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
  EXPECT_GE(command.tty_fd, 0);
  auto running = std::async(std::launch::async, [&] { return brig::run(command, policy()); });
  char buffer[4096];
  const auto collect = [&] {
    for (ssize_t size; (size = read(master, buffer, sizeof buffer)) > 0;)
      printed.append(buffer, static_cast<std::size_t>(size));
  };
  fcntl(master, F_SETFL, O_NONBLOCK);
  while (running.wait_for(milliseconds(5)) != std::future_status::ready) collect();
  collect();
  close(command.tty_fd);
  close(master);
  return running.get();
}

TEST(Escape, CannotTypeOnTheHostsTerminal) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  BRIG_NEEDS(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0,
             "no pseudo terminal can be made");
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
  BRIG_NEEDS(slave >= 0, "the pseudo terminal can't be opened");
  termios raw{};
  ASSERT_EQ(tcgetattr(slave, &raw), 0);
  cfmakeraw(&raw);
  ASSERT_EQ(tcsetattr(slave, TCSANOW, &raw), 0);
  brig::Command command = guest({"tty"});
  command.tty_fd = slave;
  const Report report = brig::run(command, policy());
  std::string printed;
  char buffer[4096];
  fcntl(master, F_SETFL, O_NONBLOCK);
  for (ssize_t size; (size = read(master, buffer, sizeof buffer)) > 0;)
    printed.append(buffer, static_cast<std::size_t>(size));
  EXPECT_EQ(report.outcome, Outcome::ok) << describe(report) << printed;
  for (const char* name :
       {"TIOCSTI: refused", "TIOCSTI with high bits: refused", "TIOCLINUX: refused",
        "TIOCSETD: refused", "the terminal by its name: refused", "stdin is a terminal: holds"})
    EXPECT_NE(printed.find(name), std::string::npos) << printed;
  EXPECT_EQ(printed.find("SUCCEEDED"), std::string::npos) << printed;
  EXPECT_GT(violations(report, "syscall", "ioctl(TIOCSTI)"), 0u);
  int waiting = -1;
  EXPECT_EQ(ioctl(slave, FIONREAD, &waiting), 0);
  EXPECT_EQ(waiting, 0) << "something was typed";
  close(slave);
  close(master);
}

// The attacks of other tests, from a terminal: one that the cell has made for itself, or one of the host's (`--tty`).
TEST(Escape, ATerminalGivesNothingAway) {
  const Victim victim;
  const std::string at = "signals at " + std::to_string(victim.pid());
  const std::vector<std::pair<std::string, std::vector<std::string>>> attacks = {
      {"descriptors", {"descriptors above 2: none", "write to 3", "pidfd_getfd of pid 1"}},
      {"proc pids", {}},
      {"proc secrets", {"/proc/1/environ", "/proc/1/mem", "/etc/shadow", "/dev/kmsg"}},
      {"proc changes", {"/proc/self/uid_map", "/proc/sys/kernel/core_pattern"}},
      {at, {"kill " + std::to_string(victim.pid()), "pidfd", "prlimit"}},
      {"signals scheduling", {"SCHED_FIFO", "ioprio real time"}},
      {"namespaces namespaces", {"unshare user", "setns /proc/1/ns/user", "setns by pidfd"}},
      {"namespaces capabilities", {"no capability at all", "capset", "setuid 0"}},
      {"namespaces tracing", {"ptrace attach 1", "process_vm_readv 1", "/proc/1/mem"}}};
  for (const auto& [line, names] : attacks) {
    SCOPED_TRACE(line);
    // With O_ASYNC and SIGKILL for a terminal that it asks for, it may kill its own process group.
    const bool may_end_itself = line == at;
    brig::Command own = brig::Command::shell("script -q -e -c '" + guests() + "/" + line +
                                             "; echo it ended with $?' /dev/null");
    for (const Report& report :
         {brig::Runner(policy(), {.ready = 1}).run(own), brig::run(own, policy())}) {
      BRIG_NEEDS(report.exit_code != 127, "no script");
      if (may_end_itself) {
        EXPECT_FALSE(went_wrong(report)) << describe(report);
      } else if (line != "proc pids") {  // there it finds script, too
        expect_refused(report, names);
        EXPECT_TRUE(has_line(report, "it ended with 0")) << describe(report);
      }
    }
    std::string printed;
    const Report given = on_terminal(guest(words_of(line)), printed);
    if (!may_end_itself) {
      EXPECT_EQ(given.outcome, Outcome::ok) << describe(given) << printed;
    }
    for (const std::string& name : names)
      EXPECT_NE(("\n" + printed).find("\n" + name + ": "), std::string::npos) << name << printed;
    for (const char* bad : {": SUCCEEDED", ": FAILED", ": BROKEN", ": WRONG ERROR", ": PRESENT"})
      EXPECT_EQ(printed.find(bad), std::string::npos) << printed;
  }
  EXPECT_TRUE(victim.alive());
}

// Of the host's there is one, so that its name means something.
TEST(Escape, TerminalsAreTheCellsOwnAndFew) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  BRIG_NEEDS(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0,
             "no pseudo terminal can be made");
  const std::string name = ptsname(master);
  for (int i = 0; i < 2; ++i) {
    const Report report = attack({"terminals", name});
    expect_refused(report,
                   {"one that nobody made", "one of the host's", "make a node of one", "TIOCSTI",
                    "TIOCLINUX", "TIOCSETD", "TIOCSETD with high bits", "more than a few"});
    EXPECT_TRUE(has_line(report, "made 16")) << describe(report);
    EXPECT_GT(violations(report, "syscall", "ioctl(TIOCSETD)"), 0u) << describe(report);
  }
  // Nothing of the last cell's, in the same slot.
  brig::Runner runner(policy(), {.ready = 1});
  for (int i = 0; i < 3; ++i) {
    const Report report = runner.run(guest({"terminals"}));
    EXPECT_EQ(report.outcome, Outcome::ok) << describe(report);
  }
  char byte;
  fcntl(master, F_SETFL, O_NONBLOCK);
  EXPECT_EQ(read(master, &byte, 1), -1) << "something was written to the host's";
  close(master);
}

TEST(Escape, HasNoControllingTerminalOfTheHosts) {
  const Report report = brig::run(brig::Command::shell("echo x > /dev/tty"), policy());
  EXPECT_EQ(report.outcome, Outcome::exit) << describe(report);
}

}  // namespace
