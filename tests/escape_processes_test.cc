// Escapes through signals and time, resource abuse, and what a report says of them (groups F, G and K).
#include <sys/resource.h>

#include <functional>
#include <limits>

#include "escape.h"

namespace {

using namespace escape;
using brig::Error;
using brig::ErrorKind;
using brig::Outcome;
using brig::Policy;
using brig::Report;

// --- signals, survivors, time ---

TEST(Escape, CannotSignalAProcessOfTheHost) {
  const Victim victim;
  expect_refused(attack({"signals", "at", std::to_string(victim.pid()), std::to_string(getpid()),
                         std::to_string(getppid())}),
                 {"kill " + std::to_string(victim.pid()), "tgkill", "rt_sigqueueinfo", "pidfd",
                  "setpriority", "prlimit", "sched_setaffinity"});
  usleep(50'000);
  EXPECT_TRUE(victim.alive());
}

TEST(Escape, KillingEveryoneEndsOnlyItsOwnProcesses) {
  const Victim victim;
  brig::Runner runner(policy());
  auto neighbour = runner.run_async(brig::Command::shell("sleep 1; echo alive"));
  expect_refused(runner.run(guest({"signals", "everyone"})),
                 {"nobody but pid 1 is left", "pid 1 is still there"});
  EXPECT_TRUE(victim.alive());
  const Report other = neighbour.report.get();
  EXPECT_EQ(other.out.bytes, "alive\n") << describe(other);
}

TEST(Escape, CannotTakeMoreThanItsShareOfTheProcessor) {
  expect_refused(attack({"signals", "scheduling"}), {"SCHED_FIFO", "SCHED_RR", "SCHED_DEADLINE",
                                                     "nice -20", "ioprio real time", "mlockall"});
}

// `how` the guest tries to outlive its call; whether the call ends by itself.
void expect_no_survivor(const char* how, bool ends, brig::Policy policy) {
  SCOPED_TRACE(how);
  policy.limits.wall_time = milliseconds(ends ? 15'000 : 700);
  policy.limits.grace = milliseconds(200);
  const auto begin = std::chrono::steady_clock::now();
  const std::string marker = unique_marker(how);
  const Report report = brig::run(guest({"survivors", how, marker}), policy);
  EXPECT_EQ(processes_with(marker).size(), 0u) << "right after run()";
  EXPECT_TRUE(has_line(report, "started")) << describe(report);
  EXPECT_EQ(report.outcome, ends ? Outcome::ok : Outcome::timeout) << describe(report);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(ends ? 5000 : 4000));
  // And with a Runner, which lives on.
  const std::string second = unique_marker(how);
  brig::Runner runner(policy, {.ready = 1});
  EXPECT_EQ(runner.run(guest({"survivors", how, second})).outcome, report.outcome);
  EXPECT_EQ(processes_with(second).size(), 0u) << "right after Runner::run()";
}

TEST(Escape, ADaemonDoesNotOutliveTheCall) { expect_no_survivor("daemon", true, policy()); }
TEST(Escape, ADaemonDoesNotOutliveATimeout) { expect_no_survivor("daemon-sleep", false, policy()); }
TEST(Escape, IgnoringEverySignalDoesNotOutliveTheGracePeriod) {
  expect_no_survivor("deaf", false, policy());
}
TEST(Escape, AStoppedProcessIsEndedAtItsTime) { expect_no_survivor("stop", false, policy()); }
TEST(Escape, AStormOfForksDoesNotOutliveTheCall) { expect_no_survivor("storm", true, policy()); }
TEST(Escape, AStormOfForksDoesNotOutliveATimeout) {
  expect_no_survivor("storm-stay", false, policy());
}
TEST(Escape, SpinningThreadsAndVforkDoNotOutliveATimeout) {
  expect_no_survivor("spin", false, policy());
}
TEST(Escape, AGrandchildThatHoldsThePipeDoesNotDelayTheResult) {
  expect_no_survivor("hold-pipe", true, policy());
}
TEST(Escape, ClosingTheStreamsDoesNotHideATool) {
  expect_no_survivor("close-pipe", false, policy());
}
TEST(Escape, ASubreaperKeepsNoChildren) { expect_no_survivor("subreaper", true, policy()); }
TEST(Escape, KillingItsInitSavesNobody) { expect_no_survivor("kill-parent", false, policy()); }

TEST(Escape, ACancelledCallLeavesNobody) {
  brig::Runner runner(policy());
  const std::string marker = unique_marker("cancel");
  auto pending = runner.run_async(guest({"survivors", "daemon-sleep", marker}));
  for (int i = 0; i < 200 && processes_with(marker).empty(); ++i) usleep(10'000);
  EXPECT_FALSE(processes_with(marker).empty());
  EXPECT_TRUE(runner.cancel(pending.id));
  EXPECT_EQ(pending.report.get().outcome, Outcome::cancelled);
  EXPECT_EQ(processes_with(marker).size(), 0u);
}

TEST(Escape, TheEndOfARunnerLeavesNobody) {
  const std::string marker = unique_marker("runner");
  {
    brig::Runner runner(policy());
    runner.run_async(guest({"survivors", "daemon-sleep", marker}));
    for (int i = 0; i < 200 && processes_with(marker).empty(); ++i) usleep(10'000);
  }
  EXPECT_EQ(processes_with(marker).size(), 0u);
}

TEST(Escape, TheDeathOfTheHostBySigkillLeavesNobody) {
  const std::string marker = unique_marker("host");
  const pid_t host = fork();
  if (host == 0) {
    brig::run(guest({"survivors", "daemon-sleep", marker}), policy());
    _exit(0);
  }
  std::size_t seen = 0;
  for (int i = 0; i < 300 && (seen = processes_with(marker).size()) < 2; ++i) usleep(10'000);
  EXPECT_GE(seen, 2u);
  kill(host, SIGKILL);
  waitpid(host, nullptr, 0);
  for (int i = 0; i < 300 && !processes_with(marker).empty(); ++i) usleep(10'000);
  EXPECT_EQ(processes_with(marker).size(), 0u);
}

TEST(Escape, ExitCodesAndSignalsOfItsOwnAreReportedAsWhatTheyWere) {
  brig::Runner runner(policy());
  for (const int code : {1, 2, 124, 125, 126, 127, 130, 137, 139, 143, 255}) {
    const Report report = runner.run(guest({"ending", "exit", std::to_string(code)}));
    EXPECT_EQ(report.outcome, Outcome::exit) << describe(report);
    EXPECT_EQ(report.exit_code.value_or(-1), code);
    EXPECT_FALSE(report.signal);
  }
  for (const int number : {SIGKILL, SIGTERM, SIGSEGV, SIGABRT, SIGXCPU, SIGSYS, SIGINT, SIGPIPE}) {
    const Report report = runner.run(guest({"ending", "raise", std::to_string(number)}));
    EXPECT_EQ(report.outcome, Outcome::signal) << describe(report);
    EXPECT_EQ(report.signal.value_or(-1), number);
    EXPECT_FALSE(report.exit_code);
    EXPECT_TRUE(report.violations.empty());
  }
}

TEST(Escape, SleepersDoNotStarveTheOthers) {
  Policy bounded = policy();
  bounded.limits.wall_time = milliseconds(1500);
  bounded.limits.grace = milliseconds(0);
  brig::Runner runner(bounded, {.ready = 1, .max_cells = 4, .max_queue = 8});
  std::vector<brig::Runner::Pending> sleepers;
  for (int i = 0; i < 16; ++i) sleepers.push_back(runner.run_async({.argv = {"sleep", "60"}}));
  unsigned timeouts = 0, overloaded = 0;
  for (auto& each : sleepers) {
    const Outcome outcome = each.report.get().outcome;
    timeouts += outcome == Outcome::timeout;
    overloaded += outcome == Outcome::overloaded;
  }
  EXPECT_EQ(timeouts + overloaded, 16u);
  EXPECT_GT(overloaded, 0u);
  EXPECT_TRUE(runner.run({.argv = {"true"}}).ok());
}

// --- resources ---

// With a memory cgroup the tree is bounded; without, each process, and the report says so.
void expect_memory_bounded(const char* what, bool mapped) {
  SCOPED_TRACE(what);
  Policy small = policy();
  small.limits.memory = 64_MiB;
  small.limits.scratch = 1_GiB;  // tmpfs must not be what stops it
  small.limits.wall_time = milliseconds(20'000);
  const Report report = attack({"hog", what, "192"}, small);
  if (enforces(report, "memory:cgroup")) {
    EXPECT_EQ(report.outcome, Outcome::memory_limit) << describe(report);
    EXPECT_GT(violations(report, "memory", "killed by the out-of-memory killer"), 0u);
    EXPECT_LE(report.usage.memory_peak, 65_MiB);
    EXPECT_GE(report.usage.memory_peak, 32_MiB);
  } else {
    EXPECT_TRUE(enforces(report, "memory:per_process")) << describe(report);
    if (mapped) {
      EXPECT_NE(report.outcome, Outcome::ok) << describe(report);
    }
    EXPECT_NE(report.outcome, Outcome::memory_limit) << "nobody could have told";
  }
}

TEST(Escape, HeapMemoryIsBounded) { expect_memory_bounded("malloc", true); }
TEST(Escape, SharedAnonymousMemoryIsBounded) { expect_memory_bounded("shared", true); }
TEST(Escape, MemoryInMemfdsIsBounded) { expect_memory_bounded("memfd", false); }
TEST(Escape, MemoryInSysvSegmentsIsBounded) { expect_memory_bounded("shm", false); }
TEST(Escape, MemoryInScratchFilesIsBounded) { expect_memory_bounded("tmpfs", false); }
TEST(Escape, MemoryOfManySmallProcessesIsBounded) { expect_memory_bounded("family", false); }

TEST(Escape, TheStackIsBounded) {
  Policy small = policy();
  small.limits.memory = 64_MiB;
  const Report report = attack({"hog", "stack", "256"}, small);
  EXPECT_TRUE(report.outcome == Outcome::signal || report.outcome == Outcome::memory_limit)
      << describe(report);
}

TEST(Escape, ProcessesAndThreadsAreBounded) {
  Policy few = policy();
  few.limits.processes = 16;
  for (const char* what : {"forks", "threads"}) {
    SCOPED_TRACE(what);
    const Report report = attack({"hog", what, "64"}, few);
    ASSERT_TRUE(has_line(report, "made ")) << describe(report);
    const std::size_t at = report.out.bytes.find("made ");
    EXPECT_LE(strtoul(report.out.bytes.c_str() + at + 5, nullptr, 10), 15u) << describe(report);
    if (enforces(report, "processes:cgroup")) {
      EXPECT_EQ(report.outcome, Outcome::process_limit) << describe(report);
      EXPECT_GT(violations(report, "processes", "refused a new process"), 0u);
      EXPECT_LE(report.usage.processes_peak.value_or(999), 16u);
    } else {
      EXPECT_TRUE(enforces(report, "processes:rlimit"));
      EXPECT_EQ(report.outcome, Outcome::exit) << describe(report);
    }
  }
}

TEST(Escape, AForkBombStaysInItsCell) {
  Policy few = policy();
  few.limits.processes = 32;
  few.limits.wall_time = milliseconds(5000);
  const std::string marker = unique_marker("bomb");
  const Report report = attack({"hog", "bomb", "12", marker}, few);
  EXPECT_TRUE(enforces(report, "processes:"));
  EXPECT_EQ(processes_with(marker).size(), 0u);
  if (report.usage.processes_peak) {
    EXPECT_LE(*report.usage.processes_peak, 32u);
  }
  EXPECT_TRUE(attack({"ending", "exit", "0"}, few).ok());
}

TEST(Escape, KernelObjectsAreBounded) {
  const Report report = attack({"hog", "kernel", "4000"});
  EXPECT_EQ(report.outcome, Outcome::ok) << describe(report);
  EXPECT_TRUE(has_line(report, "descriptors 25")) << describe(report);  // open_files is 256
  EXPECT_TRUE(has_line(report, "layers 1")) << describe(report);  // the kernel's 16, less ours
}

TEST(Escape, SpinningOnEveryCoreEndsOnTime) {
  Policy brief = policy();
  brief.limits.wall_time = milliseconds(800);
  brief.limits.grace = milliseconds(0);
  const Report wall = attack({"hog", "spin", "20"}, brief);
  EXPECT_EQ(wall.outcome, Outcome::timeout) << describe(wall);
  EXPECT_LT(wall.usage.wall, milliseconds(2500));
  brief.limits.wall_time = milliseconds(20'000);
  brief.limits.cpu_time = milliseconds(1000);
  const Report cpu = attack({"hog", "spin", "20"}, brief);
  EXPECT_EQ(cpu.outcome, Outcome::timeout) << describe(cpu);
  EXPECT_NE(cpu.message.find("CPU"), std::string::npos) << cpu.message;  // not the wall time
}

TEST(Escape, AFloodOfOutputIsCountedAndCut) {
  Policy small = policy();
  small.limits.output = 64_KiB;
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  const Report report = attack({"hog", "flood", "96"}, small);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(report.outcome, Outcome::ok) << report.message;
  EXPECT_GE(report.out.total, 96_MiB);  // and its last line
  EXPECT_EQ(report.err.total, 96_MiB);
  EXPECT_EQ(report.out.bytes.size(), 64_KiB);
  EXPECT_TRUE(report.out.truncated && report.err.truncated);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10);  // KiB
  small.limits.output_total = 1_MiB;
  const Report stopped = attack({"hog", "flood", "96"}, small);
  EXPECT_EQ(stopped.outcome, Outcome::output_limit) << stopped.message;
  EXPECT_LT(stopped.out.total + stopped.err.total, 150_MiB);  // of 192
  const Report bytes = attack({"hog", "bytes", "20000"}, small);
  EXPECT_EQ(bytes.err.total, 10'000u);
}

// Cgroups of this process, in all hierarchies.
long own_cgroups() {
  const std::string list = "/tmp/brig-cgroups-" + std::to_string(getpid());
  (void)!system(("find /sys/fs/cgroup -type d -name 'brig-*-" + std::to_string(getpid()) +
                 "-*' > " + list + " 2>/dev/null")
                    .c_str());
  const std::string found = read_file(list);
  unlink(list.c_str());
  return std::count(found.begin(), found.end(), '\n');
}

TEST(Escape, LeavesNoCgroupBehind) {
  const long before = own_cgroups();
  {
    Policy few = policy();
    few.limits.processes = 16;
    brig::Runner runner(few);
    const Report report = runner.run(guest({"hog", "bomb", "8"}));
    if (enforces(report, "memory:cgroup")) {
      EXPECT_GT(own_cgroups(), before);
    }
    runner.run(guest({"survivors", "storm", unique_marker("cgroup")}));
  }
  EXPECT_EQ(own_cgroups(), before);
}

TEST(Escape, APolicyThatIsRefusedLeavesNoCgroupBehind) {
  const long before = own_cgroups();
  Policy wrong = policy();
  wrong.syscalls.allow = {"mount"};
  EXPECT_THROW(brig::run({.argv = {"true"}}, wrong), Error);
  wrong = policy();
  wrong.files.working_directory = "/no/such/place";
  EXPECT_THROW(brig::run({.argv = {"true"}}, wrong), Error);
  EXPECT_EQ(own_cgroups(), before);
}

// --- reports and setting up ---

TEST(Escape, AReportCannotBeForged) {
  const Report report = attack({"ending", "forge"});
  EXPECT_EQ(report.outcome, Outcome::exit);
  EXPECT_EQ(report.exit_code.value_or(-1), 7);
  EXPECT_EQ(violations(report, "seccomp", "mount"), 2u);
  EXPECT_EQ(violations(report, "seccomp", "chroot"), 1u);
  EXPECT_EQ(report.violations.size(), 2u);
  EXPECT_FALSE(enforces(report, "everything"));
  // As JSON: the forgery is inside a string, escaped.
  const std::string json = to_json(report);
  EXPECT_EQ(json.find("\"what\":\"forged\""), std::string::npos);
  EXPECT_EQ(json.find('\033'), std::string::npos);
  EXPECT_EQ(json.rfind("{\"outcome\":\"exit\"", 0), 0u) << json;
}

TEST(Escape, ViolationsAreCappedAndTheRefusalsGoOn) {
  const auto begin = std::chrono::steady_clock::now();
  const Report report = attack({"ending", "refusals"});
  expect_refused(report, {"still refused"});
  EXPECT_GT(violations(report, "seccomp", "mount"), 0u);
  EXPECT_LE(violations(report, "seccomp", "mount"), 10'000u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(Escape, AFailureToStartIsNotAnExitCode) {
  brig::Runner runner(policy());
  const Report missing = runner.run({.argv = {"/nonexistent/program"}});
  EXPECT_EQ(missing.outcome, Outcome::invalid_arguments);
  const Report exited = runner.run(guest({"ending", "exit", "127"}));
  EXPECT_EQ(exited.outcome, Outcome::exit);
  EXPECT_EQ(exited.exit_code.value_or(-1), 127);
  const Report denied = runner.run({.argv = {"/etc/passwd"}});
  EXPECT_EQ(denied.outcome, Outcome::invalid_arguments);
  EXPECT_EQ(runner.run({.argv = {}}).outcome, Outcome::invalid_arguments);
  EXPECT_EQ(runner.run({.argv = {std::string("true\0x", 6)}}).outcome, Outcome::invalid_arguments);
  // The working directory is the model's to write to: an empty entry of PATH does not search it.
  Policy trap = policy();
  trap.environment.set = {{"PATH", ":/usr/bin:"}};
  const Report found = brig::run(brig::Command{.argv = {"brig-no-such-program"}}, trap);
  EXPECT_EQ(found.outcome, Outcome::invalid_arguments);
}

TEST(Escape, AWrongPolicyThrowsAndNothingRuns) {
  HostDirectory host;
  const auto expect_error = [&](const char* what, const std::function<void(Policy&)>& change) {
    SCOPED_TRACE(what);
    Policy wrong = policy();
    wrong.files.write = {host.path()};
    change(wrong);
    try {
      brig::run({.argv = {"touch", host / "ran"}}, wrong);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_TRUE(error.kind() == ErrorKind::config || error.kind() == ErrorKind::unsupported)
          << error.what();
      EXPECT_NE(std::string(error.what()), "");
    }
    EXPECT_FALSE(exists(host / "ran"));
  };
  expect_error("missing source", [](Policy& p) { p.files.read.push_back("/nonexistent/brig"); });
  expect_error("missing hidden path",
               [](Policy& p) { p.files.hide.push_back("/nonexistent/brig"); });
  expect_error("relative", [](Policy& p) { p.files.read.push_back("etc"); });
  expect_error("dot dot", [&](Policy& p) { p.files.write.push_back(host.path() + "/../"); });
  expect_error("glob", [&](Policy& p) { p.files.hide.push_back(host.path() + "/*"); });
  expect_error("NUL",
               [&](Policy& p) { p.files.read.push_back(host.path() + std::string("\0x", 2)); });
  expect_error("the root", [](Policy& p) { p.files.write.push_back("/"); });
  expect_error("the root, spelled", [](Policy& p) { p.files.read.push_back("///"); });
  expect_error("/proc", [](Policy& p) { p.files.read.push_back("/proc"); });
  expect_error("/proc below", [](Policy& p) { p.files.read.push_back("//proc/1"); });
  expect_error("/sys", [](Policy& p) { p.files.write.push_back("/sys/fs/cgroup"); });
  expect_error("/dev", [](Policy& p) { p.files.read.push_back("/dev/"); });
  expect_error("a variable with =", [](Policy& p) { p.environment.set["A=B"] = "x"; });
  expect_error("a glob of variables", [](Policy& p) { p.environment.passthrough = {"AWS_*"}; });
  expect_error("an unknown syscall", [](Policy& p) { p.syscalls.deny = {"no_such_call"}; });
  expect_error("no wall time", [](Policy& p) { p.limits.wall_time = milliseconds(0); });
  expect_error("negative wall time", [](Policy& p) { p.limits.wall_time = milliseconds(-1); });
  expect_error("endless wall time", [](Policy& p) { p.limits.wall_time = milliseconds::max(); });
  expect_error("NaN cpus",
               [](Policy& p) { p.limits.cpus = std::numeric_limits<double>::quiet_NaN(); });
  expect_error("no memory", [](Policy& p) { p.limits.memory = 0; });
  expect_error("no processes", [](Policy& p) { p.limits.processes = 0; });
  expect_error("a network that is none",
               [](Policy& p) { p.network = static_cast<brig::Network>(7); });
  expect_error("an isolation that is none",
               [](Policy& p) { p.isolation = static_cast<brig::Isolation>(7); });
  expect_error("a root that is a file", [](Policy& p) { p.files.root = "/etc/hostname"; });
}

TEST(Escape, AWrongPolicyFileIsAnErrorNotALooserPolicy) {
  for (const char* text :
       {"isolatoin = \"jail\"", "isolation = \"jial\"", "network = true",
        "network = \"none\"\nnetwork = \"host\"", "[limits]\nmemory = -1",
        "[limits]\nwall_time = \"soon\"", "[files]\nread = \"/usr\"", "[files]\nraed = []",
        "[files]\nhide = [\"/usr/*\"]", "[syscalls]\nallow = [\"mount\", 5]", "[unknown]", "["})
    EXPECT_THROW(brig::policy_from_toml(text), Error) << text;
}

}  // namespace
