#include "http/http_places.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>

#include <deque>

#include "base/fd.h"
#include "http/http_exchange.h"

namespace brig::serve {
namespace {

class Connected final : public AnyConnection {
 public:
  void start() override {}
  void send(std::string) override {}
  void answered() override {}
  std::size_t unsent() const override { return 0; }
  void drop() override {}
  void check_deadline(SteadyClock::time_point) override {}
  void drain() override {}
  const Request* request() const override { return busy ? &asked : nullptr; }
  void answers(const Answered&) override {}
  const Caller* caller() const override { return place.caller.get(); }

  bool busy = false;
  Request asked;
  Places::Place place;
};

class PlacesOf : public testing::Test {
 protected:
  Connected& stranger(Places& places, const std::string& origin) {
    Connected& made = all_.emplace_back();
    places.take(made.place, made, origin);
    return made;
  }
  static CallerPtr caller() { return std::make_shared<Caller>(); }
  std::deque<Connected> all_;
};

TEST_F(PlacesOf, TheOldestIdleStrangerGoesFirst) {
  Places places(4);
  Connected& first = stranger(places, "a");
  Connected& second = stranger(places, "a");
  Connected& third = stranger(places, "a");
  first.busy = true;
  EXPECT_EQ(places.next_to_go(), &second);
  places.leave(second.place);
  EXPECT_EQ(places.next_to_go(), &third);
  third.busy = true;
  EXPECT_EQ(places.next_to_go(), &first) << "all are busy, and one has to go";
}

TEST_F(PlacesOf, WhereMostComeFromOneGoes) {
  Places places(8);
  stranger(places, "a");
  Connected& oldest = stranger(places, "b");
  stranger(places, "b");
  EXPECT_EQ(places.next_to_go(), &oldest);
}

TEST_F(PlacesOf, ACallersConnectionDoesNotMakeRoom) {
  Places places(2);
  const CallerPtr one = caller();
  one->alone = true;
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(places.assign(stranger(places, "a").place, one));
  EXPECT_TRUE(places.full());
  EXPECT_EQ(places.next_to_go(), nullptr);
  EXPECT_EQ(one->holds.connections, 2u);
  for (Connected& each : all_) places.leave(each.place);
  for (Connected& each : all_) places.leave(each.place);
  EXPECT_EQ(one->holds.connections, 0u) << "and it is given back once";
  EXPECT_FALSE(places.full());
}

TEST_F(PlacesOf, CallersHaveTheirShareAndLeaveSomeToStrangers) {
  Places places(800);
  const auto fill = [&](const CallerPtr& by) {
    while (places.assign(stranger(places, "a").place, by)) {
    }
    places.leave(all_.back().place);
    return by->holds.connections;
  };
  const CallerPtr one = caller(), two = caller(), alone = caller();
  EXPECT_EQ(fill(one), 552u) << "three quarters of what is not kept for strangers";
  EXPECT_GT(fill(two), 100u);
  EXPECT_TRUE(places.assign(stranger(places, "a").place, caller()));
  for (Connected& each : all_) places.leave(each.place);
  alone->alone = true;
  EXPECT_EQ(fill(alone), 736u);
  EXPECT_FALSE(places.full());
}

TEST_F(PlacesOf, AConnectionCanChangeHands) {
  Places places(8);
  const CallerPtr one = caller(), two = caller();
  Connected& connected = stranger(places, "a");
  EXPECT_TRUE(places.assign(connected.place, one));
  EXPECT_TRUE(places.assign(connected.place, one));
  EXPECT_TRUE(places.assign(connected.place, two));
  EXPECT_EQ(one->holds.connections, 0u);
  EXPECT_EQ(two->holds.connections, 1u);
  EXPECT_EQ(places.next_to_go(), nullptr);
}

std::string origin_of_text(const char* text) {
  sockaddr_storage address{};
  if (std::string(text).find(':') == std::string::npos) {
    address.ss_family = AF_INET;
    inet_pton(AF_INET, text, &reinterpret_cast<sockaddr_in&>(address).sin_addr);
  } else {
    address.ss_family = AF_INET6;
    inet_pton(AF_INET6, text, &reinterpret_cast<sockaddr_in6&>(address).sin6_addr);
  }
  return origin_of(-1, address);
}

TEST(Origin, IsAnAddressOrTheNetworkOfOne) {
  EXPECT_EQ(origin_of_text("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(origin_of_text("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
  EXPECT_EQ(origin_of_text("2001:db8:1:2:ffff::1"), "2001:db8:1:2::");
  EXPECT_NE(origin_of_text("2001:db8:1:3::1"), "2001:db8:1:2::");
  EXPECT_EQ(origin_of_text("::ffff:192.0.2.7"), "::ffff:192.0.2.7");
}

TEST(Origin, OfAUnixSocketIsTheUserAtItsOtherEnd) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd one(ends[0]), two(ends[1]);
  sockaddr_storage address{};
  address.ss_family = AF_UNIX;
  EXPECT_EQ(origin_of(one.get(), address), "uid " + std::to_string(getuid()));
}

}  // namespace
}  // namespace brig::serve
