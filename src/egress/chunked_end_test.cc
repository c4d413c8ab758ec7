#include <gtest/gtest.h>

#include "egress/http_head.h"

namespace brig::egress {
namespace {

using namespace std::string_view_literals;

// How many bytes belong to the body, and whether it ends there ("."), is bad ("!") or goes on
// ("...").
std::string fed(std::string_view bytes, std::size_t piece) {
  ChunkedEnd end;
  std::size_t size = 0;
  while (!bytes.empty() && !end.done() && !end.bad()) {
    const std::string_view now = bytes.substr(0, piece);
    const std::size_t taken = end.feed(now);
    EXPECT_TRUE(taken == now.size() || end.done() || end.bad());
    size += taken;
    bytes.remove_prefix(taken);
  }
  if (end.done() || end.bad()) {
    EXPECT_EQ(end.feed("0\r\n\r\n"), 0u);
  }
  return std::to_string(size) + (end.done() ? "." : end.bad() ? "!" : "...");
}

std::string end_of(std::string_view bytes) {
  const std::string whole = fed(bytes, bytes.size());
  for (std::size_t piece = 1; piece < bytes.size() && piece < 40; ++piece)
    EXPECT_EQ(fed(bytes, piece), whole) << bytes << " in pieces of " << piece;
  return whole;
}

TEST(ChunkedEnd, IsBehindTheLastChunk) {
  EXPECT_EQ(end_of("0\r\n\r\n"), "5.");
  EXPECT_EQ(end_of("3\r\nabc\r\n0\r\n\r\nGET / HTTP/1.1\r\n"), "13.");
  EXPECT_EQ(end_of("1A\r\nabcdefghijklmnopqrstuvwxyz\r\n000\r\n\r\n"), "39.");
  EXPECT_EQ(end_of("5\r\n0\r\n\r\n\r\n0\r\n\r\n"), "15.") << "an end inside of data";
  EXPECT_EQ(end_of("1;a=b;c=\"d e\"\r\nx\r\n0;last\r\n\r\n"), "28.");
}

TEST(ChunkedEnd, IsNotThereBeforeAllHasCome) {
  const std::string_view body = "3\r\nabc\r\n0\r\n\r\n";
  for (std::size_t size = 1; size < body.size(); ++size)
    EXPECT_EQ(end_of(body.substr(0, size)), std::to_string(size) + "...");
  EXPECT_EQ(end_of("ffffffffffffffff\r\nabc"), "21...");
}

TEST(ChunkedEnd, IsNeverThereIfAChunkIsNone) {
  for (const std::string_view body : {"\r\n"sv,
                                      "x\r\n"sv,
                                      "-1\r\n"sv,
                                      "+1\r\n"sv,
                                      "0x1\r\n"sv,
                                      ";a\r\n"sv,
                                      " 1\r\n"sv,
                                      "1 \r\n"sv,
                                      "1\nx"sv,
                                      "1\rx"sv,
                                      "1;a\nx"sv,
                                      "1;a\rx"sv,
                                      "1;\0\r\n"sv,
                                      "1\r\nxy"sv,
                                      "1\r\nx\ry"sv,
                                      "1\r\nx\n"sv,
                                      "10000000000000000\r\n"sv,
                                      "00000000000000001\r\n"sv,
                                      "0\r\nX: y\r\n\r\n"sv,
                                      "0\r\n\n"sv,
                                      "0\r\n\rx"sv,
                                      "0\n\r\n"sv})
    EXPECT_TRUE(end_of(body).ends_with("!")) << body;
}

TEST(ChunkedEnd, TakesExtensionsOfAFewBytes) {
  const auto with = [](std::size_t size) { return "1;" + std::string(size, 'a') + "\r\nx\r\n"; };
  EXPECT_TRUE(end_of(with(256) + with(256) + "0\r\n\r\n").ends_with("."));
  EXPECT_TRUE(end_of(with(257)).ends_with("!"));
}

}  // namespace
}  // namespace brig::egress
