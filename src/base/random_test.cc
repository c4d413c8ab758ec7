#include "base/random.h"

#include <brig/error.h>
#include <gtest/gtest.h>

#include <set>

namespace brig {
namespace {

TEST(Random, HexHasTwoDigitsForEachByteAndNeverComesTwice) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string text = random_hex(16);
    EXPECT_EQ(text.size(), 32u);
    EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos) << text;
    EXPECT_TRUE(seen.insert(text).second) << text;
  }
  EXPECT_EQ(random_hex(0), "");
  EXPECT_EQ(random_hex(64).size(), 128u);
  EXPECT_THROW(random_hex(65), Error);
}

}  // namespace
}  // namespace brig
