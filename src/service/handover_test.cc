#include "service/handover.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace brig::serve {
namespace {

TEST(Handover, OneIsOnItsWayAtATime) {
  Handover handover;
  std::shared_ptr<void> first = handover.begin();
  std::atomic<bool> first_is_gone{false};
  auto second = std::async(std::launch::async, [&] {
    const auto held = handover.begin();
    EXPECT_TRUE(first_is_gone);
    return held != nullptr;
  });
  first_is_gone = true;
  first.reset();
  EXPECT_TRUE(second.get());
}

TEST(Handover, NobodyWaitsOnceItIsClosed) {
  Handover handover;
  const std::shared_ptr<void> first = handover.begin();
  auto second = std::async(std::launch::async, [&] { return handover.begin() == nullptr; });
  handover.close();
  EXPECT_TRUE(second.get());
  EXPECT_FALSE(handover.begin());
}

TEST(Handover, AHandleMayOutliveIt) {
  std::shared_ptr<void> held;
  {
    Handover handover;
    held = handover.begin();
  }
  held.reset();
}

TEST(Handover, IsForManyValuesAndNotForLongStrings) {
  EXPECT_FALSE(Handover::is_for(std::string(1 << 20, 'x')));
  EXPECT_FALSE(Handover::is_for(Json::array_t(1000, std::string(1000, 'x'))));
  EXPECT_TRUE(Handover::is_for(Json::array_t(200'000, 1)));
  EXPECT_TRUE(Handover::is_for(Json::array_t(500, Json::array_t(500, 1))));
}

}  // namespace
}  // namespace brig::serve
