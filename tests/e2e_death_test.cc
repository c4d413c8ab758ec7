// The death of every part of a Runner, and of its host.
#include <sys/prctl.h>

#include <atomic>

#include "e2e_support.h"

namespace {

using namespace e2e;
using brig::Isolation;
using brig::Stream;

// This binary again, as a host that runs a long command until it is killed: argv can't say so, since
// gtest's main would read it, so a variable does. Prints a line when the command runs.
const bool kHostRole = [] {
  const char* floor = getenv("BRIG_E2E_HOST");
  if (!floor) return false;
  unsetenv("BRIG_E2E_HOST");
  for (const Isolation isolation : kFloors)
    if (std::string(floor) == to_string(isolation)) {
      Policy policy = policy_of(isolation);
      policy.limits.timeout = milliseconds(100'000);
      Runner runner(policy);
      const char* marker = getenv("BRIG_E2E_MARKER");
      const std::string sleeper =
          std::string("sh -c \"sleep 1000; : ") + (marker ? marker : "") + "\"";
      auto plain =
          runner.run_async(sh("setsid " + sleeper + " & " + sleeper + " & (setsid " + sleeper +
                              " &) ; trap '' TERM HUP; echo running; " + sleeper),
                           [](Stream, std::string_view) { (void)!write(1, "running\n", 8); });
      auto second = runner.run_async(sh("sleep 1000"));
      for (;;) pause();
    }
  _exit(1);
}();

struct Host {
  pid_t pid;
  explicit Host(Isolation isolation, const std::string& marker) {
    int ends[2];
    (void)!pipe2(ends, O_CLOEXEC);
    pid = fork();
    if (pid == 0) {
      dup2(ends[1], 1);
      setenv("BRIG_E2E_HOST", to_string(isolation), 1);
      setenv("BRIG_E2E_MARKER", marker.c_str(), 1);
      execl("/proc/self/exe", "e2e-host", nullptr);
      _exit(99);
    }
    close(ends[1]);
    char line[64];
    started = read(ends[0], line, sizeof line) > 0;
    close(ends[0]);
  }
  bool started;
};

// Without a pid namespace the end of a part reaches the command as a signal, which nothing tells from
// one that the command sent itself.
bool is_loss(const Report& report, Isolation isolation) {
  return report.outcome == Outcome::internal ||
         (isolation != Isolation::jail && report.outcome == Outcome::signal);
}

void expect_recovers(const char* part, Isolation isolation) {
  SCOPED_TRACE(std::string(part) + " " + to_string(isolation));
  {
    Runner runner(policy_of(isolation), {.ready = 2});
    EXPECT_TRUE(runner.run(sh("true")).ok());
    Begun begun;
    auto pending = runner.run_async(sh("echo begun; sleep 100"), begun.live());
    std::thread blocked([&] {
      const auto begin = Clock::now();
      const Report report = runner.run(sh("echo begun; sleep 100"), begun.live());
      EXPECT_TRUE(is_loss(report, isolation)) << describe(report);
      EXPECT_LT(since(begin), kSoon);
    });
    EXPECT_TRUE(begun.are(2));
    const std::vector<pid_t> victims = descendants_named(getpid(), part);
    EXPECT_FALSE(victims.empty());
    const auto begin = Clock::now();
    for (const pid_t victim : victims) kill(victim, SIGKILL);
    const Report report = pending.report.get();
    EXPECT_LT(since(begin), kSoon);
    EXPECT_TRUE(is_loss(report, isolation)) << describe(report);
    EXPECT_EQ(report.out.bytes, "begun\n");
    EXPECT_FALSE(report.message.empty());
    blocked.join();
    // A cell that was ready and died may be handed out until that is noticed.
    EXPECT_TRUE(comes_true([&] { return runner.run(sh("true")).ok(); }));
    for (int i = 0; i < 5; ++i) {
      const auto start = Clock::now();
      const Report next = runner.run(sh("echo " + std::to_string(i)));
      EXPECT_EQ(next.out.bytes, std::to_string(i) + "\n") << describe(next);
      EXPECT_LT(since(start), kSoon);
    }
    EXPECT_EQ(runner.run_async(sh("echo async")).report.get().out.bytes, "async\n");
    EXPECT_TRUE(comes_true([&] {
      for (const Process& each : descendants(getpid()))
        if (each.name == "sleep") return false;
      return true;
    })) << names(descendants(getpid()));
  }
  EXPECT_TRUE(comes_true([] { return descendants(getpid()).empty(); }))
      << names(descendants(getpid()));
  EXPECT_TRUE(cgroups_of(getpid()).empty()) << cgroups_of(getpid()).front();
}

TEST(Death, OfTheZygoteEndsItsCallsOnly) {
  for (const Isolation isolation : kFloors) expect_recovers("brig-zygote", isolation);
}
TEST(Death, OfTheKeepersEndsTheirCallsOnly) {
  for (const Isolation isolation : kFloors) expect_recovers("brig-keeper", isolation);
}
TEST(Death, OfTheInitsEndsTheirCallsOnly) {
  for (const Isolation isolation : kFloors) expect_recovers("brig-init", isolation);
}
TEST(Death, OfTheJanitorEndsItsCallsOnly) {
  for (const Isolation isolation : kFloors) expect_recovers("brig-janitor", isolation);
}

// The parts die again and again while eight threads call: every call is answered, in time.
TEST(Death, OfPartsUnderLoadNeverHangsACall) {
  Policy policy = escape::policy();
  policy.limits.timeout = milliseconds(4000);
  Runner runner(policy, {.ready = 2});
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0}, good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] {
      while (!stop) {
        const Report report = runner.run(sh("echo hello"));
        ++answered;
        if (report.ok())
          ++good;
        else
          EXPECT_TRUE(report.outcome == Outcome::internal || report.outcome == Outcome::timeout ||
                      report.outcome == Outcome::signal)
              << describe(report);
        // What died is the cause, not the call of the kernel that found it so.
        EXPECT_FALSE(contains(report.message, "Broken pipe")) << describe(report);
      }
    });
  const char* parts[] = {"brig-janitor", "brig-zygote", "brig-keeper", "brig-init"};
  for (int round = 0; round < 60; ++round) {
    const std::vector<pid_t> victims = descendants_named(getpid(), parts[round % 4]);
    if (!victims.empty()) kill(victims[static_cast<std::size_t>(round) % victims.size()], SIGKILL);
    usleep(static_cast<useconds_t>(20'000 + 1'000 * (round % 17)));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(good, 0);
  const auto begin = Clock::now();
  for (int i = 0; i < 5; ++i) {
    const Report report = runner.run(sh("echo hello"));
    EXPECT_TRUE(report.ok()) << describe(report);
  }
  EXPECT_LT(since(begin), kSoon);
}

