#include "egress/address.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/fd.h"

namespace brig::egress {
namespace {

constexpr const char* kSelf = "this machine";
constexpr const char* kPrivate = "a private network";
constexpr const char* kCloud = "where a cloud keeps its metadata";
constexpr const char* kReserved = "reserved";
constexpr const char* kDocumentation = "documentation";
constexpr const char* kMulticast = "multicast";

struct Range4 {
  std::uint32_t network;
  unsigned prefix;
  const char* use;
};
// The first that has the address counts.
constexpr Range4 kRanges4[] = {
    {0x00000000, 8, kSelf},
    {0x0A000000, 8, kPrivate},
    {0x646464C8, 32, kCloud},  // 100.100.100.200
    {0x64400000, 10, "the inside of a provider's network"},
    {0x7F000000, 8, kSelf},
    {0xA83F8110, 32, kCloud},  // 168.63.129.16
    {0xA9FE0000, 16, "link-local, where clouds keep their metadata"},
    {0xAC100000, 12, kPrivate},
    {0xC0000000, 24, "reserved for protocols"},
    {0xC0000200, 24, kDocumentation},
    {0xC0586300, 24, "a relay of 6to4"},
    {0xC0A80000, 16, kPrivate},
    {0xC6120000, 15, "for tests of networks; brig uses it for names in cells"},
    {0xC6336400, 24, kDocumentation},
    {0xCB007100, 24, kDocumentation},
    {0xE0000000, 4, kMulticast},
    {0xFFFFFFFF, 32, "broadcast"},
    {0xF0000000, 4, kReserved},
};

struct Range6 {
  const char* network;
  unsigned prefix;
  const char* use;  // Null: public.
};
// The first that has the address counts; what none has is public.
constexpr Range6 kRanges6[] = {
    {"64:ff9b::", 96, nullptr},
    {"64:ff9b:1::", 48, kPrivate},
    {"fc00::", 7, kPrivate},
    {"fe80::", 10, "link-local"},
    {"fec0::", 10, kPrivate},
    {"ff00::", 8, kMulticast},
    {"2001::", 32, nullptr},  // Teredo
    {"2001::", 23, "reserved for protocols"},
    {"2001:db8::", 32, kDocumentation},
    {"3fff::", 20, kDocumentation},
    {"2000::", 3, nullptr},
    {"::", 0, kReserved},
};

const char* use_of_ipv4(std::uint32_t address) {
  for (const Range4& each : kRanges4)
    if ((address ^ each.network) >> (32 - each.prefix) == 0) return each.use;
  return nullptr;
}

// A request for one route, as the kernel reads it.
struct RouteRequest {
  nlmsghdr header{};
  rtmsg route{};
  rtattr attribute{};
  IpBytes address{};
};
static_assert(sizeof(RouteRequest) ==
              sizeof(nlmsghdr) + sizeof(rtmsg) + sizeof(rtattr) + sizeof(IpBytes));

RouteRequest route_request(const Address& address) {
  const std::size_t size = address.is_ipv4() ? 4 : 16;
  RouteRequest request;
  request.header.nlmsg_type = RTM_GETROUTE;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.header.nlmsg_seq = 1;
  request.header.nlmsg_len =
      static_cast<std::uint32_t>(sizeof request - sizeof request.address + size);
  request.route.rtm_family = address.is_ipv4() ? AF_INET : AF_INET6;
  request.route.rtm_dst_len = static_cast<std::uint8_t>(size * 8);
  request.attribute.rta_type = RTA_DST;
  request.attribute.rta_len = static_cast<std::uint16_t>(sizeof(rtattr) + size);
  std::copy(address.bytes.end() - static_cast<std::ptrdiff_t>(size), address.bytes.end(),
            request.address.begin());
  return request;
}

// What the kernel says of an address: the type of its route, or RTN_UNSPEC if it doesn't tell.
unsigned route_type(const Address& address) {
  const UniqueFd netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  RouteRequest request = route_request(address);
  if (!netlink || sendto(netlink.get(), &request, request.header.nlmsg_len, 0,
                         reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) < 0)
    return RTN_UNSPEC;
  alignas(nlmsghdr) std::array<char, 8192> bytes;
  sockaddr_nl sender{};
  socklen_t sender_size = sizeof sender;
  // The kernel has answered before sendto() returns.
  const ssize_t size = recvfrom(netlink.get(), bytes.data(), bytes.size(), MSG_DONTWAIT,
                                reinterpret_cast<sockaddr*>(&sender), &sender_size);
  if (size < static_cast<ssize_t>(sizeof(nlmsghdr)) || sender.nl_pid != 0) return RTN_UNSPEC;
  nlmsghdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.nlmsg_len > static_cast<std::size_t>(size)) return RTN_UNSPEC;
  const char* const content = bytes.data() + NLMSG_HDRLEN;
  if (header.nlmsg_type == NLMSG_ERROR && header.nlmsg_len >= NLMSG_LENGTH(sizeof(nlmsgerr))) {
    nlmsgerr error;
    std::memcpy(&error, content, sizeof error);
    return error.error == -ENETUNREACH || error.error == -EHOSTUNREACH ? RTN_UNREACHABLE
                                                                       : RTN_UNSPEC;
  }
  if (header.nlmsg_type != RTM_NEWROUTE || header.nlmsg_len < NLMSG_LENGTH(sizeof(rtmsg)))
    return RTN_UNSPEC;
  rtmsg route;
  std::memcpy(&route, content, sizeof route);
  return route.rtm_type;
}

// Addresses that mean the machine itself, or more than one, in every network.
bool never_leaves(const Address& address) {
  if (address.is_ipv4()) {
    const char* const use = use_of_ipv4(address.ipv4());
    return use == kSelf || use == kMulticast || address.ipv4() == 0xFFFFFFFF;
  }
  return address.is_in({}, 127) || address.bytes[0] == 0xff;
}

}  // namespace

