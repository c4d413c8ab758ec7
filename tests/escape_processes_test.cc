// Escapes through signals, survivors and time (group F of the attack list).
#include <future>
#include <utility>

#include "escape.h"

namespace {

using namespace escape;
using brig::Outcome;
using brig::Policy;
using brig::Report;

TEST(Escape, CannotSignalAProcessOfTheHost) {
  const Victim victim;
  expect_refused(attack({"signals", "at", std::to_string(victim.pid()), std::to_string(getpid()),
                         std::to_string(getppid())}),
                 {"kill " + std::to_string(victim.pid()), "tgkill", "rt_sigqueueinfo", "pidfd",
                  "setpriority", "prlimit", "sched_setaffinity"});
  EXPECT_TRUE(victim.alive());
}

TEST(Escape, KillingEveryoneEndsOnlyItsOwnProcesses) {
  const Victim victim;
  brig::Runner runner(policy());
  // The neighbour is there before the attack, and stays until its stdin ends.
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  brig::Command command = brig::Command::shell("echo here; cat; echo alive");
  command.stdin_fd = ends[0];
  std::promise<void> here;
  bool told = false;
  auto neighbour = runner.run_async(command, [&](brig::Stream, std::string_view) {
    if (!std::exchange(told, true)) here.set_value();
  });
  EXPECT_EQ(here.get_future().wait_for(std::chrono::seconds(15)), std::future_status::ready);
  expect_refused(runner.run(guest({"signals", "everyone"})),
                 {"nobody but pid 1 is left", "pid 1 is still there"});
  EXPECT_TRUE(victim.alive());
  close(ends[1]);
  const Report other = neighbour.report.get();
  close(ends[0]);
  EXPECT_EQ(other.out.bytes, "here\nalive\n") << describe(other);
}

TEST(Escape, CannotTakeMoreThanItsShareOfTheProcessor) {
  expect_refused(attack({"signals", "scheduling"}), {"SCHED_FIFO", "SCHED_RR", "SCHED_DEADLINE",
                                                     "nice -20", "ioprio real time", "mlockall"});
}

// `how` the guest tries to outlive its call; whether the call ends by itself.
void expect_no_survivor(const char* how, bool ends, brig::Policy policy) {
  SCOPED_TRACE(how);
  policy.limits.timeout = milliseconds(ends ? 20'000 : 1000);
  policy.limits.grace = milliseconds(200);
  const auto begin = std::chrono::steady_clock::now();
  const std::string marker = unique_marker(how);
  const Report report = brig::run(guest({"survivors", how, marker}), policy);
  expect_gone(marker, report, policy.limits);
  EXPECT_TRUE(has_line(report, "started")) << describe(report);
  EXPECT_EQ(report.outcome, ends ? Outcome::ok : Outcome::timeout) << describe(report);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(15'000));
  // And with a Runner, which lives on.
  const std::string second = unique_marker(how);
  brig::Runner runner(policy, {.ready = 1});
  const Report again = runner.run(guest({"survivors", how, second}));
  EXPECT_EQ(again.outcome, report.outcome) << describe(again);
  expect_gone(second, again, policy.limits);
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
  for (int i = 0; i < 1500 && processes_with(marker).empty(); ++i) usleep(10'000);
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
    for (int i = 0; i < 1500 && processes_with(marker).empty(); ++i) usleep(10'000);
    EXPECT_FALSE(processes_with(marker).empty());
  }
  EXPECT_EQ(processes_with(marker).size(), 0u);
}

TEST(Escape, TheDeathOfTheHostBySigkillLeavesNobody) {
  const std::string marker = unique_marker("host");
  const pid_t host = fork();
  if (host == 0) {
    (void)brig::run(guest({"survivors", "daemon-sleep", marker}), policy());
    _exit(0);
  }
  std::size_t seen = 0;
  for (int i = 0; i < 1500 && (seen = processes_with(marker).size()) < 2; ++i) usleep(10'000);
  EXPECT_GE(seen, 2u);
  kill(host, SIGKILL);
  waitpid(host, nullptr, 0);
  for (int i = 0; i < 1500 && !processes_with(marker).empty(); ++i) usleep(10'000);
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
  bounded.limits.timeout = milliseconds(1500);
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

}  // namespace
