#include "sandbox/admission.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace brig {
namespace {

using Verdict = Admission::Verdict;
constexpr auto kNever = Admission::Clock::time_point::max();

struct Desk {
  Admission admission;
  std::vector<std::pair<std::string, Verdict>> log;
  bool shares = false;  // those who ask from now on
  std::uint64_t ask(const std::string& caller, const std::string& name,
                    Admission::Clock::time_point deadline = kNever) {
    return admission.enter({caller, shares}, deadline,
                           [this, name](Verdict verdict) { log.emplace_back(name, verdict); });
  }
};

TEST(Admission, AdmitsUpToTheLimitQueuesSomeAndRefusesTheRest) {
  Desk desk{{2, 1}, {}};
  for (const char* name : {"a", "b", "c", "d"}) desk.ask("", name);
  EXPECT_EQ(desk.log,
            (std::vector<std::pair<std::string, Verdict>>{
                {"a", Verdict::admitted}, {"b", Verdict::admitted}, {"d", Verdict::overloaded}}));
  EXPECT_EQ(desk.admission.running(), 2u);
  EXPECT_EQ(desk.admission.waiting(), 1u);
  desk.admission.leave({});
  EXPECT_EQ(desk.log.back(), (std::pair<std::string, Verdict>("c", Verdict::admitted)));
  desk.admission.leave({});
  desk.admission.leave({});
  EXPECT_EQ(desk.admission.running(), 0u);
}

TEST(Admission, ACallerCanNotFillTheQueue) {
  Desk desk{{1, 8}, {}};
  desk.ask("greedy", "running");
  for (int i = 0; i < 20; ++i) desk.ask("greedy", "g");
  EXPECT_EQ(desk.admission.waiting(), 6u);
  desk.log.clear();
  desk.ask("modest", "m");
  EXPECT_TRUE(desk.log.empty()) << "it waits";
  desk.admission.leave({});
  desk.admission.leave({});
  EXPECT_EQ(desk.log.back(), (std::pair<std::string, Verdict>("m", Verdict::admitted)));
}

TEST(Admission, ACallerThatSharesLeavesPlacesToOthers) {
  Desk desk{{8, 100}, {}};
  desk.shares = true;
  for (int i = 0; i < 20; ++i) desk.ask("greedy", "g");
  EXPECT_EQ(desk.admission.running(), 6u) << "three times what is left";
  for (int i = 0; i < 5; ++i) desk.ask("second", "s");
  EXPECT_EQ(desk.admission.running(), 7u);
  desk.ask("third", "t");
  EXPECT_EQ(desk.log.back(), (std::pair<std::string, Verdict>("t", Verdict::admitted)));
  EXPECT_EQ(desk.admission.running(), 8u);
  EXPECT_FALSE(desk.admission.try_enter({"fourth", true}));
  desk.log.clear();
  desk.admission.leave({"greedy", true});
  EXPECT_TRUE(desk.log.empty()) << "the last place is for a caller that has none";
  EXPECT_FALSE(desk.admission.try_enter({"greedy", true}));
  EXPECT_TRUE(desk.admission.try_enter({"fourth", true}));
  // Whoever was passed over has its turn when others leave.
  for (const char* each : {"second", "third", "fourth"}) desk.admission.leave({each, true});
  EXPECT_EQ(desk.log.front(), (std::pair<std::string, Verdict>("s", Verdict::admitted)));
  EXPECT_EQ(desk.admission.running(), 7u);
}

TEST(Admission, ACallerThatSharesAlwaysHasOnePlaceWhileThereIsAny) {
  for (const unsigned places : {1u, 2u, 3u}) {
    Desk desk{{places, 10}, {}};
    desk.shares = true;
    for (unsigned i = 0; i < 2 * places; ++i) desk.ask("greedy", "g");
    EXPECT_EQ(desk.admission.running(), std::max(1u, places - 1));
  }
}

TEST(Admission, ACallerThatDoesNotShareHasAllPlaces) {
  Desk desk{{8, 100}, {}};
  for (int i = 0; i < 20; ++i) desk.ask("alone", "a");
  EXPECT_EQ(desk.admission.running(), 8u);
  EXPECT_EQ(desk.admission.waiting(), 12u);
}

TEST(Admission, IsTriedWithoutWaiting) {
  Desk desk{{2, 1}, {}};
  EXPECT_TRUE(desk.admission.try_enter({}));
  desk.ask("", "a");
  EXPECT_FALSE(desk.admission.try_enter({}));
  desk.ask("", "b");
  EXPECT_EQ(desk.admission.running(), 2u);
  desk.admission.leave({});
  EXPECT_FALSE(desk.admission.try_enter({})) << "b was first";
  desk.admission.leave({});
  EXPECT_TRUE(desk.admission.try_enter({}));
}

TEST(Admission, CallersTakeTurns) {
  Desk desk{{1, 100}, {}};
  desk.ask("x", "running");
  for (int i = 0; i < 4; ++i) desk.ask("greedy", "g" + std::to_string(i));
  desk.ask("modest", "m0");
  desk.ask("late", "l0");
  desk.ask("modest", "m1");
  desk.log.clear();
  for (int i = 0; i < 7; ++i) desk.admission.leave({});
  std::string order;
  for (const auto& [name, verdict] : desk.log) order += name + " ";
  EXPECT_EQ(order, "g0 m0 l0 g1 m1 g2 g3 ");
}

TEST(Admission, WhoWaitsTooLongIsTold) {
  Desk desk{{1, 100}, {}};
  const auto now = Admission::Clock::now();
  desk.ask("", "running");
  desk.ask("", "late", now);
  desk.ask("", "later", now + std::chrono::seconds(5));
  EXPECT_EQ(desk.admission.expire(now), now + std::chrono::seconds(5));
  EXPECT_EQ(desk.log.back(), (std::pair<std::string, Verdict>("late", Verdict::timeout)));
  EXPECT_EQ(desk.admission.waiting(), 1u);
  EXPECT_EQ(desk.admission.expire(now + std::chrono::seconds(5)), kNever);
  EXPECT_EQ(desk.log.back(), (std::pair<std::string, Verdict>("later", Verdict::timeout)));
}

TEST(Admission, WhoWaitsCanBeCancelled) {
  Desk desk{{1, 100}, {}};
  const std::uint64_t running = desk.ask("", "running"), waiting = desk.ask("", "waiting");
  EXPECT_FALSE(desk.admission.cancel(running));
  EXPECT_TRUE(desk.admission.cancel(waiting));
  EXPECT_FALSE(desk.admission.cancel(waiting));
  EXPECT_EQ(desk.log.back(), (std::pair<std::string, Verdict>("waiting", Verdict::cancelled)));
  desk.ask("", "another");
  desk.admission.close();
  EXPECT_EQ(desk.log.back(), (std::pair<std::string, Verdict>("another", Verdict::cancelled)));
  EXPECT_EQ(desk.admission.waiting(), 0u);
}

TEST(Admission, NeverRunsMoreThanItMay) {
  Admission admission(3, 1000);
  std::atomic<int> inside{0}, most{0}, done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        std::atomic<bool> admitted{false};
        admission.enter({std::to_string(t)}, kNever, [&](Verdict verdict) {
          EXPECT_EQ(verdict, Verdict::admitted);
          admitted = true;
          admitted.notify_one();
        });
        admitted.wait(false);
        const int now = ++inside;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        --inside;
        ++done;
        admission.leave({std::to_string(t)});
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 3);
  EXPECT_EQ(done, 1600);
  EXPECT_EQ(admission.running(), 0u);
}

}  // namespace
}  // namespace brig
