#include "base/fair_share.h"

#include <gtest/gtest.h>

#include <vector>

namespace brig {
namespace {

// What each user has when all of them take as much as they can, in turn.
std::vector<std::size_t> taken(std::size_t count, std::size_t limit) {
  std::vector<std::size_t> own(count);
  std::size_t used = 0;
  for (bool any = true; any;) {
    any = false;
    for (std::size_t& each : own)
      if (is_fair(each, 1, used, limit)) {
        ++each;
        ++used;
        any = true;
      }
  }
  return own;
}

TEST(FairShare, OneAloneHasThreeQuarters) { EXPECT_EQ(taken(1, 1000)[0], 750u); }

TEST(FairShare, AllHaveTheSameAndLeaveSomething) {
  for (const std::size_t count : {2u, 4u, 10u, 50u}) {
    std::size_t used = 0;
    for (const std::size_t each : taken(count, 1000)) {
      EXPECT_NEAR(static_cast<double>(each), 3000.0 / static_cast<double>(3 * count + 1), 2);
      used += each;
    }
    EXPECT_TRUE(is_fair(0, 1, used, 1000)) << count;
  }
}

TEST(FairShare, WhoHasMuchWaitsUntilOthersHaveGivenBack) {
  EXPECT_FALSE(is_fair(750, 1, 750, 1000));
  EXPECT_FALSE(is_fair(500, 1, 900, 1000));
  EXPECT_TRUE(is_fair(100, 1, 900, 1000));
}

TEST(FairShare, OfLittleEachHasTheLeast) {
  EXPECT_TRUE(is_fair(0, 1, 0, 1));
  EXPECT_FALSE(is_fair(0, 1, 1, 1));
  EXPECT_TRUE(is_fair(0, 1, 1, 2));
  EXPECT_TRUE(is_fair(0, 64, 900, 1000, 64));
  EXPECT_FALSE(is_fair(0, 64, 937, 1000, 64));
}

TEST(FairShare, NoNumberIsTooLarge) {
  EXPECT_FALSE(is_fair(0, SIZE_MAX, 1, SIZE_MAX));
  EXPECT_FALSE(is_fair(0, 2, 0, 1));
  EXPECT_TRUE(is_fair(0, 1, 0, SIZE_MAX));
}

}  // namespace
}  // namespace brig
