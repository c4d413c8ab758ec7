#include "egress/socks.h"

#include <gtest/gtest.h>

namespace brig::egress {
namespace {

using namespace std::string_view_literals;
using GreetingKind = SocksGreeting::Kind;
using RequestKind = SocksRequest::Kind;

TEST(Socks, GreetsWhoNeedsNoAuthentication) {
  EXPECT_EQ(read_socks_greeting("\5\1\0"sv).kind, GreetingKind::greeting);
  EXPECT_EQ(read_socks_greeting("\5\1\0"sv).size, 3u);
  EXPECT_EQ(read_socks_greeting("\5\2\2\0more"sv).kind, GreetingKind::greeting);
  EXPECT_EQ(read_socks_greeting("\5\2\2\0more"sv).size, 4u);
  for (const std::string_view cut : {""sv, "\5"sv, "\5\2"sv, "\5\2\0"sv})
    EXPECT_EQ(read_socks_greeting(cut).kind, GreetingKind::more);
  for (const std::string_view bad :
       {"\4"sv, "\4\1\0\x50"sv, "G"sv, "\5\0"sv, "\5\1\2"sv, "\5\2\1\2"sv})
    EXPECT_EQ(read_socks_greeting(bad).kind, GreetingKind::refused);
}

// What is asked for, or the code of a refusal.
std::string asked(std::string_view bytes) {
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const SocksRequest cut = read_socks_request(bytes.substr(0, size));
    if (cut.kind == RequestKind::refused) return std::to_string(cut.code);
    EXPECT_EQ(cut.kind, RequestKind::more) << size;
  }
  const SocksRequest request = read_socks_request(bytes);
  if (request.kind == RequestKind::refused) return std::to_string(request.code);
  if (request.kind == RequestKind::more) return "more";
  EXPECT_EQ(request.size, bytes.size());
  EXPECT_EQ(read_socks_request(std::string(bytes) + "x").size, bytes.size());
  return request.target.text();
}

TEST(Socks, ConnectsToAHostOfEachKind) {
  EXPECT_EQ(asked("\5\1\0\1\xc0\0\2\7\0\x50"sv), "192.0.2.7:80");
  EXPECT_EQ(asked("\5\1\0\3\x09"
                  "A.EXAMPLE\1\xbb"sv),
            "a.example:443");
  EXPECT_EQ(asked("\5\1\0\4\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1\1\xbb"sv), "[2001:db8::1]:443");
  EXPECT_EQ(asked("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1\1\xbb"sv), "127.0.0.1:443");
}

TEST(Socks, TakesAnAddressThatIsSentAsANameForAnAddress) {
  const SocksRequest request = read_socks_request(
      "\5\1\0\3\x09"
      "127.0.0.1\0\x50"sv);
  ASSERT_EQ(request.kind, RequestKind::request);
  EXPECT_EQ(request.target.name, "");
  EXPECT_EQ(request.target.address, Address::parse("127.0.0.1"));
  EXPECT_EQ(asked("\5\1\0\3\3::1\0\x50"sv), "[::1]:80");
}

TEST(Socks, RefusesTheRest) {
  EXPECT_EQ(asked("\4"sv), "1");
  EXPECT_EQ(asked("\5\2"sv), "7") << "BIND";
  EXPECT_EQ(asked("\5\3"sv), "7") << "UDP";
  EXPECT_EQ(asked("\5\1\1"sv), "1");
  EXPECT_EQ(asked("\5\1\0\2"sv), "8");
  EXPECT_EQ(asked("\5\1\0\3\0"sv), "1") << "an empty name";
  EXPECT_EQ(asked("\5\1\0\1\xc0\0\2\7\0\0"sv), "1") << "port 0";
  EXPECT_EQ(asked("\5\1\0\3\5"
                  "127.1\0\x50"sv),
            "1");
  EXPECT_EQ(asked("\5\1\0\3\3"
                  "a\0b\0\x50"sv),
            "1");
  EXPECT_EQ(asked("\5\1\0\3\3"
                  "a b\0\x50"sv),
            "1");
}

TEST(Socks, Answers) {
  EXPECT_EQ(socks_answer(0), "\5\0\0\1\0\0\0\0\0\0"sv);
  EXPECT_EQ(socks_answer(2), "\5\2\0\1\0\0\0\0\0\0"sv);
}

}  // namespace
}  // namespace brig::egress
