#include "base/worker.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

namespace brig {
namespace {

bool post(Worker& worker, std::function<void()> job) { return worker.post(job) && !job; }

TEST(Worker, DoesItsJobsInOrderOnOneThreadOfItsOwnAndAllBeforeItGoes) {
  std::string done;
  std::thread::id thread;
  const int before = OwnThread::count();
  {
    Worker worker;
    EXPECT_EQ(OwnThread::count(), before) << "not before there is a job";
    std::promise<void> gate;
    post(worker, [&, opened = gate.get_future().share()] {
      opened.wait();
      done += 'a';
      thread = std::this_thread::get_id();
    });
    for (const char letter : {'b', 'c'})
      post(worker, [&, letter] {
        done += letter;
        EXPECT_EQ(std::this_thread::get_id(), thread);
      });
    EXPECT_EQ(OwnThread::count(), before + 1);
    gate.set_value();
  }
  EXPECT_EQ(done, "abc");
  EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_EQ(OwnThread::count(), before);
  const Worker idle;  // ends too
}

TEST(Worker, LetsGoOfAJobWhenItIsDone) {
  Worker worker;
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = held;
  std::promise<void> second;
  std::promise<void> gate;
  std::function<void()> job = [held = std::move(held), opened = gate.get_future().share()] {
    opened.wait();
  };
  EXPECT_TRUE(worker.post(job));
  EXPECT_FALSE(job);
  EXPECT_EQ(seen.use_count(), 1) << "the caller has none of it";
  EXPECT_TRUE(post(worker, [&] { second.set_value(); }));
  gate.set_value();
  second.get_future().wait();
  EXPECT_TRUE(seen.expired());
}

}  // namespace
}  // namespace brig
