// A Runner in a host: many calls, many threads, forks, signals.
#include <sys/resource.h>

#include <atomic>
#include <mutex>

#include "e2e_support.h"

namespace {

using namespace e2e;
using brig::Isolation;
using brig::Stream;

// --- many calls ---

TEST(Runner, EightThreadsOfFiftyCallsGetTheirOwnOutput) {
  Runner runner(policy(), {.ready = 4});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 50; ++i) {
        const std::string word = std::to_string(thread) + "-" + std::to_string(i);
        Command command = sh("cat; echo " + word + " >&2; exit " + std::to_string(i));
        command.stdin_bytes = word;
        const Report report = runner.run(command);
        if (report.out.bytes != word || report.err.bytes != word + "\n" || report.exit_code != i) {
          ++wrong;
          ADD_FAILURE() << word << ": " << describe(report);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Runner, WhatOneCallIsRefusedStandsInNoOther) {
  Runner runner(policy(), {.ready = 2});
  std::vector<std::thread> threads;
  for (const bool offends : {true, false, true, false})
    threads.emplace_back([&runner, offends] {
      for (int i = 0; i < 15; ++i) {
        const Report report = runner.run(
            {.argv = {"bash", "-c", offends ? "exec 3<>/dev/tcp/127.0.0.1/9" : "exit 1"}});
        EXPECT_EQ(report.violations.size(), offends ? 1u : 0u) << describe(report);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Runner, AHundredAsyncCallsAtOnce) {
  Runner runner(policy(), {.ready = 4, .max_cells = 20});
  std::mutex mutex;
  std::map<int, std::string> seen;
  std::vector<Runner::Pending> pending;
  for (int i = 0; i < 100; ++i)
    pending.push_back(
        runner.run_async(sh("echo " + std::to_string(i)), [&, i](Stream, std::string_view bytes) {
          const std::lock_guard lock(mutex);
          seen[i].append(bytes);
        }));
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 100; ++i) {
    const Report report = pending[static_cast<std::size_t>(i)].report.get();
    EXPECT_EQ(report.out.bytes, std::to_string(i) + "\n") << describe(report);
    ids.insert(pending[static_cast<std::size_t>(i)].id);
  }
  EXPECT_EQ(ids.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seen[i], std::to_string(i) + "\n");
}

TEST(Runner, WorksWithNothingKeptReadyAndOneCell) {
  Runner runner(policy(), {.ready = 0, .max_cells = 1});
  std::vector<Runner::Pending> pending;
  for (int i = 0; i < 20; ++i) pending.push_back(runner.run_async(sh("echo " + std::to_string(i))));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { EXPECT_EQ(runner.run(sh("echo thread")).out.bytes, "thread\n"); });
  for (std::size_t i = 0; i < pending.size(); ++i)
    EXPECT_EQ(pending[i].report.get().out.bytes, std::to_string(i) + "\n");
  for (std::thread& thread : threads) thread.join();
}

TEST(Runner, NeverRunsMoreThanItsCells) {
  const HostDirectory host;
  const std::string place = host.make("place");
  Policy policy = escape::policy();
  policy.files.write = {place};
  Runner runner(policy, {.ready = 6, .max_cells = 2});
  std::vector<Runner::Pending> pending;
  // Each notes how many run beside it.
  for (int i = 0; i < 10; ++i)
    pending.push_back(
        runner.run_async(sh("cd " + place + "; touch run-" + std::to_string(i) +
                            "; sleep 0.15; ls run-* | wc -l; rm run-" + std::to_string(i))));
  for (auto& each : pending) EXPECT_LE(atoi(each.report.get().out.bytes.c_str()), 2);
}

TEST(Runner, TellsByCallbackAndFuture) {
  Runner runner(policy());
  std::atomic<int> calls{0};
  std::string out;
  auto pending = runner.run_async(sh("echo hello"), {}, [&](const Report& report) {
    out = report.out.bytes;
    ++calls;
  });
  EXPECT_EQ(pending.report.get().out.bytes, "hello\n");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(out, "hello\n");
  // Refused at once: the callback too.
  EXPECT_EQ(runner
                .run_async({}, {},
                           [&](const Report& report) {
                             calls += report.outcome == Outcome::invalid_arguments;
                           })
                .report.get()
                .outcome,
            Outcome::invalid_arguments);
  EXPECT_EQ(calls, 2);
}

TEST(Runner, CancelsWhatWaitsWhatRunsAndNothingElse) {
  Runner runner(policy(), {.ready = 1, .max_cells = 1});
  Begun begun;
  auto running = runner.run_async(sh("echo begun; sleep 100"), begun.live());
  EXPECT_TRUE(begun.are(1));
  auto waiting = runner.run_async(sh("echo never"));
  auto last = runner.run_async(sh("echo last"));
  EXPECT_TRUE(runner.cancel(waiting.id));
  const Report never = waiting.report.get();
  EXPECT_EQ(never.outcome, Outcome::cancelled);
  EXPECT_TRUE(contains(never.message, "before it ran")) << never.message;
  EXPECT_FALSE(runner.cancel(waiting.id));
  EXPECT_TRUE(runner.cancel(running.id));
  EXPECT_EQ(running.report.get().outcome, Outcome::cancelled);
  EXPECT_EQ(last.report.get().out.bytes, "last\n");
  EXPECT_FALSE(runner.cancel(last.id));
  EXPECT_FALSE(runner.cancel(999'999));
}

TEST(Runner, CancellingTwiceOrAtTheEndIsHarmless) {
  Runner runner(policy());
  for (int i = 0; i < 30; ++i) {
    auto pending = runner.run_async(sh("exit 0"));
    usleep(static_cast<useconds_t>(i * 300));
    runner.cancel(pending.id);
    runner.cancel(pending.id, true);
    const Outcome outcome = pending.report.get().outcome;
    EXPECT_TRUE(outcome == Outcome::ok || outcome == Outcome::cancelled) << to_string(outcome);
  }
}

// A second cancel() means no more than the first; only `at_once` cuts the grace period short.
TEST(Runner, CancellingAtOnceDoesNotWaitForTheGracePeriod) {
  Policy patient = policy();
  patient.limits.grace = std::chrono::minutes(1);
  Runner runner(patient);
  Begun begun;
  auto pending =
      runner.run_async(sh("trap '' TERM; echo begun; while :; do sleep 0.1; done"), begun.live());
  ASSERT_TRUE(begun.are(1));
  EXPECT_TRUE(runner.cancel(pending.id));
  EXPECT_TRUE(runner.cancel(pending.id));
  EXPECT_EQ(pending.report.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  EXPECT_TRUE(runner.cancel(pending.id, true));
  ASSERT_EQ(pending.report.wait_for(kSoon), std::future_status::ready);
  EXPECT_EQ(pending.report.get().outcome, Outcome::cancelled);
}

TEST(Runner, ItsEndCancelsAndLeavesNothing) {
  for (const Isolation isolation : kFloors) {
    SCOPED_TRACE(to_string(isolation));
    const std::string marker = unique_marker("destructor");
    std::future<Report> running, waiting;
    Begun begun;
    const std::size_t descriptors = open_descriptors();
    {
      Runner runner(policy_of(isolation), {.ready = 2, .max_cells = 1});
      running = runner
                    .run_async(sh("echo begun; setsid sh -c 'sleep 100; : " + marker +
                                  "' & sleep 100; : " + marker),
                               begun.live())
                    .report;
      EXPECT_TRUE(begun.are(1));
      waiting = runner.run_async(sh("echo never")).report;
      EXPECT_FALSE(descendants(getpid()).empty());
    }
    EXPECT_TRUE(processes_with(marker).empty());
    EXPECT_TRUE(descendants(getpid()).empty()) << names(descendants(getpid()));
    EXPECT_TRUE(cgroups_of(getpid()).empty()) << cgroups_of(getpid()).front();
    EXPECT_EQ(open_descriptors(), descriptors);
    const Report report = running.get();
    EXPECT_EQ(report.outcome, Outcome::cancelled) << describe(report);
    EXPECT_EQ(report.out.bytes, "begun\n");
    EXPECT_EQ(waiting.get().outcome, Outcome::cancelled);
  }
}

TEST(Runner, AFailedStartLeavesNothing) {
  const std::size_t descriptors = open_descriptors();
  Policy policy = escape::policy();
  policy.files.working_directory = "/no/such/place";
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(Runner runner(policy), Error);
    EXPECT_THROW((void)brig::run(sh("true"), policy), Error);
  }
  EXPECT_TRUE(comes_true([] { return descendants(getpid()).empty(); }))
      << names(descendants(getpid()));
  EXPECT_TRUE(cgroups_of(getpid()).empty()) << cgroups_of(getpid()).front();
  EXPECT_EQ(open_descriptors(), descriptors);
}

// --- the host ---

TEST(Host, AHundredIdleThreadsDoNotMatter) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::vector<std::thread> threads;
  for (int i = 0; i < 100; ++i) threads.emplace_back([&] { const std::lock_guard wait(mutex); });
  {
    Runner runner(policy());
    for (int i = 0; i < 20; ++i) EXPECT_EQ(runner.run(sh("echo hello")).out.bytes, "hello\n");
    EXPECT_EQ(brig::run(sh("echo hello"), policy()).out.bytes, "hello\n");
  }
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
}

TEST(Host, MayForkWhileARunnerLives) {
  Runner runner(policy());
  EXPECT_TRUE(runner.run(sh("true")).ok());
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(runner.run(sh("echo " + std::to_string(i))).out.bytes, std::to_string(i) + "\n");
}

// A child of a pre-forking server, or of Python's multiprocessing, holds copies of all descriptors.
TEST(Host, AForkedChildThatLivesOnDoesNotKeepARunnerFromEnding) {
  auto runner = std::make_unique<Runner>(policy());
  EXPECT_TRUE(runner->run(sh("true")).ok());
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    for (;;) pause();
  }
  EXPECT_EQ(runner->run(sh("echo still")).out.bytes, "still\n");
  const auto begin = Clock::now();
  runner.reset();
  EXPECT_LT(since(begin), kSoon);
  EXPECT_TRUE(descendants(getpid()).size() == 1) << names(descendants(getpid()));
  EXPECT_TRUE(cgroups_of(getpid()).empty()) << cgroups_of(getpid()).front();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(Host, MayReapEveryChildItSees) {
  std::atomic<bool> stop{false};
  // The reaper that many hosts have.
  std::thread reaper([&] {
    while (!stop) {
      waitpid(-1, nullptr, WNOHANG);
      usleep(1000);
    }
  });
  {
    Runner runner(policy());
    for (int i = 0; i < 5; ++i) EXPECT_EQ(runner.run(sh("echo hello")).out.bytes, "hello\n");
    EXPECT_EQ(brig::run(sh("echo hello"), policy()).out.bytes, "hello\n");
  }
  stop = true;
  reaper.join();
}

TEST(Host, MayIgnoreOrReapEveryChild) {
  struct sigaction action {
  }, before{};
  action.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &action, &before);
  {
    Runner runner(policy());
    EXPECT_EQ(runner.run(sh("echo hello; exit 3")).exit_code, 3);
    EXPECT_EQ(brig::run(sh("exit 4"), policy()).exit_code, 4);
  }
  sigaction(SIGCHLD, &before, nullptr);
}

TEST(Host, WhatItIgnoresAndBlocksIsDefaultInTheTool) {
  struct sigaction action {
  }, before{};
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, &before);
  sigset_t some, old;
  sigemptyset(&some);
  for (const int number : {SIGTERM, SIGINT, SIGUSR1}) sigaddset(&some, number);
  pthread_sigmask(SIG_BLOCK, &some, &old);
  by_all_ways(sh("grep -E 'Sig(Ign|Blk)' /proc/self/status | tr -d '\\t'"), policy(),
              [](const Report& report) {
                EXPECT_EQ(report.out.bytes, "SigBlk:0000000000000000\nSigIgn:0000000000000000\n")
                    << describe(report);
              });
  by_all_ways(guest({"ending", "raise", std::to_string(SIGTERM)}), policy(),
              [](const Report& report) { EXPECT_EQ(report.signal, SIGTERM) << describe(report); });
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  sigaction(SIGPIPE, &before, nullptr);
}

TEST(Host, ShortOfDescriptorsGetsErrorsAndRecovers) {
  const HostDirectory host;
  Runner runner(policy(), {.ready = 1});
  EXPECT_TRUE(runner.run(sh("true")).ok());
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t soft = limit.rlim_cur;
  std::vector<int> hoard;
  for (int round = 0; round < 12; ++round) {
    // Every number of descriptors that may be missing, from none left to a few.
    limit.rlim_cur = open_descriptors() + static_cast<rlim_t>(round);
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0 && hoard.size() < 4096;)
      hoard.push_back(fd);
    for (int i = 0; i < round && !hoard.empty(); ++i) {
      close(hoard.back());
      hoard.pop_back();
    }
    const std::future<Report> short_of_them = runner.run_async(sh("echo hello")).report;
    EXPECT_EQ(short_of_them.wait_for(kSoon), std::future_status::ready) << round;
    for (const int fd : hoard) close(fd);
    hoard.clear();
    limit.rlim_cur = soft;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  // Enough again: all is as before.
  const auto begin = Clock::now();
  for (int i = 0; i < 20; ++i) {
    const Report report = runner.run(sh("echo hello"));
    EXPECT_EQ(report.out.bytes, "hello\n") << i << ": " << describe(report);
    if (!report.ok()) break;
  }
  EXPECT_LT(since(begin), kSoon);
}

}  // namespace
