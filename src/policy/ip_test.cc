#include "policy/ip.h"

#include <gtest/gtest.h>

namespace brig {
namespace {

std::string read_ip(std::string_view text) {
  const auto address = parse_ip(text);
  return address ? ip_text(*address) : "none";
}

TEST(Ip, IsReadAndWritten) {
  for (const char* text : {"0.0.0.0", "192.0.2.7", "255.255.255.255", "::", "::1", "2001:db8::1",
                           "2001:db8:1:2:3:4:5:6", "fe80::1"})
    EXPECT_EQ(read_ip(text), text);
  EXPECT_EQ(read_ip("2001:DB8:0:0:0:0:0:1"), "2001:db8::1");
  EXPECT_EQ(read_ip("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(read_ip("::ffff:c000:207"), "192.0.2.7");
}

TEST(Ip, IsNothingThatOnlySomeProgramsRead) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {""sv,
                                      "1"sv,
                                      "127.1"sv,
                                      "1.2.3"sv,
                                      "1.2.3.4.5"sv,
                                      "256.0.0.1"sv,
                                      "01.2.3.4"sv,
                                      "1.2.3.04"sv,
                                      "0x7f.0.0.1"sv,
                                      "0x7f000001"sv,
                                      "2130706433"sv,
                                      " 1.2.3.4"sv,
                                      "1.2.3.4 "sv,
                                      "1.2.3.4\0"sv,
                                      "1.2.3.4\0x"sv,
                                      "1.2.3.4/8"sv,
                                      "[::1]"sv,
                                      "::1%lo"sv,
                                      "fe80::1%1"sv,
                                      ":::"sv,
                                      "1:2:3"sv,
                                      "12345::"sv,
                                      "::1\0"sv,
                                      "1:2:3:4:5:6:7:8:9"sv,
                                      "::ffff:1.2.3"sv,
                                      "::ffff:1.2.3.4.5"sv,
                                      "0000000000000000000000000000000000000000000000:1"sv})
    EXPECT_EQ(read_ip(text), "none") << text;
}

bool is_in(const char* address, const char* network, unsigned prefix) {
  return is_in_network(*parse_ip(address), *parse_ip(network), prefix);
}

TEST(Ip, IsInANetworkIfItsFirstBitsAreTheNetworks) {
  EXPECT_TRUE(is_in("10.2.3.4", "10.2.0.0", 96 + 16));
  EXPECT_FALSE(is_in("10.3.0.0", "10.2.0.0", 96 + 16));
  EXPECT_TRUE(is_in("10.3.0.0", "10.2.0.0", 96 + 15));
  EXPECT_TRUE(is_in("10.2.0.0", "10.2.0.0", 128));
  EXPECT_FALSE(is_in("10.2.0.1", "10.2.0.0", 128));
  EXPECT_TRUE(is_in("255.1.1.1", "0.0.0.0", 96));
  EXPECT_TRUE(is_in("2001:db8:1::1", "2001:db8::", 32));
  EXPECT_FALSE(is_in("2001:db9::", "2001:db8::", 32));
  EXPECT_TRUE(is_in("ffff::", "::", 0));
}

TEST(Ip, OfOneFamilyIsInNoNetworkOfTheOther) {
  EXPECT_FALSE(is_in("10.2.3.4", "::", 0));
  EXPECT_FALSE(is_in("10.2.3.4", "::", 80));
  EXPECT_FALSE(is_in("::1", "0.0.0.0", 96));
}

TEST(Ip, LosesWhatIsAfterAPrefix) {
  const auto network = [](const char* text, unsigned prefix) {
    return ip_text(network_of(*parse_ip(text), prefix));
  };
  EXPECT_EQ(network("10.255.3.4", 96 + 12), "10.240.0.0");
  EXPECT_EQ(network("2001:db8:ffff::1", 33), "2001:db8:8000::");
  EXPECT_EQ(network("ffff::", 0), "::");
  EXPECT_EQ(network("ffff::1", 128), "ffff::1");
}

}  // namespace
}  // namespace brig
