// The death of every part of a Sandbox, and of its host.
#include <sys/prctl.h>

#include <thread>

#include "sandbox_support.h"

namespace {

using namespace e2e;

Toolbox tools() {
  Toolbox box;
  box.add("nap", "Sleeps.", {"ms"}, nap);
  box.add("twice", "", {"n"}, [](int n) { return 2 * n; });
  return box;
}

const Json kEndless{{"ms", 100'000}};

int kill_all(const char* name, int signal = SIGKILL) {
  const std::vector<pid_t> victims = descendants_named(getpid(), name);
  for (const pid_t victim : victims) kill(victim, signal);
  return static_cast<int>(victims.size());
}

void expect_recovers(const char* part) {
  SCOPED_TRACE(part);
  {
    Sandbox box(tools(), quick());
    const auto watch = box.watch();
    auto async = box.call_async("nap", kEndless, {"async", ""});
    ASSERT_TRUE(await(*watch, Event::Kind::output, "async"));
    ToolResult sync;
    std::thread thread([&] { sync = box.call("nap", kEndless, "sync"); });
    EXPECT_TRUE(await(*watch, Event::Kind::output, "sync"));
    const auto begin = Clock::now();
    EXPECT_GE(kill_all(part), 1);
    thread.join();
    for (const ToolResult& r : {async.get(), sync}) {
      EXPECT_FALSE(r.ok());
      EXPECT_EQ(r.report.outcome, Outcome::internal) << r.error;
      EXPECT_TRUE(contains(r.error, "try again")) << r.error;
      EXPECT_EQ(r.report.out.bytes, "running\n");
    }
    EXPECT_LT(since(begin), kSoon) << "long before their deadline";
    // A cell that was ready and died may be handed out until that is noticed.
    EXPECT_TRUE(comes_true([&] { return box.call("twice", {{"n", 1}}).ok(); }));
    for (int i = 0; i < 5; ++i) {
      const ToolResult r = box.call("twice", {{"n", i}});
      EXPECT_EQ(r.output, 2 * i) << r.error;
      EXPECT_LT(r.duration, kSoon);
    }
    EXPECT_EQ(box.call_async("twice", {{"n", 21}}).get().output, 42);
    EXPECT_TRUE(comes_true([] { return descendants_named(getpid(), "nap").empty(); }));
  }
  EXPECT_TRUE(comes_true(nothing_is_left)) << left_over();
}

TEST(SandboxDeath, OfTheZygoteEndsItsCallsOnly) { expect_recovers("brig-zygote"); }
TEST(SandboxDeath, OfTheJanitorEndsItsCallsOnly) { expect_recovers("brig-janitor"); }
TEST(SandboxDeath, OfTheKeepersEndsTheirCallsOnly) { expect_recovers("brig-keeper"); }
TEST(SandboxDeath, OfTheInitsEndsTheirCallsOnly) { expect_recovers("brig-init"); }

// Not dead, but stopped: no cell comes any more.
void expect_replaced(const char* part) {
  SCOPED_TRACE(part);
  {
    Sandbox box(tools(), quick(), {.concurrency = 16});
    EXPECT_EQ(box.call("twice", {{"n", 1}}).output, 2);
    EXPECT_GE(kill_all(part, SIGSTOP), 1);  // a keeper that is being made is called so too
    // More than there are cells ready, and long enough for those behind them to be cancelled in time.
    std::vector<std::future<ToolResult>> calls;
    for (int i = 0; i < 8; ++i) calls.push_back(box.call_async("nap", {{"ms", 500}}, {}));
    // One that waits can be cancelled, in a thread of its own too.
    auto waiting = box.call_async("twice", {{"n", 1}}, {"async", ""});
    const auto watch = box.watch();
    ToolResult sync;
    std::thread thread([&] { sync = box.call("twice", {{"n", 1}}, "sync"); });
    EXPECT_TRUE(await(*watch, Event::Kind::queued, "sync"));
    usleep(50'000);  // it waits deeper then, and can be cancelled at any depth
    const auto begin = Clock::now();
    EXPECT_TRUE(box.cancel("sync"));
    EXPECT_TRUE(box.cancel("async"));
    thread.join();
    EXPECT_EQ(sync.report.outcome, Outcome::cancelled) << sync.error;
    EXPECT_EQ(waiting.get().report.outcome, Outcome::cancelled);
    EXPECT_LT(since(begin), kSoon);
    for (auto& call : calls) EXPECT_EQ(call.get().output, 500);
  }
  EXPECT_TRUE(comes_true(nothing_is_left)) << left_over();
}

TEST(SandboxDeath, OfAZygoteThatHangsIsNotWaitedFor) { expect_replaced("brig-zygote"); }
TEST(SandboxDeath, OfAJanitorThatHangsIsNotWaitedFor) { expect_replaced("brig-janitor"); }

TEST(SandboxDeath, OfTheNurseryHarmsNoCallUntilAZygoteIsLost) {
  {
    Sandbox box(tools(), quick());
    const auto watch = box.watch();
    auto running = box.call_async("nap", {{"ms", 500}}, {"running", ""});
    ASSERT_TRUE(await(*watch, Event::Kind::output, "running"));
    EXPECT_EQ(kill_all("brig-host-copy"), 1);
    EXPECT_EQ(running.get().output, 500);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(box.call("twice", {{"n", i}}).output, 2 * i);
    EXPECT_GE(kill_all("brig-zygote"), 1);
    EXPECT_TRUE(comes_true([] { return descendants_named(getpid(), "brig-init").empty(); }));
    // The first to wait may be told that the zygote ended; soon all are told what to do about it.
    EXPECT_TRUE(comes_true([&] {
      auto async = box.call_async("twice", {{"n", 1}});
      const ToolResult sync = box.call("twice", {{"n", 1}});
      const ToolResult other = async.get();
      for (const ToolResult& r : {other, sync}) {
        EXPECT_EQ(r.report.outcome, Outcome::internal) << r.error;
        EXPECT_LT(r.duration, kSoon);
      }
      return contains(other.error, "make a new Sandbox") &&
             contains(sync.error, "make a new Sandbox");
    }));
    // Commands are not forked from it.
    box.add(command_tool("echo", {"echo", "hi"}));
    EXPECT_EQ(box.call("echo", {}).output, "hi");
  }
  EXPECT_TRUE(comes_true(nothing_is_left)) << left_over();
  Sandbox next(tools(), quick());
  EXPECT_EQ(next.call("twice", {{"n", 4}}).output, 8);
}

TEST(SandboxDeath, OfPartsUnderLoadNeverHangsACall) {
  Sandbox box(tools(), quick(6s));
  std::atomic<bool> stop{false};
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      while (!stop) {
        const auto begin = Clock::now();
        const ToolResult r =
            i % 2 ? box.call("twice", {{"n", i}}) : box.call_async("twice", {{"n", i}}).get();
        EXPECT_LT(since(begin), kSoon);
        if (r.ok())
          good += r.output == 2 * i;
        else
          // A tool is called brig-init until it has its request: then it is the one that was killed.
          EXPECT_TRUE(r.report.outcome == Outcome::internal ||
                      r.report.outcome == Outcome::timeout || r.report.outcome == Outcome::signal)
              << r.error;
      }
    });
  const char* parts[] = {"brig-janitor", "brig-zygote", "brig-keeper", "brig-init"};
  for (int round = 0; round < 40; ++round) {
    const std::vector<pid_t> victims = descendants_named(getpid(), parts[round % 4]);
    if (!victims.empty()) kill(victims[static_cast<std::size_t>(round) % victims.size()], SIGKILL);
    usleep(static_cast<useconds_t>(20'000 + 1'000 * (round % 17)));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(good, 0);
  EXPECT_TRUE(comes_true([&] { return box.call("twice", {{"n", 1}}).ok(); }));
}

// A host with a function and a command that run, in a process of its own.
[[noreturn]] void be_the_host(int tell) {
  Toolbox all = tools();
  all.add(command_tool("sleep",
                       {"sh", "-c", "trap '' TERM HUP; setsid sleep 1000 & echo running; wait"}));
  Sandbox box(std::move(all), quick(100s));
  const auto watch = box.watch();
  auto first = box.call_async("nap", kEndless), second = box.call_async("sleep", {});
  if (!await(*watch, Event::Kind::output) || !await(*watch, Event::Kind::output)) _exit(1);
  (void)!write(tell, "x", 1);
  for (;;) pause();
}

TEST(SandboxDeath, OfTheHostEndsEverything) {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // orphans come here, so that none is out of sight
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t host = fork();
  if (host == 0) be_the_host(ends[1]);
  close(ends[1]);
  char byte;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  close(ends[0]);
  // Two of each: janitor, zygote, keepers, inits and tools; and the copy of the host.
  EXPECT_GE(descendants(host).size(), 11u) << names(descendants(host));
  EXPECT_TRUE(comes_true([&] { return descendants_named(host, "sleep").size() == 1; }));
  if (has_cgroups()) {
    EXPECT_FALSE(cgroups_of(host).empty());
  }
  kill(host, SIGKILL);
  waitpid(host, nullptr, 0);
  EXPECT_TRUE(comes_true([&] {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return descendants(getpid()).empty();
  })) << left_over();
  EXPECT_TRUE(comes_true([&] { return cgroups_of(host).empty(); })) << cgroups_of(host).front();
  prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

}  // namespace
