// Address: an IPv4 or IPv6 address, and what kind of place it is.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/ip.h"

namespace brig::egress {

struct Address {
  // IPv6, or IPv4 as ::ffff:a.b.c.d.
  IpBytes bytes{};

  static Address v4(std::uint32_t host_order);
  // Four decimal numbers without leading zeros, or IPv6 as in RFC 4291, which may have brackets,
  // and has no zone. Nothing else: "127.1" and "0x7f000001" are nullopt.
  static std::optional<Address> parse(std::string_view text);
  // A v4-mapped address is the IPv4 address. Nullopt for other families.
  static std::optional<Address> of(const sockaddr_storage& socket_address);

  bool is_ipv4() const;
  std::uint32_t ipv4() const;  // In host order.
  // An IPv4 address is in IPv4 networks alone: ::/0 means every IPv6 address.
  bool is_in(const IpBytes& network, unsigned prefix) const;
  // AF_INET for IPv4. Returns the size.
  socklen_t to_socket_address(std::uint16_t port, sockaddr_storage& result) const;
  std::string text() const;  // "192.0.2.7", "2001:db8::1"

  bool operator==(const Address&) const = default;
};

// The IPv4 addresses that an IPv6 address has inside, by which something on the way may translate
// or tunnel it: IPv4-compatible, IPv4-translated, NAT64, 6to4, Teredo (two: server and client).
// Empty for an IPv4 address, v4-mapped ones included.
std::vector<Address> embedded_ipv4(const Address& address);

// Why no name may lead to this address unless a rule lists it: "a private network", "this machine",
// "link-local, where clouds keep their metadata", ... Null for an address of the public internet.
// An address that embeds an IPv4 address (v4-mapped, 64:ff9b::/96, 6to4, Teredo) is judged by that,
// too. egress.md lists the ranges (notes, section 2).
const char* special_use(const Address& address);

// Whether packets to this address, or to one that it embeds, would end at this machine: the kernel
// is asked for the route, in the network namespace of the caller. Also true for broadcast,
// multicast and anycast, for the addresses that always mean the machine itself, and if the kernel
// can't be asked. False if there is no route.
bool is_of_this_machine(const Address& address);

}  // namespace brig::egress
