#include "egress/address.h"

#include <gtest/gtest.h>

#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <functional>

#include "base/fd.h"

namespace brig::egress {
namespace {

Address address(const char* text) {
  const auto parsed = Address::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(Address{});
}

TEST(Address, IsReadWithOrWithoutBrackets) {
  EXPECT_EQ(address("192.0.2.7"), Address::v4(0xC0000207));
  EXPECT_EQ(address("[2001:db8::1]").text(), "2001:db8::1");
  EXPECT_EQ(address("2001:db8::1").text(), "2001:db8::1");
  EXPECT_EQ(address("[::ffff:192.0.2.7]"), address("192.0.2.7"));
  for (const char* text : {"", "[]", "[192.0.2.7]", "[::1", "::1]", "[::1]:80", "127.1",
                           "0x7f000001", "[fe80::1%lo]", "a.example", "[[::1]]"})
    EXPECT_FALSE(Address::parse(text)) << text;
}

TEST(Address, IsThatOfASocket) {
  for (const char* text : {"192.0.2.7", "2001:db8::1"}) {
    sockaddr_storage storage;
    const socklen_t size = address(text).to_socket_address(8080, storage);
    EXPECT_EQ(Address::of(storage), address(text));
    const bool is_ipv4 = address(text).is_ipv4();
    EXPECT_EQ(storage.ss_family, is_ipv4 ? AF_INET : AF_INET6);
    EXPECT_EQ(size, is_ipv4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    EXPECT_EQ(reinterpret_cast<sockaddr_in&>(storage).sin_port, htons(8080)) << "in the same place";
  }
  sockaddr_storage storage{};
  auto& mapped = reinterpret_cast<sockaddr_in6&>(storage);
  mapped.sin6_family = AF_INET6;
  std::memcpy(&mapped.sin6_addr, address("::ffff:192.0.2.7").bytes.data(), 16);
  EXPECT_EQ(Address::of(storage), address("192.0.2.7"));
  EXPECT_TRUE(Address::of(storage)->is_ipv4());
  EXPECT_EQ(Address::of(storage)->ipv4(), 0xC0000207u);
  storage.ss_family = AF_UNIX;
  EXPECT_EQ(Address::of(storage), std::nullopt);
}

TEST(Address, OfThePublicInternetHasNoSpecialUse) {
  for (const char* text :
       {"1.1.1.1",           "9.255.255.255",   "11.0.0.0",         "100.63.255.255",
        "100.128.0.0",       "126.255.255.255", "128.0.0.0",        "168.63.129.15",
        "168.63.129.17",     "169.253.255.255", "169.255.0.0",      "172.15.255.255",
        "172.32.0.0",        "192.0.1.0",       "192.167.255.255",  "192.169.0.0",
        "198.17.255.255",    "198.20.0.0",      "223.255.255.255",  "2600::1",
        "2a00:1450:4001::1", "2001:200::1",     "64:ff9b::1.1.1.1", "2002:101:101::1"})
    EXPECT_EQ(special_use(address(text)), nullptr) << text << ": " << special_use(address(text));
}

TEST(Address, OfEachSpecialRangeIsSpecial) {
  for (const char* text : {"0.0.0.0",
                           "0.255.255.255",
                           "10.0.0.0",
                           "10.255.255.255",
                           "100.64.0.0",
                           "100.100.100.200",
                           "100.127.255.255",
                           "127.0.0.1",
                           "127.255.255.255",
                           "168.63.129.16",
                           "169.254.0.0",
                           "169.254.169.254",
                           "169.254.255.255",
                           "172.16.0.0",
                           "172.31.255.255",
                           "192.0.0.0",
                           "192.0.0.192",
                           "192.0.2.7",
                           "192.88.99.1",
                           "192.168.0.0",
                           "192.168.255.255",
                           "198.18.0.0",
                           "198.19.255.255",
                           "198.51.100.7",
                           "203.0.113.7",
                           "224.0.0.1",
                           "239.255.255.255",
                           "240.0.0.0",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "fc00::",
                           "fdff::1",
                           "fd00:ec2::254",
                           "fe80::1",
                           "febf::1",
                           "fec0::1",
                           "ff02::1",
                           "2001:db8::1",
                           "3fff:fff::1",
                           "64:ff9b:1::1.1.1.1",
                           "100::1",
                           "4000::1",
                           "e000::1",
                           "2001:1::1",
                           "2001:1ff::1"})
    EXPECT_NE(special_use(address(text)), nullptr) << text;
  EXPECT_STREQ(special_use(address("169.254.169.254")),
               "link-local, where clouds keep their metadata");
  EXPECT_STREQ(special_use(address("100.100.100.200")), "where a cloud keeps its metadata");
  EXPECT_STREQ(special_use(address("127.0.0.1")), "this machine");
  EXPECT_STREQ(special_use(address("203.0.113.7")), "documentation");
  EXPECT_STREQ(special_use(address("255.255.255.255")), "broadcast");
}

TEST(Address, IsJudgedByTheOneInside) {
  for (const char* text :
       {"::ffff:127.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1",
        "2002:7f00:1::1", "2001:0:7f00:1::", "2001:0:101:101::80ff:fffe"})
    EXPECT_STREQ(special_use(address(text)), "this machine") << text;
  EXPECT_STREQ(special_use(address("64:ff9b::169.254.169.254")),
               "link-local, where clouds keep their metadata");
  EXPECT_NE(special_use(address("::1.1.1.1")), nullptr) << "nobody routes these any more";
  EXPECT_EQ(special_use(address("2001:0:101:101::fefe:fefe")), nullptr) << "both are 1.1.1.1";
}

TEST(Address, HasOthersInside) {
  EXPECT_EQ(embedded_ipv4(address("64:ff9b::10.0.0.1")), std::vector{address("10.0.0.1")});
  EXPECT_EQ(embedded_ipv4(address("2002:a00:1::7")), std::vector{address("10.0.0.1")});
  EXPECT_EQ(embedded_ipv4(address("2001:0:a00:1::f5ff:fffd")),
            (std::vector{address("10.0.0.1"), address("10.0.0.2")}));
  EXPECT_TRUE(embedded_ipv4(address("10.0.0.1")).empty());
  EXPECT_TRUE(embedded_ipv4(address("2600::1")).empty());
}

TEST(Address, OfThisMachineIsFoundInTheNetworkOfTheTest) {
  for (const char* text :
       {"127.0.0.1", "127.9.9.9", "0.0.0.0", "::", "::1", "::ffff:127.0.0.1", "255.255.255.255",
        "224.0.0.1", "ff02::1", "::127.0.0.1", "64:ff9b::127.0.0.1", "2002:7f00:1::1"})
    EXPECT_TRUE(is_of_this_machine(address(text))) << text;
  ifaddrs* all = nullptr;
  ASSERT_EQ(getifaddrs(&all), 0);
  for (const ifaddrs* each = all; each; each = each->ifa_next) {
    // What is down has no routes.
    if (!each->ifa_addr || (each->ifa_flags & IFF_UP) == 0) continue;
    sockaddr_storage storage{};
    const bool is_ipv4 = each->ifa_addr->sa_family == AF_INET;
    if (!is_ipv4 && each->ifa_addr->sa_family != AF_INET6) continue;
    std::memcpy(&storage, each->ifa_addr, is_ipv4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    const auto own = Address::of(storage);
    ASSERT_TRUE(own);
    EXPECT_TRUE(is_of_this_machine(*own)) << own->text();
  }
  freeifaddrs(all);
}

constexpr int kNoNetwork = 100;

// What `look` returns in a network of its own, in which only lo is.
int in_own_network(const std::function<int()>& look) {
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) _exit(kNoNetwork);
    const UniqueFd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP;
    if (ioctl(any.get(), SIOCSIFFLAGS, &request) != 0) _exit(kNoNetwork);
    _exit(look());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Adds a route by lo.
bool add_route(const char* network, unsigned prefix, unsigned char type) {
  struct {
    nlmsghdr header{};
    rtmsg route{};
    rtattr to{};
    std::array<std::uint8_t, 16> network{};
    rtattr by{};
    unsigned device = 0;
  } message;
  const Address place = address(network);
  const UniqueFd netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  const std::size_t size = place.is_ipv4() ? 4 : 16;
  message.header.nlmsg_type = RTM_NEWROUTE;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
  message.route.rtm_family = place.is_ipv4() ? AF_INET : AF_INET6;
  message.route.rtm_dst_len = static_cast<unsigned char>(prefix);
  message.route.rtm_table = type == RTN_LOCAL ? RT_TABLE_LOCAL : RT_TABLE_MAIN;
  message.route.rtm_protocol = RTPROT_BOOT;
  message.route.rtm_scope = type == RTN_UNICAST ? RT_SCOPE_LINK : RT_SCOPE_HOST;
  message.route.rtm_type = type;
  message.to = {static_cast<unsigned short>(sizeof(rtattr) + size), RTA_DST};
  std::copy(place.bytes.end() - static_cast<std::ptrdiff_t>(size), place.bytes.end(),
            message.network.begin());
  message.by = {sizeof(rtattr) + sizeof message.device, RTA_OIF};
  message.device = if_nametoindex("lo");
  // An IPv4 address is shorter: what follows moves up.
  std::string bytes(reinterpret_cast<const char*>(&message), sizeof message);
  bytes.erase(offsetof(decltype(message), network) + size, 16 - size);
  const auto length = static_cast<std::uint32_t>(bytes.size());
  std::memcpy(bytes.data(), &length, sizeof length);
  alignas(nlmsghdr) char answer[1024];
  if (send(netlink.get(), bytes.data(), bytes.size(), 0) < 0 ||
      recv(netlink.get(), answer, sizeof answer, MSG_DONTWAIT) < 0)
    return false;
  nlmsgerr error;
  std::memcpy(&error, answer + NLMSG_HDRLEN, sizeof error);
  return error.error == 0;
}

TEST(AddressKernel, IsOfThisMachineIfItsRouteIsLocal) {
  const int result = in_own_network([] {
    if (is_of_this_machine(address("192.0.2.7"))) return 1;
    if (is_of_this_machine(address("2001:db8::7"))) return 2;
    if (!add_route("192.0.2.0", 24, RTN_LOCAL) || !add_route("2001:db8:1::", 64, RTN_LOCAL) ||
        !add_route("198.51.100.0", 24, RTN_UNICAST) || !add_route("2001:db8:2::", 64, RTN_UNICAST))
      return kNoNetwork;
    if (!is_of_this_machine(address("192.0.2.7"))) return 3;
    if (!is_of_this_machine(address("2001:db8:1::7"))) return 4;
    if (is_of_this_machine(address("198.51.100.7"))) return 5;
    if (is_of_this_machine(address("2001:db8:2::7"))) return 6;
    if (is_of_this_machine(address("203.0.113.7"))) return 7;
    // By the address inside, too.
    if (!is_of_this_machine(address("2002:c000:207::1"))) return 8;
    if (is_of_this_machine(address("2002:c633:6407::1"))) return 9;
    return 0;
  });
  if (result == kNoNetwork) GTEST_SKIP() << "no network of one's own can be made here";
  EXPECT_EQ(result, 0);
}

TEST(AddressKernel, IsOfThisMachineIfItIsABroadcastOrMulticastAddress) {
  const int result = in_own_network([] {
    if (!add_route("198.51.100.0", 24, RTN_BROADCAST)) return kNoNetwork;
    if (!is_of_this_machine(address("198.51.100.255"))) return 1;
    if (!is_of_this_machine(address("255.255.255.255"))) return 2;
    if (!is_of_this_machine(address("239.1.2.3"))) return 3;
    return 0;
  });
  if (result == kNoNetwork) GTEST_SKIP() << "no network of one's own can be made here";
  EXPECT_EQ(result, 0);
}

TEST(AddressKernel, IsOfThisMachineIfTheKernelCanNotBeAsked) {
  const int result = in_own_network([] {
    if (is_of_this_machine(address("192.0.2.7"))) return 1;
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) return kNoNetwork;
    return is_of_this_machine(address("192.0.2.7")) ? 0 : 2;
  });
  if (result == kNoNetwork) GTEST_SKIP() << "no network of one's own can be made here";
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace brig::egress
