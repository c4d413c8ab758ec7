#include "http/loop.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <thread>

#include "base/fd.h"

namespace brig::serve {
namespace {

using namespace std::chrono_literals;

class LoopOf : public testing::Test {
 protected:
  // Until it is stopped; no longer than a test may take.
  void run() {
    const auto patience = loop_.after(15s, [&] {
      ADD_FAILURE() << "it was not stopped";
      loop_.stop();
    });
    loop_.run([&](const std::exception& defect) { defects_.emplace_back(defect.what()); });
  }
  Loop loop_;
  std::vector<std::string> defects_;
};

TEST_F(LoopOf, DoesWhatIsPostedInOrder) {
  std::string text;
  std::thread other([&] {
    for (const char c : {'a', 'b', 'c'}) loop_.post([&text, c] { text += c; });
    loop_.post([&] { loop_.stop(); });
  });
  run();
  other.join();
  EXPECT_EQ(text, "abc");
}

TEST_F(LoopOf, ATimerWhoseHandleIsGoneDoesNothing) {
  bool rang = false;
  auto gone = loop_.after(1ms, [&] { rang = true; });
  gone.reset();
  const auto end = loop_.after(50ms, [&] { loop_.stop(); });
  run();
  EXPECT_FALSE(rang);
}

TEST_F(LoopOf, ATimerMayLetGoOfItself) {
  int count = 0;
  Loop::Timer timer;
  timer = loop_.every(1ms, [&] {
    if (++count == 3) {
      timer.reset();
      loop_.post([&] { loop_.stop(); });
    }
  });
  run();
  EXPECT_EQ(count, 3);
}

TEST_F(LoopOf, ADescriptorIsReadUntilItsHandleGoes) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd in(ends[0]), out(ends[1]);
  std::string text;
  std::shared_ptr<void> handle;
  handle = loop_.when_readable(in.get(), [&] {
    char c;
    ASSERT_EQ(::read(in.get(), &c, 1), 1);
    text += c;
    if (text.size() < 3) return;
    handle.reset();
    loop_.stop();
  });
  ASSERT_EQ(write(out.get(), "abcd", 4), 4);
  run();
  EXPECT_EQ(text, "abc");
}

TEST_F(LoopOf, WhatAJobThrowsIsToldAndTheRestGoesOn) {
  bool after = false;
  loop_.post([] { throw std::runtime_error("one"); });
  const auto timer = loop_.after(1ms, [] { throw std::runtime_error("two"); });
  loop_.post([&] { after = true; });
  const auto end = loop_.after(50ms, [&] { loop_.stop(); });
  run();
  EXPECT_TRUE(after);
  EXPECT_EQ(defects_, (std::vector<std::string>{"one", "two"}));
}

TEST_F(LoopOf, ADefectDoesNotEndWhatRepeats) {
  int count = 0;
  const auto timer = loop_.every(1ms, [&] {
    if (++count == 3) return loop_.stop();
    throw std::runtime_error("again");
  });
  run();
  EXPECT_EQ(count, 3);
}

TEST_F(LoopOf, ADefectDoesNotEndTheReadingOfADescriptor) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd in(ends[0]), out(ends[1]);
  int count = 0;
  const auto handle = loop_.when_readable(in.get(), [&] {
    char c;
    ASSERT_EQ(::read(in.get(), &c, 1), 1);
    if (++count == 3) return loop_.stop();
    throw std::runtime_error("again");
  });
  ASSERT_EQ(write(out.get(), "abc", 3), 3);
  run();
  EXPECT_EQ(count, 3);
}

TEST_F(LoopOf, ADefectDoesNotEndTheHearingOfSignals) {
  int count = 0;
  loop_.on_signal({SIGUSR1}, [&](int) {
    if (++count == 2) return loop_.stop();
    loop_.post([] { raise(SIGUSR1); });
    throw std::runtime_error("again");
  });
  loop_.post([] { raise(SIGUSR1); });
  run();
  EXPECT_EQ(count, 2);
}

TEST_F(LoopOf, ASignalIsAJob) {
  std::vector<int> seen;
  loop_.on_signal({SIGUSR1, SIGUSR2}, [&](int signal) {
    seen.push_back(signal);
    if (seen.size() == 2) loop_.stop();
  });
  loop_.post([] { raise(SIGUSR1); });
  loop_.post([] { raise(SIGUSR2); });
  run();
  EXPECT_EQ(seen, (std::vector<int>{SIGUSR1, SIGUSR2}));
}

}  // namespace
}  // namespace brig::serve
