// A network of a test's own, in which only lo is, with routes as the test likes them.
#pragma once

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "base/fd.h"

namespace brig {

// What in_own_network() returns if none can be made.
inline constexpr int kNoNetwork = 100;

// Calls look() in another process, in a network of its own in which lo is up, and returns what it
// does: 0 to 99, or kNoNetwork.
template <typename Look>
int in_own_network(Look look) {
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) _exit(kNoNetwork);
    const UniqueFd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::memcpy(request.ifr_name, "lo", sizeof "lo");
    request.ifr_flags = IFF_UP;
    if (ioctl(any.get(), SIOCSIFFLAGS, &request) != 0) _exit(kNoNetwork);
    _exit(look());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Adds a route for a network such as "192.0.2.0" or "2001:db8::", by lo. `type` is RTN_LOCAL,
// RTN_UNICAST, ...
inline bool add_route(const char* network, unsigned prefix, unsigned char type) {
  const bool is_ipv6 = std::strchr(network, ':') != nullptr;
  std::string place(is_ipv6 ? 16 : 4, '\0');
  if (inet_pton(is_ipv6 ? AF_INET6 : AF_INET, network, place.data()) != 1) return false;
  const unsigned device = if_nametoindex("lo");
  const auto bytes_of = [](const auto& value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const auto attribute = [&](unsigned short attribute_type, const std::string& content) {
    return bytes_of(
               rtattr{static_cast<unsigned short>(RTA_LENGTH(content.size())), attribute_type}) +
           content;
  };
  rtmsg route{};
  route.rtm_family = is_ipv6 ? AF_INET6 : AF_INET;
  route.rtm_dst_len = static_cast<unsigned char>(prefix);
  route.rtm_table = type == RTN_LOCAL ? RT_TABLE_LOCAL : RT_TABLE_MAIN;
  route.rtm_protocol = RTPROT_BOOT;
  route.rtm_scope = type == RTN_LOCAL ? RT_SCOPE_HOST : RT_SCOPE_LINK;
  if (type == RTN_BLACKHOLE) route.rtm_scope = RT_SCOPE_UNIVERSE;
  route.rtm_type = type;
  const std::string content = bytes_of(route) + attribute(RTA_DST, place) +
                              (type == RTN_BLACKHOLE ? "" : attribute(RTA_OIF, bytes_of(device)));
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_LENGTH(content.size()));
  header.nlmsg_type = RTM_NEWROUTE;
  header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
  const std::string message = bytes_of(header) + content;
  const UniqueFd netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  char answer[1024];
  if (send(netlink.get(), message.data(), message.size(), 0) < 0 ||
      recv(netlink.get(), answer, sizeof answer, MSG_DONTWAIT) <
          static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr))))
    return false;
  nlmsgerr error;
  std::memcpy(&error, answer + NLMSG_HDRLEN, sizeof error);
  return error.error == 0;
}

}  // namespace brig
