#include "egress/names.h"

#include <gtest/gtest.h>

namespace brig::egress {
namespace {

TEST(Names, HaveOneAddressEach) {
  Names names;
  const auto first = names.address_of("a.example"), second = names.address_of("b.example");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->text(), "198.18.1.0");
  EXPECT_EQ(second->text(), "198.18.1.1");
  EXPECT_EQ(names.address_of("a.example"), first) << "the same each time";
  ASSERT_TRUE(names.name_at(*first));
  EXPECT_EQ(*names.name_at(*first), "a.example");
  EXPECT_EQ(*names.name_at(*second), "b.example");
}

TEST(Names, AreAtNoOtherAddress) {
  Names names;
  EXPECT_FALSE(names.name_at(Address::v4(Names::kFirst)));
  names.address_of("a.example");
  for (const char* text : {"198.18.1.1", "198.18.0.1", "198.18.0.255", "198.19.255.255",
                           "192.0.2.7", "255.255.255.255", "0.0.0.0", "::", "2001:db8::c612:100"})
    EXPECT_FALSE(names.name_at(*Address::parse(text))) << text;
  EXPECT_TRUE(names.name_at(*Address::parse("::ffff:198.18.1.0"))) << "v4-mapped";
}

TEST(Names, AreNoMoreThanAllowed) {
  Names names;
  for (std::size_t i = 0; i < Names::kMost; ++i)
    ASSERT_TRUE(names.address_of("a" + std::to_string(i) + ".example"));
  EXPECT_FALSE(names.address_of("one.more"));
  EXPECT_EQ(names.address_of("a0.example")->ipv4(), Names::kFirst) << "those known stay";
  const auto last = names.address_of("a1023.example");
  ASSERT_TRUE(last);
  EXPECT_EQ(*names.name_at(*last), "a1023.example");
  EXPECT_TRUE(Names::is_made_up(*last));
}

TEST(Names, TakeTheirAddressesFromOneRange) {
  for (const char* text : {"198.18.0.0", "198.18.0.1", "198.19.255.255"})
    EXPECT_TRUE(Names::is_made_up(*Address::parse(text))) << text;
  for (const char* text : {"198.17.255.255", "198.20.0.0", "::", "::198.18.1.0"})
    EXPECT_FALSE(Names::is_made_up(*Address::parse(text))) << text;
}

}  // namespace
}  // namespace brig::egress
