#include "egress/dns_message.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <random>
#include <string_view>

namespace brig::egress {
namespace {

using Bytes = std::vector<std::uint8_t>;
using namespace std::string_view_literals;

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

// A query with these labels, lengths and all.
Bytes query(std::string_view name, std::string_view type = "\0\x01\0\x01"sv,
            std::string_view counts = "\0\x01\0\0\0\0\0\0"sv, std::string_view flags = "\x01\0"sv) {
  std::string text("\x12\x34");
  text.append(flags).append(counts).append(name).append(type);
  return bytes_of(text);
}

constexpr std::string_view kName = "\3API\7example\3com\0"sv;

TEST(DnsQuestion, IsRead) {
  const auto question = read_dns_question(query(kName));
  ASSERT_TRUE(question);
  EXPECT_EQ(question->id, 0x1234);
  EXPECT_TRUE(question->wants_recursion);
  EXPECT_EQ(question->type, DnsQuestion::kA);
  EXPECT_EQ(question->class_, DnsQuestion::kInternet);
  EXPECT_EQ(question->name, "api.example.com");
  EXPECT_EQ(question->wire, bytes_of(std::string(kName) + std::string("\0\1\0\1", 4)))
      << "as it came";
  EXPECT_FALSE(read_dns_question(query(kName, "\0\x1c\0\1"sv, "\0\1\0\0\0\0\0\0"sv, "\0\0"sv))
                   ->wants_recursion);
  EXPECT_EQ(read_dns_question(query(kName, "\0\x1c\0\1"sv))->type, DnsQuestion::kAaaa);
}

TEST(DnsQuestion, MayHaveMoreBehindIt) {
  Bytes message = query(kName, "\0\1\0\1"sv, "\0\1\0\0\0\0\0\1"sv);
  const auto plain = read_dns_question(message);
  const Bytes options = bytes_of("\0\0\x29\x10\0\0\0\0\0\0\0"sv);
  message.insert(message.end(), options.begin(), options.end());
  ASSERT_TRUE(plain && read_dns_question(message));
  EXPECT_EQ(read_dns_question(message)->wire, plain->wire);
}

TEST(DnsQuestion, HasNoNameIfNoRuleCouldHaveIt) {
  using namespace std::string_literals;
  for (const std::string& name : {"\0"s, "\3a.b\3com\0"s, "\3a\0b\3com\0"s, "\1*\3com\0"s,
                                  "\3a b\3com\0"s, "\3\xc3\xbc"s + "a\0"s,
                                  "\3"
                                  "127\1"
                                  "0\1"
                                  "0\1"
                                  "1\0"s}) {
    const auto question = read_dns_question(query(name));
    ASSERT_TRUE(question) << name;
    EXPECT_EQ(question->name, "") << name;
    EXPECT_EQ(question->wire.size(), name.size() + 4);
  }
}

TEST(DnsQuestion, IsNothingElse) {
  for (std::size_t size = 0; size < query(kName).size(); ++size) {
    Bytes cut = query(kName);
    cut.resize(size);
    EXPECT_FALSE(read_dns_question(cut)) << size;
  }
  const auto counts = "\0\1\0\0\0\0\0\0"sv;
  EXPECT_FALSE(read_dns_question(query(kName, "\0\1\0\1"sv, counts, "\x81\0"sv))) << "an answer";
  EXPECT_FALSE(read_dns_question(query(kName, "\0\1\0\1"sv, counts, "\x29\0"sv))) << "an update";
  EXPECT_FALSE(read_dns_question(query(kName, "\0\1\0\1"sv, "\0\0\0\0\0\0\0\0"sv))) << "none";
  EXPECT_FALSE(read_dns_question(query(kName, "\0\1\0\1"sv, "\0\2\0\0\0\0\0\0"sv))) << "two";
  EXPECT_FALSE(read_dns_question(query("\3api\xc0\x0c"sv))) << "a pointer";
  EXPECT_FALSE(
      read_dns_question(query("\x40"
                              "a\0"sv)))
      << "a label of another kind";
  EXPECT_FALSE(read_dns_question(query("\7exam\0"sv))) << "a label longer than the message";
  Bytes large = query(kName);
  large.resize(512);
  EXPECT_TRUE(read_dns_question(large));
  large.push_back(0);
  EXPECT_FALSE(read_dns_question(large));
}

TEST(DnsQuestion, HasANameOfAtMost255Bytes) {
  const auto of_labels = [](unsigned count, std::string_view last) {
    std::string name;
    for (unsigned i = 0; i < count; ++i) name += "\1a"sv;
    return query(name.append(last));
  };
  EXPECT_TRUE(read_dns_question(of_labels(126, "\1a\0"sv)));
  EXPECT_EQ(read_dns_question(of_labels(126, "\1a\0"sv))->name.size(), 253u);
  EXPECT_FALSE(read_dns_question(of_labels(126, "\2aa\0"sv)));
}

TEST(DnsAnswer, HasTheQuestionAndOneAddress) {
  const auto question = read_dns_question(query(kName));
  ASSERT_TRUE(question);
  const Address address = Address::v4(0xC6120100);
  EXPECT_EQ(write_dns_answer(*question, DnsCode::ok, &address, 0x01020304),
            bytes_of("\x12\x34\x81\x80\0\1\0\1\0\0\0\0"
                     "\3API\7example\3com\0\0\1\0\1"
                     "\xc0\x0c\0\1\0\1\1\2\3\4\0\4\xc6\x12\1\0"sv));
}

TEST(DnsAnswer, MayHaveNoAddress) {
  const auto question =
      read_dns_question(query(kName, "\0\x1c\0\1"sv, "\0\1\0\0\0\0\0\0"sv, "\0\0"sv));
  ASSERT_TRUE(question);
  const std::string rest("\0\1\0\0\0\0\0\0\3API\7example\3com\0\0\x1c\0\1"sv);
  EXPECT_EQ(write_dns_answer(*question, DnsCode::ok, nullptr),
            bytes_of(std::string("\x12\x34\x80\x80", 4) + rest));
  EXPECT_EQ(write_dns_answer(*question, DnsCode::refused, nullptr),
            bytes_of(std::string("\x12\x34\x80\x85", 4) + rest));
  const Address ipv6 = *Address::parse("2001:db8::1");
  EXPECT_EQ(write_dns_answer(*question, DnsCode::ok, &ipv6).size(), 4 + rest.size())
      << "it is for IPv4 alone";
}

TEST(DnsQuestion, OfAnyBytesEndsWell) {
  std::mt19937 random(20261119);
  for (int i = 0; i < 20'000; ++i) {
    Bytes message = query(kName);
    for (unsigned n = random() % 4 + 1; n > 0; --n)
      message[random() % message.size()] = static_cast<std::uint8_t>(random());
    if (const auto question = read_dns_question(message))
      (void)write_dns_answer(*question, DnsCode::no_such_name, nullptr);
  }
}

}  // namespace
}  // namespace brig::egress