Address Address::v4(std::uint32_t host_order) {
  Address address;
  address.bytes[10] = address.bytes[11] = 0xff;
  for (unsigned i = 0; i < 4; ++i)
    address.bytes[12 + i] = static_cast<std::uint8_t>(host_order >> (24 - 8 * i));
  return address;
}

std::optional<Address> Address::parse(std::string_view text) {
  const bool brackets = text.size() > 2 && text.front() == '[' && text.back() == ']';
  if (brackets) text = text.substr(1, text.size() - 2);
  if (brackets && text.find(':') == std::string_view::npos) return std::nullopt;
  const auto bytes = parse_ip(text);
  if (!bytes) return std::nullopt;
  return Address{*bytes};
}

std::optional<Address> Address::of(const sockaddr_storage& socket_address) {
  if (socket_address.ss_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, &socket_address, sizeof in);
    return v4(ntohl(in.sin_addr.s_addr));
  }
  if (socket_address.ss_family != AF_INET6) return std::nullopt;
  sockaddr_in6 in;
  std::memcpy(&in, &socket_address, sizeof in);
  Address address;
  std::memcpy(address.bytes.data(), &in.sin6_addr, address.bytes.size());
  return address;
}

bool Address::is_ipv4() const { return brig::is_ipv4(bytes); }

std::uint32_t Address::ipv4() const {
  std::uint32_t value = 0;
  for (unsigned i = 12; i < 16; ++i) value = value << 8 | bytes[i];
  return value;
}

bool Address::is_in(const IpBytes& network, unsigned prefix) const {
  return is_in_network(bytes, network, prefix);
}

socklen_t Address::to_socket_address(std::uint16_t port, sockaddr_storage& result) const {
  result = {};
  if (is_ipv4()) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    in.sin_addr.s_addr = htonl(ipv4());
    std::memcpy(&result, &in, sizeof in);
    return sizeof in;
  }
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(port);
  std::memcpy(&in.sin6_addr, bytes.data(), bytes.size());
  std::memcpy(&result, &in, sizeof in);
  return sizeof in;
}

std::string Address::text() const { return ip_text(bytes); }

std::vector<Address> embedded_ipv4(const Address& address) {
  const auto at = [&](unsigned first, std::uint8_t flip = 0) {
    std::uint32_t value = 0;
    for (unsigned i = first; i < first + 4; ++i)
      value = value << 8 | static_cast<std::uint8_t>(address.bytes[i] ^ flip);
    return Address::v4(value);
  };
  const auto in = [&](const char* network, unsigned prefix) {
    return address.is_in(*parse_ip(network), prefix);
  };
  if (address.is_ipv4()) return {};
  if (in("::", 96) || in("::ffff:0:0:0", 96) || in("64:ff9b::", 96)) return {at(12)};
  if (in("2002::", 16)) return {at(2)};
  // The client's is stored with all bits flipped.
  if (in("2001::", 32)) return {at(4), at(12, 0xff)};
  return {};
}

const char* special_use(const Address& address) {
  if (address.is_ipv4()) return use_of_ipv4(address.ipv4());
  for (const Address& each : embedded_ipv4(address))
    if (const char* const use = use_of_ipv4(each.ipv4())) return use;
  for (const Range6& each : kRanges6)
    if (address.is_in(*parse_ip(each.network), each.prefix)) return each.use;
  return nullptr;
}

bool is_of_this_machine(const Address& address) {
  if (never_leaves(address)) return true;
  switch (route_type(address)) {
    case RTN_UNICAST:
    case RTN_UNREACHABLE:
    case RTN_BLACKHOLE:
    case RTN_PROHIBIT: break;
    default: return true;
  }
  const std::vector<Address> embedded = embedded_ipv4(address);
  return std::any_of(embedded.begin(), embedded.end(), is_of_this_machine);
}

}  // namespace brig::egress
