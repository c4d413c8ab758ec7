#include "service/refusal_log.h"

#include <gtest/gtest.h>

namespace brig::serve {
namespace {

class RefusalLogOf : public testing::Test {
 protected:
  std::size_t lines(const std::string& event) const {
    return static_cast<std::size_t>(std::count_if(
        lines_.begin(), lines_.end(), [&](const Json& line) { return line["event"] == event; }));
  }
  void refuse(const std::string& caller, const std::string& peer = "127.0.0.1:1") {
    log_.note(caller, peer, {{"event", "refused"}, {"peer", peer}});
  }
  Loop loop_;
  std::vector<Json> lines_;
  RefusalLog log_{loop_, [this](const Json& line) { lines_.push_back(line); }};
};

TEST_F(RefusalLogOf, WritesAFewOfEachAndCountsTheRest) {
  for (int i = 0; i < 1000; ++i) refuse("mallory");
  refuse("alice");
  EXPECT_EQ(lines("refused"), RefusalLog::kOfOne + 1u);
  log_.flush();
  ASSERT_EQ(lines("refused_more"), 1u);
  EXPECT_EQ(lines_.back()["caller"], "mallory");
  EXPECT_EQ(lines_.back()["count"], 1000 - RefusalLog::kOfOne);
  EXPECT_TRUE(lines_.back().contains("at"));
  refuse("mallory");
  EXPECT_EQ(lines_.back()["event"], "refused") << "a new second";
  log_.flush();
  EXPECT_EQ(lines("refused_more"), 1u) << "nothing was left out";
}

TEST_F(RefusalLogOf, AnAddressIsOneWhateverItsPort) {
  for (int i = 0; i < 100; ++i) refuse("", "10.0.0.1:" + std::to_string(i));
  EXPECT_EQ(lines("refused"), RefusalLog::kOfOne);
  log_.flush();
  EXPECT_EQ(lines_.back()["peer"], "10.0.0.1");
}

TEST_F(RefusalLogOf, ManyAddressesMakeFewLinesAndHideNoCaller) {
  std::uint64_t sent = 0;
  for (int round = 0; round < 10; ++round)
    for (int i = 0; i < 5000; ++i, ++sent) refuse("", "10.0." + std::to_string(i) + ".1:1");
  refuse("alice");
  EXPECT_EQ(lines("refused"), RefusalLog::kOfStrangers + 1u);
  log_.flush();
  EXPECT_LE(lines("refused_more"), RefusalLog::kAddresses + 1);
  std::uint64_t told = RefusalLog::kOfStrangers;
  for (const Json& line : lines_) told += line.value("count", 0u);
  EXPECT_EQ(told, sent) << "none is missing in the counts";
}

}  // namespace
}  // namespace brig::serve
