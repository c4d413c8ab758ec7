#include "cell/output_buffer.h"

#include "base/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

namespace brig {
namespace {

using namespace std::string_literals;

Output kept(std::size_t limit, std::string_view stream) {
  OutputBuffer buffer(limit);
  buffer.append(stream);
  return buffer.take();
}

// What the header promises, computed from the whole stream at once.
Output model(std::size_t limit, std::string_view stream) {
  Output output;
  output.total = stream.size();
  output.truncated = stream.size() > limit;
  if (!output.truncated) {
    output.bytes = stream;
    return output;
  }
  std::string_view head = stream.substr(0, limit / 2);
  std::string_view tail = stream.substr(stream.size() - (limit - limit / 2));
  head.remove_suffix(utf8_cut_at_end(head));
  tail.remove_prefix(utf8_cut_at_start(tail));
  output.cut = head.size();
  output.bytes = std::string(head) + std::string(tail);
  return output;
}

void expect_same(const Output& got, const Output& wanted, const std::string& what) {
  ASSERT_EQ(got.total, wanted.total) << what;
  ASSERT_EQ(got.truncated, wanted.truncated) << what;
  ASSERT_EQ(got.cut, wanted.cut) << what;
  ASSERT_EQ(got.bytes, wanted.bytes) << what;
}

TEST(OutputBuffer, OfAnEmptyStreamIsEmpty) {
  OutputBuffer buffer(100);
  buffer.append("");
  EXPECT_EQ(buffer.total(), 0u);
  expect_same(buffer.take(), {}, "empty");
}

TEST(OutputBuffer, IsTheExactStreamUpToTheLimit) {
  const std::string stream = "\xC3(binary\0\x80\x80"s;
  const Output output = kept(stream.size(), stream);
  EXPECT_EQ(output.bytes, stream);
  EXPECT_EQ(output.total, stream.size());
  EXPECT_FALSE(output.truncated);
}

TEST(OutputBuffer, KeepsTheFirstAndTheLastHalf) {
  const Output output = kept(6, "abcdefghij");
  EXPECT_EQ(output.bytes, "abchij");
  EXPECT_EQ(output.cut, 3u);
  EXPECT_EQ(output.total, 10u);
  EXPECT_TRUE(output.truncated);
}

TEST(OutputBuffer, GivesTheOddByteToTheTail) { EXPECT_EQ(kept(5, "abcdefghij").bytes, "abhij"); }

TEST(OutputBuffer, OfLimitZeroOnlyCounts) {
  const Output output = kept(0, "abc");
  EXPECT_EQ(output.bytes, "");
  EXPECT_EQ(output.total, 3u);
  EXPECT_TRUE(output.truncated);
  EXPECT_EQ(output.cut, 0u);
  EXPECT_FALSE(kept(0, "").truncated);
}

TEST(OutputBuffer, OfLimitOneKeepsTheLastByte) { EXPECT_EQ(kept(1, "abc").bytes, "c"); }

TEST(OutputBuffer, IsEmptyAndUsableAfterTake) {
  OutputBuffer buffer(6);
  buffer.append("abcdefghi");
  buffer.take();
  EXPECT_EQ(buffer.total(), 0u);
  buffer.append("12345678");
  EXPECT_EQ(buffer.take().bytes, "123678");
  EXPECT_EQ(buffer.take().bytes, "");
}

TEST(OutputBuffer, DoesNotSplitACodePointAtTheCut) {
  const std::string euro = "\xE2\x82\xAC";
  std::string stream;
  for (int i = 0; i < 10; ++i) stream += euro;
  for (std::size_t limit = 0; limit < stream.size(); ++limit) {
    const Output output = kept(limit, stream);
    EXPECT_TRUE(is_valid_utf8(output.bytes)) << limit;
    EXPECT_EQ(output.bytes.size() % 3, 0u) << limit;
    EXPECT_GE(output.bytes.size() + 4, limit);  // No more is lost than the two edges.
    EXPECT_TRUE(output.truncated);
  }
}

TEST(OutputBuffer, LeavesBinaryAtTheCutAlone) {
  const std::string binary(64, '\x80');
  EXPECT_EQ(kept(32, binary).bytes, std::string(32, '\x80'));
  const std::string high(64, '\xFF');
  EXPECT_EQ(kept(32, high).bytes, std::string(32, '\xFF'));
}

TEST(OutputBuffer, AgreesWithTheModelForEverySmallLimitAndLength) {
  std::string stream;
  for (int i = 0; i < 40; ++i) stream += static_cast<char>('a' + i % 26);
  for (std::size_t limit = 0; limit <= 20; ++limit) {
    for (std::size_t length = 0; length <= stream.size(); ++length) {
      for (std::size_t chunk = 1; chunk <= length + 1; ++chunk) {
        OutputBuffer buffer(limit);
        const std::string_view all = std::string_view(stream).substr(0, length);
        for (std::size_t at = 0; at < length; at += chunk) buffer.append(all.substr(at, chunk));
        expect_same(buffer.take(), model(limit, all),
                    std::to_string(limit) + " " + std::to_string(length));
      }
    }
  }
}

std::string random_bytes(std::mt19937& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

TEST(OutputBuffer, AgreesWithTheModelOnRandomBytesInRandomPieces) {
  std::mt19937 random(42);
  for (int round = 0; round < 3'000; ++round) {
    const std::size_t limit = random() % (1u << random() % 13);
    const std::string stream = random_bytes(random, random() % (1u << random() % 15));
    const std::size_t largest = 1 + random() % (1u << random() % 14);
    OutputBuffer buffer(limit);
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t n = std::min<std::size_t>(random() % (largest + 1), stream.size() - at);
      buffer.append(std::string_view(stream).substr(at, n));
      at += n;
      ASSERT_EQ(buffer.total(), at);
    }
    expect_same(buffer.take(), model(limit, stream), "round " + std::to_string(round));
  }
}

TEST(OutputBuffer, OfUtf8StaysUtf8WhereverItIsCut) {
  std::mt19937 random(43);
  const std::vector<std::string> letters = {"a", "\n", "\xC3\xBC", "\xE2\x82\xAC",
                                            "\xF0\x9F\x98\x80"};
  for (int round = 0; round < 5'000; ++round) {
    OutputBuffer buffer(random() % 64);
    const std::size_t count = random() % 80;
    std::string piece;
    for (std::size_t i = 0; i < count; ++i) {
      piece += letters[random() % letters.size()];
      // Pieces end anywhere, also inside a code point.
      const std::size_t n = random() % (piece.size() + 1);
      buffer.append(std::string_view(piece).substr(0, n));
      piece.erase(0, n);
    }
    buffer.append(piece);
    const Output output = buffer.take();
    ASSERT_TRUE(is_valid_utf8(output.bytes)) << round;
    ASSERT_EQ(output.truncated, output.total > output.bytes.size());
    ASSERT_LE(output.cut, output.bytes.size());
  }
}

TEST(OutputBuffer, DoesNotHoldRoomThatItsOutputDidNotNeed) {
  OutputBuffer buffer(1 << 20);
  buffer.append(std::string(100'000, 'x'));
  EXPECT_LT(buffer.take().bytes.capacity(), 200'000u);
}

// Copying all of these 6 TiB would take many minutes.
TEST(OutputBuffer, CopiesOnlyTheEndOfABigAppend) {
  constexpr std::size_t kPiece = 64 << 20;
  const std::string piece(kPiece, 'x');
  OutputBuffer buffer(1 << 10);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100'000; ++i) buffer.append(piece);
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(buffer.total(), kPiece * 100'000ull);
  EXPECT_LT(took, std::chrono::seconds(15));
  EXPECT_EQ(buffer.take().bytes, std::string(1 << 10, 'x'));
}

TEST(OutputBuffer, TakesManySmallAppendsInLinearTime) {
  OutputBuffer buffer(100 << 10);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 2'000'000; ++i) buffer.append("y\n");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
  const Output output = buffer.take();
  EXPECT_EQ(output.total, 4'000'000u);
  EXPECT_EQ(output.bytes.size(), 100u << 10);
}

}  // namespace
}  // namespace brig
