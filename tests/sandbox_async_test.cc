// Calls that wait, run beside others, and are cancelled.
#include <thread>

#include "sandbox_support.h"

namespace {

using namespace e2e;

constexpr std::size_t kHuge = kSanitized ? 32 << 20 : 100 << 20;

void add_nap(Toolbox& tools, brig::ToolOptions options = {}) {
  tools.add("nap", "Sleeps.", {"ms"}, nap, std::move(options));
}

Toolbox naps() {
  Toolbox tools;
  add_nap(tools);
  return tools;
}

const Json kLong{{"ms", 100'000}}, kShort{{"ms", 1}};

TEST(SandboxAsync, EveryFutureGetsItsOwnResult) {
  Toolbox tools;
  tools.add("twice", "", {"n"}, [](int n) {
    if (n == 13) throw std::runtime_error("unlucky");
    usleep(static_cast<useconds_t>(n % 3) * 10'000);
    return 2 * n;
  });
  Sandbox box(std::move(tools), quick());
  std::vector<std::future<ToolResult>> futures;
  for (int i = 0; i < 20; ++i)
    futures.push_back(box.call_async("twice", {{"n", i}}, {"id" + std::to_string(i), ""}));
  for (int i = 0; i < 20; ++i) {
    const ToolResult r = futures[static_cast<std::size_t>(i)].get();
    EXPECT_EQ(r.call_id, "id" + std::to_string(i));
    EXPECT_EQ(r.ok(), i != 13) << r.error;
    if (r.ok())
      EXPECT_EQ(r.output, 2 * i);
    else
      EXPECT_EQ(r.error, "std::runtime_error: unlucky");
  }
  const auto is_ready = [](const std::future<ToolResult>& future) {
    return future.wait_for(0s) == std::future_status::ready;
  };
  auto unknown = box.call_async("nope", {}), bad = box.call_async("twice", {{"n", "x"}});
  EXPECT_TRUE(is_ready(unknown));
  EXPECT_EQ(unknown.get().report.outcome, Outcome::unknown_tool);
  EXPECT_TRUE(is_ready(bad));
  EXPECT_EQ(bad.get().report.outcome, Outcome::invalid_arguments);
}

TEST(SandboxAsync, ResultsThatNobodyHasReadYetAreAsManyAsMayRun) {
  constexpr int kCalls = 8;
  Toolbox tools;
  constexpr std::size_t kMuch = kSanitized ? 40'000 : 400'000;
  tools.add("much", "", {}, [] { return Json(Json::array_t(kMuch, 1)); });
  Sandbox box(std::move(tools), quick(), {.concurrency = 2});
  std::atomic<int> started{0}, done{0};
  const auto watch =
      box.watch([&](const Event& event) { started += event.kind == Event::Kind::started; }, 1000);
  // Whoever takes the first result, of whichever call, is slow. Meanwhile two more are there, and their calls keep
  // their places.
  bool piled_up = false;
  std::atomic<bool> first{true};
  for (int i = 0; i < kCalls; ++i)
    box.call_async("much", {}, {}, [&](const ToolResult& result) {
      EXPECT_TRUE(result.ok()) << result.error;
      if (first.exchange(false)) piled_up = comes_true([&] { return started > 3; }, 2s);
      ++done;
    });
  EXPECT_TRUE(comes_true([&] { return done == kCalls; }, 4 * kSoon));
  EXPECT_FALSE(piled_up);
}

TEST(SandboxCancel, OfACallThatWaitsEndsItAtOnce) {
  Sandbox box(naps(), quick(), {.concurrency = 1});
  const auto watch = box.watch();
  auto first = box.call_async("nap", kLong, {"first", ""});
  ASSERT_TRUE(await(*watch, Event::Kind::output, "first"));
  auto async = box.call_async("nap", kLong, {"async", ""});
  ToolResult sync;
  std::thread thread([&] { sync = box.call("nap", kLong, "sync"); });
  ASSERT_TRUE(await(*watch, Event::Kind::queued, "sync"));
  EXPECT_FALSE(box.cancel("nobody"));
  const auto begin = Clock::now();
  EXPECT_TRUE(box.cancel("async"));
  EXPECT_TRUE(box.cancel("sync"));
  thread.join();
  for (const ToolResult& r : {async.get(), sync}) {
    EXPECT_EQ(r.report.outcome, Outcome::cancelled);
    EXPECT_EQ(r.error, "the call was cancelled before it ran");
    EXPECT_TRUE(r.report.enforced.empty()) << "a cell was used";
  }
  EXPECT_LT(since(begin), kSoon);
  EXPECT_EQ(first.wait_for(0s), std::future_status::timeout) << "the wrong one was cancelled";
  EXPECT_TRUE(box.cancel("first"));
  EXPECT_EQ(first.get().report.outcome, Outcome::cancelled);
  EXPECT_FALSE(box.cancel("first")) << "it is over";
  EXPECT_TRUE(box.call("nap", kShort).ok());
}

TEST(SandboxCancel, OfACallThatRunsEndsIt) {
  Sandbox box(naps(), quick());
  const auto watch = box.watch();
  auto async = box.call_async("nap", kLong, {"async", ""});
  ASSERT_TRUE(await(*watch, Event::Kind::output, "async"));
  ToolResult sync;
  std::thread thread([&] { sync = box.call("nap", kLong, "sync"); });
  ASSERT_TRUE(await(*watch, Event::Kind::output, "sync"));
  const auto begin = Clock::now();
  EXPECT_TRUE(box.cancel("async"));
  EXPECT_TRUE(box.cancel("sync"));
  thread.join();
  for (const ToolResult& r : {async.get(), sync}) {
    EXPECT_EQ(r.report.outcome, Outcome::cancelled);
    EXPECT_EQ(r.error, "the call was cancelled");
    EXPECT_EQ(r.report.out.bytes, "running\n") << "what it wrote is kept";
  }
  EXPECT_LT(since(begin), kSoon);
  EXPECT_TRUE(box.call("nap", kShort).ok());
}

TEST(SandboxCancel, OfAnIdEndsAllCallsOfThatId) {
  Sandbox box(naps(), quick(), {.concurrency = 2});
  std::vector<std::future<ToolResult>> futures;
  for (int i = 0; i < 4; ++i) futures.push_back(box.call_async("nap", kLong, {"same", ""}));
  EXPECT_TRUE(box.cancel("same"));
  for (auto& future : futures) {
    ASSERT_EQ(future.wait_for(kSoon), std::future_status::ready);
    EXPECT_EQ(future.get().report.outcome, Outcome::cancelled);
  }
}

// The moments between the question, the queue and the cell.
TEST(SandboxCancel, AtAnyMomentEndsTheCall) {
  Sandbox box(naps(), quick(), {.concurrency = 1});
  for (int i = 0; i < 40; ++i) {
    auto a = box.call_async("nap", kLong, {"a", ""}), b = box.call_async("nap", kLong, {"b", ""});
    usleep(static_cast<useconds_t>(i) * 150);
    EXPECT_TRUE(box.cancel("a"));
    usleep(static_cast<useconds_t>(i % 7) * 100);
    EXPECT_TRUE(box.cancel("b"));
    ASSERT_EQ(a.wait_for(kSoon), std::future_status::ready) << i;
    ASSERT_EQ(b.wait_for(kSoon), std::future_status::ready) << i;
    EXPECT_EQ(a.get().report.outcome, Outcome::cancelled);
    EXPECT_EQ(b.get().report.outcome, Outcome::cancelled);
  }
}

TEST(SandboxCancel, GivesAToolItsGraceThenKills) {
  Toolbox tools;
  tools.add("stubborn", "", {}, [] {
    signal(SIGTERM, [](int) { (void)!write(1, "term\n", 5); });
    (void)!write(1, "ready\n", 6);
    for (;;) pause();
    return 1;
  });
  tools.add("polite", "", {},
            [] {
              signal(SIGTERM, [](int) {
                (void)!write(1, "bye\n", 4);
                _exit(0);
              });
              (void)!write(1, "ready\n", 6);
              for (;;) pause();
              return 1;
            },
            {.annotations = {}, .policy = quick(60s, 60s)});
  Sandbox box(std::move(tools), quick(60s, 500ms));
  const auto watch = box.watch();
  const auto end_of = [&](const char* tool, Clock::duration& took) {
    auto future = box.call_async(tool, {}, {tool, ""});
    EXPECT_TRUE(await(*watch, Event::Kind::output, tool));
    const auto begin = Clock::now();
    EXPECT_TRUE(box.cancel(tool));
    const ToolResult r = future.get();
    took = since(begin);
    EXPECT_EQ(r.report.outcome, Outcome::cancelled) << r.error;
    return r;
  };
  Clock::duration took{};
  const ToolResult stubborn = end_of("stubborn", took);
  EXPECT_EQ(stubborn.report.out.bytes, "ready\nterm\n");
  EXPECT_EQ(stubborn.report.signal, SIGKILL);
  EXPECT_GE(took, 490ms);
  EXPECT_LT(took, kSoon);
  const ToolResult polite = end_of("polite", took);
  EXPECT_EQ(polite.report.out.bytes, "ready\nbye\n");
  EXPECT_EQ(polite.report.exit_code, 0);
  EXPECT_LT(took, kSoon) << "it did not need its grace";
}

TEST(SandboxQueue, TimeInItCountsAndACallThatIsTooLateNeverRuns) {
  Toolbox tools;
  add_nap(tools);
  tools.add("brief", "Has little time.", {}, [] { return nap(1); },
            {.annotations = {}, .policy = quick(300ms)});
  Sandbox box(std::move(tools), quick(), {.concurrency = 1});
  const auto watch = box.watch();
  auto blocker = box.call_async("nap", kLong, {"blocker", ""});
  ASSERT_TRUE(await(*watch, Event::Kind::output, "blocker"));
  auto async = box.call_async("brief", {}, {"async", ""});
  const ToolResult sync = box.call("brief", {}, "sync");
  for (const ToolResult& r : {async.get(), sync}) {
    EXPECT_EQ(r.report.outcome, Outcome::timeout);
    EXPECT_TRUE(contains(r.error, "queue") && contains(r.error, "not run")) << r.error;
    EXPECT_GE(r.report.steps.queue, 290ms);
    EXPECT_LT(r.duration, kSoon);
    EXPECT_TRUE(r.report.enforced.empty());
  }
  box.cancel("blocker");
  blocker.get();
  for (auto event = watch->next(0ms); event; event = watch->next(0ms))
    EXPECT_NE(event->kind, Event::Kind::started) << event->call_id;
  EXPECT_TRUE(box.call("brief", {}).ok()) << "the next one is in time";
}

TEST(SandboxQueue, LeavesACallWhatIsLeftOfItsTime) {
  Sandbox box(naps(), quick(6s), {.concurrency = 1});
  auto first = box.call_async("nap", {{"ms", 3000}});
  const ToolResult second = box.call("nap", kLong);
  EXPECT_TRUE(first.get().ok());
  EXPECT_EQ(second.report.outcome, Outcome::timeout);
  EXPECT_EQ(second.report.out.bytes, "running\n");
  EXPECT_GE(second.report.steps.queue, 2500ms);
  EXPECT_GE(second.duration, 6s);
  EXPECT_LT(second.duration, second.report.steps.queue + 6s)
      << "the timeout began anew with the cell";
}

TEST(SandboxQueue, RefusesMoreThanItHolds) {
  Sandbox box(naps(), quick(), {.concurrency = 1, .queue = 2});
  const auto watch = box.watch();
  std::vector<std::future<ToolResult>> futures;
  for (int i = 0; i < 3; ++i)
    futures.push_back(box.call_async("nap", kLong, {"call" + std::to_string(i), ""}));
  const auto begin = Clock::now();
  const ToolResult sync = box.call("nap", kShort), async = box.call_async("nap", kShort).get();
  for (const ToolResult& r : {sync, async}) {
    EXPECT_EQ(r.report.outcome, Outcome::overloaded);
    EXPECT_TRUE(contains(r.error, "try again later")) << r.error;
    EXPECT_TRUE(r.report.enforced.empty());
  }
  EXPECT_LT(since(begin), kSoon);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(box.cancel("call" + std::to_string(i)));
  for (auto& future : futures) EXPECT_EQ(future.get().report.outcome, Outcome::cancelled);
  EXPECT_TRUE(box.call("nap", kShort).ok()) << "there is room again";
}

TEST(SandboxQueue, ServesCallersInTurn) {
  Sandbox box(naps(), quick(), {.concurrency = 1});
  const auto watch = box.watch();
  auto gate = box.call_async("nap", {{"ms", 500}}, {"gate", "greedy"});
  ASSERT_TRUE(await(*watch, Event::Kind::started, "gate"));
  std::vector<std::future<ToolResult>> futures;
  for (int i = 0; i < 6; ++i)
    futures.push_back(box.call_async("nap", kShort, {"g" + std::to_string(i), "greedy"}));
  for (int i = 0; i < 2; ++i)
    futures.push_back(box.call_async("nap", kShort, {"m" + std::to_string(i), "modest"}));
  for (auto& future : futures) EXPECT_TRUE(future.get().ok());
  std::string order;
  for (auto event = watch->next(0ms); event; event = watch->next(0ms))
    if (event->kind == Event::Kind::started) order += event->call_id + " ";
  EXPECT_EQ(order, "g0 m0 g1 m1 g2 g3 g4 g5 ");
}

TEST(SandboxAsync, NeverRunsMoreThanItsConcurrency) {
  Sandbox box(naps(), quick(), {.concurrency = 3});
  const auto watch = box.watch(10'000);
  std::vector<std::future<ToolResult>> futures;
  for (int i = 0; i < 12; ++i) futures.push_back(box.call_async("nap", {{"ms", 50}}));
  for (auto& future : futures) EXPECT_TRUE(future.get().ok());
  // Whoever starts has left the queue; that the one before has ended is told a little later.
  EXPECT_LE(descendants_named(getpid(), "nap").size(), 3u);
  const auto begin = Clock::now();
  for (int i = 0; i < 6; ++i)
    futures[static_cast<std::size_t>(i)] = box.call_async("nap", {{"ms", 300}});
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(futures[static_cast<std::size_t>(i)].get().ok());
  EXPECT_GE(since(begin), 600ms) << "six of 300 ms, three at a time";
}

TEST(SandboxAsync, AHugeArgumentDoesNotDelayOtherCalls) {
  Toolbox tools;
  tools.add("size", "", {"text"}, [](const std::string& text) { return text.size(); });
  tools.add("one", "", {}, [] { return 1; });
  Policy policy = quick(60s);
  policy.limits.memory = 2_GiB;
  Sandbox box(std::move(tools), policy);
  const auto others_meanwhile = [&] {
    std::atomic<bool> done{false};
    std::thread thread([&] {
      const ToolResult r = box.call_async("size", {{"text", std::string(kHuge, 'x')}}).get();
      EXPECT_EQ(r.output, kHuge) << r.error;
      done = true;
    });
    int count = 0;
    while (!done) {
      const ToolResult r = count % 2 ? box.call("one", {}) : box.call_async("one", {}).get();
      EXPECT_TRUE(r.ok()) << r.error;
      ++count;
    }
    thread.join();
    return count;
  };
  // On a busy machine the huge one may be quicker than three others; if it held them up, it always is.
  EXPECT_TRUE(comes_true([&] { return others_meanwhile() >= 3; }));
}

TEST(SandboxAsync, LargeAndSmallResultsAtOnceAreEachTheirOwn) {
  Toolbox tools;
  tools.add("many", "", {"n"},
            [](int n) { return std::vector<int>(static_cast<std::size_t>(n), n); });
  std::vector<std::future<ToolResult>> futures;
  const auto size = [](std::size_t i) { return static_cast<int>(i % 3 ? i : 60'000 + i); };
  {
    Sandbox box(std::move(tools), quick(60s), {.concurrency = 4});
    for (std::size_t i = 0; i < 24; ++i)
      futures.push_back(box.call_async("many", {{"n", size(i)}}));
    for (std::size_t i = 0; i < 18; ++i) {
      const ToolResult r = futures[i].get();
      ASSERT_TRUE(r.ok()) << r.error;
      EXPECT_EQ(r.output.size(), static_cast<std::size_t>(size(i)));
      if (i > 0) {
        EXPECT_EQ(r.output[0], size(i));
      }
    }
  }
  for (std::size_t i = 18; i < 24; ++i)
    EXPECT_EQ(futures[i].wait_for(0s), std::future_status::ready) << "the Sandbox is gone";
}

TEST(SandboxEnd, CancelsWhatRunsAndWaitsAndLeavesNothing) {
  {
    std::vector<std::future<ToolResult>> futures;
    Toolbox tools = naps();
    tools.add("stubborn", "", {}, [] {
      signal(SIGTERM, SIG_IGN);
      return nap(100'000);
    });
    auto box =
        std::make_unique<Sandbox>(std::move(tools), quick(60s), SandboxOptions{.concurrency = 4});
    const auto watch = box->watch();
    for (int i = 0; i < 4; ++i)
      futures.push_back(i % 2 ? box->call_async("stubborn", {}) : box->call_async("nap", kLong));
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(await(*watch, Event::Kind::output));
    for (int i = 0; i < 4; ++i) futures.push_back(box->call_async("nap", kLong));
    EXPECT_FALSE(descendants(getpid()).empty());
    const auto begin = Clock::now();
    box.reset();
    EXPECT_LT(since(begin), kSoon);
    for (auto& future : futures) {
      ASSERT_EQ(future.wait_for(0s), std::future_status::ready);
      EXPECT_EQ(future.get().report.outcome, Outcome::cancelled);
    }
  }
  EXPECT_TRUE(nothing_is_left()) << left_over();
}

TEST(SandboxEnd, CancelsACallOfAnotherThread) {
  auto box = std::make_unique<Sandbox>(naps(), quick(20s), SandboxOptions{.concurrency = 1});
  const auto watch = box->watch();
  ToolResult running, waiting;
  std::thread first([&] { running = box->call("nap", kLong, "running"); });
  ASSERT_TRUE(await(*watch, Event::Kind::output, "running"));
  std::thread second([&] { waiting = box->call("nap", kLong, "waiting"); });
  EXPECT_TRUE(comes_true([&] { return box->state().waiting == 1; }));
  const auto begin = Clock::now();
  Sandbox* const gone = box.release();  // the other threads may still read the pointer
  delete gone;
  EXPECT_LT(since(begin), kSoon);
  first.join();
  second.join();
  EXPECT_EQ(running.report.outcome, Outcome::cancelled) << running.error;
  EXPECT_EQ(waiting.report.outcome, Outcome::cancelled) << waiting.error;
  EXPECT_TRUE(comes_true(nothing_is_left)) << left_over();
}

// A call may be on its way from the queue to its cell when the Sandbox goes.
TEST(SandboxEnd, AtAnyMomentIsSoonOver) {
  for (int i = 0; i < 12; ++i) {
    std::vector<std::future<ToolResult>> futures;
    const auto begin = [&] {
      Sandbox box(naps(), quick(20s), {.concurrency = 2});
      for (int k = 0; k < 12; ++k) futures.push_back(box.call_async("nap", k < 6 ? kShort : kLong));
      usleep(static_cast<useconds_t>(i) * 700);
      return Clock::now();
    }();
    EXPECT_LT(since(begin), kSoon) << i;
    for (auto& future : futures) EXPECT_EQ(future.wait_for(0s), std::future_status::ready);
  }
  EXPECT_TRUE(nothing_is_left()) << left_over();
}

// --- the pool ---

TEST(SandboxPool, GrowsWithDemandAndShrinksAgain) {
  Toolbox tools;
  tools.add("nap", "", {}, [] {
    usleep(50'000);
    return 1;
  });
  Sandbox box(std::move(tools), policy(), {.concurrency = 16, .ready_min = 1, .ready_max = 8});
  const auto keepers = [] { return descendants_named(getpid(), "brig-keeper").size(); };
  EXPECT_LE(keepers(), 2u);
  std::size_t most = 0;  // looked at all the time: it shrinks by itself
  for (int round = 0; round < 6; ++round) {
    std::vector<std::future<ToolResult>> calls;
    for (int i = 0; i < 8; ++i) calls.push_back(box.call_async("nap", {}));
    for (auto& call : calls) {
      EXPECT_TRUE(call.get().ok());
      most = std::max(most, keepers());
    }
  }
  EXPECT_GE(most, 5u);
  // One cell ready, and no more than three slots idle beside it.
  EXPECT_TRUE(comes_true([&] { return keepers() <= 4; })) << keepers();
  EXPECT_TRUE(box.call("nap", {}).ok());
}

TEST(SandboxBeside, SharesPlacesAndEitherMayGoFirst) {
  auto first = std::make_unique<Sandbox>(naps(), quick(60s), SandboxOptions{.concurrency = 1});
  auto second =
      std::make_unique<Sandbox>(naps(), quick(60s), SandboxOptions{.beside = first.get()});
  auto third =
      std::make_unique<Sandbox>(naps(), quick(60s), SandboxOptions{.beside = second.get()});
  const auto watch = first->watch(), other = second->watch();
  auto running = first->call_async("nap", kLong, {"running", ""});
  ASSERT_TRUE(await(*watch, Event::Kind::output, "running"));
  auto next = second->call_async("nap", kLong, {"next", ""});
  auto gone = third->call_async("nap", kShort);
  EXPECT_EQ(first->state().waiting, 2u);
  EXPECT_EQ(third->state().running, 1u);
  third.reset();  // ends its own call, and no other
  EXPECT_EQ(gone.get().report.outcome, Outcome::cancelled);
  EXPECT_EQ(first->state().waiting, 1u);
  EXPECT_TRUE(first->cancel("running", true));
  EXPECT_EQ(running.get().report.outcome, Outcome::cancelled);
  ASSERT_TRUE(await(*other, Event::Kind::output, "next"));
  first.reset();
  EXPECT_EQ(second->state().running, 1u);
  EXPECT_TRUE(second->cancel("next", true));
  EXPECT_EQ(next.get().report.outcome, Outcome::cancelled);
  EXPECT_TRUE(second->call("nap", kShort).ok());
}

// A call that another Sandbox's thread has started may be over before that thread is done with it.
TEST(SandboxBeside, CanGoAsSoonAsItsCallIsOver) {
  Sandbox first(naps(), quick(60s), SandboxOptions{.concurrency = 1});
  for (int i = 0; i < 30; ++i) {
    auto second = std::make_unique<Sandbox>(naps(), quick(60s), SandboxOptions{.beside = &first});
    auto before = first.call_async("nap", kShort);
    EXPECT_TRUE(second->call_async("nap", kShort).get().ok());
    second.reset();
    EXPECT_TRUE(before.get().ok());
  }
}

}  // namespace
