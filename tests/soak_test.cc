// Thousands of good and evil commands over one Runner leave the host as it was: no process, no
// descriptor, no mount, no cgroup, no namespace more, and no memory that grows.
// BRIG_SOAK_CALLS says how many; 2000 unless set.
#include <atomic>
#include <mutex>

#include "soak_count.h"

namespace {

using namespace soak;

Command mixed(int i, Outcome& expected) {
  expected = Outcome::ok;
  switch (i % 16) {
    case 0: return sh("sleep 30 & setsid sleep 30 & (sleep 30 &) ; echo done");
    case 1: expected = Outcome::exit; return sh("exit 3");
    case 2: expected = Outcome::signal; return sh("kill -SEGV $$");
    case 3: return sh("head -c 300000 /dev/zero");
    case 4: return sh("cd $TMPDIR; echo x > f; mkdir -p a/b/c; ln -s / a/l; cat f");
    case 5: expected = Outcome::invalid_arguments; return argv({"no-such-program"});
    case 6: expected = Outcome::exit; return guest({"ending", "forge"});
    case 7: expected = Outcome::invalid_arguments; return argv({});
    case 8: return sh("for i in 1 2 3 4 5; do true & done; wait");
    case 9: {
      Command command = argv({"cat"});
      command.stdin_bytes = std::string(100'000, 'x');
      return command;
    }
    case 10: expected = Outcome::signal; return sh("kill -9 $$");
    case 11: return sh("trap '' TERM HUP INT; sleep 0.01");
    default: return sh("echo " + std::to_string(i));
  }
}

void soak_a_runner() {
  const char* wanted = getenv("BRIG_SOAK_CALLS");
  const int calls = wanted ? atoi(wanted) : 2000;
  const Count before = count();
  {
    Policy policy = escape::policy();
    policy.limits.memory = 128_MiB;
    policy.limits.processes = 20;
    policy.limits.grace = milliseconds(50);
    Runner runner(policy, {.ready = 3});
    std::atomic<int> next{0}, wrong{0};
    const auto work = [&](int until) {
      std::vector<std::thread> threads;
      for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([&, until] {
          for (int i; (i = next++) < until;) {
            Outcome expected;
            const Command command = mixed(i, expected);
            Report report;
            if (i % 3 == 0) {
              auto pending = runner.run_async(command);
              if (i % 7 == 0) {
                runner.cancel(pending.id);
                (void)pending.report.get();
                continue;
              }
              report = pending.report.get();
            } else {
              report = runner.run(command);
            }
            if (report.outcome != expected && ++wrong < 5)
              ADD_FAILURE() << i << ": expected " << to_string(expected) << ", is "
                            << describe(report).substr(0, 500);
          }
        });
      for (std::thread& thread : threads) thread.join();
      next = until;
    };
    work(calls / 10);
    EXPECT_TRUE(comes_true([&] { return runner.ready() >= 2; }));
    const Count early = settled();
    const std::uint64_t memory = own_memory("VmRSS");
    work(calls);
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(comes_true([&] { return runner.ready() >= 2; }));
    const Count late = settled(early.processes + 12);
    const std::uint64_t grown = own_memory("VmRSS") - std::min(memory, own_memory("VmRSS"));
    printf("after %d calls: %s\nafter %d calls: %s, %.1f MiB more memory\n", calls / 10,
           (std::ostringstream() << early).str().c_str(), calls,
           (std::ostringstream() << late).str().c_str(), static_cast<double>(grown) / (1 << 20));
    // The pool may stand at another size, by six slots with two processes and up to six cgroups each; it may not grow with the
    // number of calls.
    EXPECT_LE(late.processes, early.processes + 12) << early << "\n" << late;
    EXPECT_LE(late.descriptors, early.descriptors + 60) << early << "\n" << late;
    EXPECT_EQ(late.mounts, early.mounts);
    EXPECT_LE(late.cgroups, early.cgroups + 40) << early << "\n" << late;
    EXPECT_LE(late.namespaces, early.namespaces + 40) << early << "\n" << late;
    EXPECT_LT(grown, kSanitized ? 300_MiB : 8_MiB);  // ASan keeps what was freed
  }
  expect_same(before);
}

TEST(Soak, MixedCallsLeaveNothing) { with_own_mounts(soak_a_runner); }

void soak_single_runs() {
  const char* wanted = getenv("BRIG_SOAK_CALLS");
  const int calls = (wanted ? atoi(wanted) : 2000) / 10;
  (void)brig::run(sh("true"), policy());
  const Count before = count();
  const std::uint64_t memory = own_memory("VmRSS");
  for (int i = 0; i < calls; ++i) {
    Outcome expected;
    const Command command = mixed(i, expected);
    Policy policy = escape::policy();
    if (i % 5 == 4) policy.isolation = brig::Isolation::landlock;
    const Report report = brig::run(command, policy);
    EXPECT_EQ(report.outcome, expected) << i << ": " << describe(report).substr(0, 500);
  }
  expect_same(before);
  const std::uint64_t now = own_memory("VmRSS");
  EXPECT_LT(now > memory ? now - memory : 0, kSanitized ? 300_MiB : 8_MiB);
}

TEST(Soak, SingleRunsLeaveNothing) { with_own_mounts(soak_single_runs); }

}  // namespace
