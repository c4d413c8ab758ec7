#include "cell/answer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace brig {
namespace {

std::string frame(FrameKind kind, const std::string& payload) {
  const FrameHeader header{kind, static_cast<std::uint32_t>(payload.size())};
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + payload;
}

std::string progress(double fraction, const std::string& message) {
  return frame(FrameKind::progress,
               std::string(reinterpret_cast<const char*>(&fraction), sizeof fraction) + message);
}

TEST(AnswerReader, TakesFramesHoweverTheyAreCut) {
  const std::string all = progress(0.25, "a quarter") + progress(1, "") +
                          frame(FrameKind::result, "{\"x\":1}") + "what follows";
  for (std::size_t step = 1; step <= all.size(); ++step) {
    AnswerReader reader(100);
    std::vector<std::pair<double, std::string>> seen;
    for (std::size_t at = 0; at < all.size(); at += step)
      reader.feed(
          std::string_view(all).substr(at, step),
          [&](double fraction, std::string_view text) { seen.emplace_back(fraction, text); });
    EXPECT_EQ(reader.answer().kind, Answer::Kind::result) << step;
    EXPECT_EQ(reader.answer().bytes, "{\"x\":1}");
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0], (std::pair<double, std::string>(0.25, "a quarter")));
    EXPECT_EQ(seen[1], (std::pair<double, std::string>(1, "")));
  }
}

TEST(AnswerReader, TheFirstAnswerCounts) {
  AnswerReader reader(100);
  EXPECT_FALSE(reader.feed(frame(FrameKind::error, "{}") + frame(FrameKind::result, "1"), {}));
  EXPECT_EQ(reader.answer().kind, Answer::Kind::error);
  EXPECT_FALSE(reader.feed(frame(FrameKind::result, "2"), {}));
  EXPECT_EQ(reader.answer().kind, Answer::Kind::error);
  EXPECT_FALSE(reader.cut_off());
}

TEST(AnswerReader, BoundsEveryFrameBeforeItComes) {
  AnswerReader exact(5);
  EXPECT_FALSE(exact.feed(frame(FrameKind::result, "12345"), {}));
  EXPECT_EQ(exact.answer().kind, Answer::Kind::result);
  AnswerReader large(5);
  EXPECT_FALSE(large.feed(frame(FrameKind::result, "123456").substr(0, sizeof(FrameHeader)), {}));
  EXPECT_EQ(large.answer().kind, Answer::Kind::too_large);
  EXPECT_EQ(large.answer().size, 6u);
  for (const FrameKind kind : {FrameKind::progress, FrameKind::error, static_cast<FrameKind>(0),
                               static_cast<FrameKind>(77)}) {
    AnswerReader reader(1 << 30);
    const FrameHeader header{kind, std::numeric_limits<std::uint32_t>::max()};
    EXPECT_FALSE(reader.feed({reinterpret_cast<const char*>(&header), sizeof header}, {}));
    EXPECT_TRUE(reader.broken());
    EXPECT_FALSE(reader.complete());
  }
}

TEST(AnswerReader, KnowsWhatBrokeOff) {
  AnswerReader none(10);
  EXPECT_FALSE(none.cut_off());
  EXPECT_TRUE(none.feed(progress(0.5, "x"), {}));
  EXPECT_FALSE(none.cut_off());
  EXPECT_TRUE(none.feed(frame(FrameKind::result, "12345").substr(0, 3), {}));
  EXPECT_TRUE(none.cut_off());
  AnswerReader half(10);
  EXPECT_TRUE(half.feed(frame(FrameKind::result, "12345").substr(0, 10), {}));
  EXPECT_TRUE(half.cut_off());
}

TEST(AnswerReader, ProgressIsAFractionOrNothing) {
  AnswerReader reader(10);
  std::vector<double> seen;
  for (const double each : {-1.0, 7.0, std::nan(""), std::numeric_limits<double>::infinity(), 0.5})
    reader.feed(progress(each, ""),
                [&](double fraction, std::string_view) { seen.push_back(fraction); });
  EXPECT_EQ(seen, (std::vector<double>{0, 1, 0, 0, 0.5}));
  EXPECT_FALSE(reader.feed(frame(FrameKind::progress, "short"), {}));
  EXPECT_TRUE(reader.broken());
}

// Whatever comes, the reader neither reads past the bounds nor keeps more than the limit.
TEST(AnswerReader, SurvivesNoise) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    AnswerReader reader(64);
    bool more = true;
    for (int piece = 0; more && piece < 20; ++piece) {
      std::string bytes(random() % 40, '\0');
      for (char& c : bytes) c = static_cast<char>(random() % 5);
      more = reader.feed(
          bytes, [](double, std::string_view text) { EXPECT_LE(text.size(), kMaxProgress); });
    }
    EXPECT_LE(reader.answer().bytes.size(), kMaxErrorFrame);
  }
}

}  // namespace
}  // namespace brig
