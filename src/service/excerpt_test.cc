#include "service/excerpt.h"

#include <gtest/gtest.h>

#include <sstream>

namespace brig::serve {
namespace {

Output output_of(std::string bytes) {
  Output output;
  output.total = bytes.size();
  output.bytes = std::move(bytes);
  return output;
}

TEST(McpText, AShortTextIsLeftAsItIs) {
  EXPECT_EQ(excerpt_of("hello\n", 6).text, "hello\n");
  EXPECT_TRUE(excerpt_of("hello\n", 6).shows_all);
  EXPECT_EQ(excerpt_of("", 0).text, "");
}

TEST(McpText, OfALongOneBothEndsAreKeptAndTheGapIsMarkedWithItsSize) {
  const std::string text =
      std::string(600, 'a') + std::string(1'000'000, 'b') + std::string(600, 'c');
  const Excerpt excerpt = excerpt_of(text, 1000);
  EXPECT_EQ(excerpt.text,
            std::string(500, 'a') + "\n[... 976.8 KiB left out ...]\n" + std::string(500, 'c'));
  EXPECT_FALSE(excerpt.shows_all);
}

TEST(McpText, AGapThatBrigHasLeftIsMarkedWhereItWas) {
  Output output = output_of("headtail");
  output.truncated = true;
  output.cut = 4;
  output.total = 8 + 1024;
  const Excerpt excerpt = excerpt_of(output, 100);
  EXPECT_EQ(excerpt.text, "head\n[... 1 KiB left out ...]\ntail");
  EXPECT_TRUE(excerpt.shows_all) << "there is nothing more to read";
  EXPECT_EQ(kept_of(output), excerpt.text);
  EXPECT_EQ(excerpt_of(output, 4).text, "he\n[... 1 KiB left out ...]\nil");
  EXPECT_FALSE(excerpt_of(output, 4).shows_all);
}

// A piece of "1234567" would read like a number of its own.
TEST(McpText, IsCutBetweenLinesWhereALineEndsNearby) {
  std::string lines;
  for (int i = 100'000; i < 110'000; ++i) lines += std::to_string(i) + "\n";
  const auto are_whole = [&](const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      EXPECT_TRUE(line.size() == 6 || line.starts_with("[... ")) << line;
    }
  };
  for (std::size_t most = 1000; most < 1014; ++most) {
    const Excerpt excerpt = excerpt_of(lines, most);
    are_whole(excerpt.text);
    EXPECT_GE(excerpt.text.size(), most - 20) << "what is whole is kept";
    EXPECT_FALSE(excerpt.shows_all);
  }
  for (std::size_t cut = 500; cut < 507; ++cut) {
    Output output = output_of(lines.substr(0, cut) + lines.substr(lines.size() - cut));
    output.truncated = true;
    output.cut = cut;
    output.total = lines.size();
    are_whole(excerpt_of(output, 10'000).text);
    are_whole(excerpt_of(output, 700).text);
    are_whole(kept_of(output));
    EXPECT_TRUE(excerpt_of(output, 10'000).shows_all);
  }
  // A long line is cut where it must be.
  const std::string line = "begin\n" + std::string(5000, 'x') + "\nend";
  EXPECT_EQ(excerpt_of(line, 1000).text.find("begin\nxxx"), 0u);
  EXPECT_TRUE(excerpt_of(line, 1000).text.ends_with("xxx\nend"));
}

TEST(McpText, NoCharacterIsCutInTwo) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "€";
  for (std::size_t most = 0; most < 20; ++most) {
    const std::string cut = excerpt_of(text, most).text;
    EXPECT_EQ(cut.find("\xef\xbf\xbd"), cut.npos);
    EXPECT_TRUE(cut.size() % 3 == std::string("\n[... 2.9 KiB left out ...]\n").size() % 3 ||
                most < 6)
        << cut;
  }
  Output output = output_of("€€\xe2\x82" + std::string("\xac€"));
  output.truncated = true;
  output.cut = 8;
  output.total = 100;
  EXPECT_EQ(excerpt_of(output, 100).text, "€€\n[... 91 B left out ...]\n€");
}

TEST(McpText, BinaryDataIsToldWithItsSize) {
  const Excerpt excerpt = excerpt_of(output_of("\xff\xfe\xff"), 100);
  EXPECT_EQ(excerpt.text, "[3 B of binary data, not UTF-8 text]");
  EXPECT_FALSE(excerpt.shows_all);
  EXPECT_EQ(kept_of(output_of("\xff\xfe\xff")), "\xff\xfe\xff");
}

TEST(McpText, WhatOneDoesNotNeedOthersMayHave) {
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(shares_of({10, 1000, 1000}, 100), (Sizes{10, 45, 45}));
  EXPECT_EQ(shares_of({1000, 10, 20}, 100), (Sizes{70, 10, 20}));
  EXPECT_EQ(shares_of({5}, 100), Sizes{5});
  EXPECT_EQ(shares_of({}, 100), Sizes{});
  EXPECT_EQ(shares_of({7, 7}, 0), (Sizes{0, 0}));
}

TEST(McpText, ViolationsAreLinesAndNotTooMany) {
  Report report;
  report.violations = {{.code = "syscall.refused", .what = "mount", .count = 2},
                       {.code = "syscall.refused", .what = "a\x1b[2J"}};
  EXPECT_EQ(
      violation_lines(report, true)[0],
      "syscall.refused: it was refused the system call mount (2 times), which no policy allows");
  EXPECT_EQ(violation_lines(report, true)[1].find('\x1b'), std::string::npos);
  report.violations.assign(500, {.code = "syscall.refused", .what = "mount"});
  EXPECT_EQ(violation_lines(report, true).size(), 11u);
  EXPECT_EQ(violation_lines(report, true).back(), "and 490 more");
  report.violations = {{.code = "syscall.refused", .what = "mount"},
                       {.code = "syscall.refused", .what = "bpf"}};
  report.message = "the command failed; " + sentence(report.violations[0]);
  EXPECT_EQ(violation_lines(report, true).size(), 2u) << "anybody can say the same words";
  report.violations[0].mentioned = true;
  ASSERT_EQ(violation_lines(report, true).size(), 1u);  // the message tells of the other
  EXPECT_NE(violation_lines(report, true)[0].find("bpf"), std::string::npos);
  EXPECT_EQ(violation_lines(report, false).size(), 2u) << "if it is shown";
  EXPECT_TRUE(violation_lines({}, true).empty());
}

}  // namespace
}  // namespace brig::serve