TEST(Death, OfTheHostEndsEverythingOnEachFloor) {
  for (const Isolation isolation : kFloors) {
    SCOPED_TRACE(to_string(isolation));
    const std::string marker = unique_marker("host");
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // orphans come here, so that none is out of sight
    const Host host(isolation, marker);
    ASSERT_TRUE(host.started);
    EXPECT_TRUE(comes_true([&] { return processes_with(marker).size() >= 4; }));
    const std::vector<Process> before = descendants(host.pid);
    EXPECT_GE(before.size(), 6u);
    if (has_cgroups()) {
      EXPECT_FALSE(cgroups_of(host.pid).empty());
    }
    kill(host.pid, SIGKILL);
    waitpid(host.pid, nullptr, 0);
    EXPECT_TRUE(comes_true([&] {
      while (waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      return descendants(getpid()).empty() && processes_with(marker).empty();
    })) << names(descendants(getpid()));
    EXPECT_TRUE(comes_true([&] { return cgroups_of(host.pid).empty(); }))
        << cgroups_of(host.pid).front();
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  }
}

// An init that is killed closes its socket before the kernel ends the rest of its cell. The call is
// over only when that is done, too.
TEST(Death, OfAnInitTakesItsCellAlongBeforeTheCallIsOver) {
  Policy policy = with_wall(60'000, 0);
  policy.limits.memory = 1_GiB;
  policy.limits.processes = 1000;
  for (const bool stopped : {true, false}) {
    SCOPED_TRACE(stopped ? "stopped" : "killed");
    const std::string marker = unique_marker("init");
    // Each has memory to give back, so that its end takes a while.
    const std::string line =
        "i=0; while [ $i -lt 60 ]; do sh -c 'x=$(head -c 2000000 /dev/zero | tr \"\\0\" a); sleep "
        "60; : " +
        marker + "' & i=$((i + 1)); done; wait";
    Runner runner(policy, {.ready = 1});
    auto pending = runner.run_async(sh(line));
    EXPECT_TRUE(comes_true([&] { return processes_with(marker).size() >= 60; }, 4 * kSoon));
    for (const pid_t init : descendants_named(getpid(), "brig-init"))
      kill(init, stopped ? SIGSTOP : SIGKILL);
    if (stopped) {
      EXPECT_TRUE(runner.cancel(pending.id, true));
    }
    const Report report = pending.report.get();
    const std::size_t left = processes_with(marker).size();
    EXPECT_EQ(left, 0u) << describe(report);
    EXPECT_EQ(report.outcome, stopped ? Outcome::cancelled : Outcome::internal) << describe(report);
  }
}

}  // namespace
