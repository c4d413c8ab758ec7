// Address: an IPv4 or IPv6 address, and what kind of place it is.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace brig::egress {

struct Address {
  // IPv6, or IPv4 as ::ffff:a.b.c.d.
  std::array<std::uint8_t, 16> bytes{};

  static Address v4(std::uint32_t host_order);
  // Four decimal numbers without leading zeros, or IPv6 as in RFC 4291, with or without brackets,
  // and without a zone. Nothing else: "127.1" and "0x7f000001" are nullopt.
  static std::optional<Address> parse(std::string_view text);
  // A v4-mapped address is the IPv4 address. Nullopt for other families.
  static std::optional<Address> of(const sockaddr_storage& socket_address);

  bool is_ipv4() const;
  std::uint32_t ipv4() const;  // In host order.
  bool is_in(const std::array<std::uint8_t, 16>& network, unsigned prefix) const;
  // AF_INET for IPv4. Returns the size.
  socklen_t to_socket_address(std::uint16_t port, sockaddr_storage& result) const;
  std::string text() const;  // "192.0.2.7", "2001:db8::1"

  bool operator==(const Address&) const = default;
};

// Why no name may lead to this address unless a rule lists it: "a private network", "this machine",
// "link-local, where clouds keep their metadata", ... Null for an address of the public internet.
// An address that embeds an IPv4 address (v4-mapped, 64:ff9b::/96, 6to4, Teredo) is judged by that,
// too. egress.md lists the ranges (notes, section 2).
const char* special_use(const Address& address);

// Whether packets to this address would end at this machine: the kernel is asked for the route, in
// the network namespace of the caller. Also true for broadcast, multicast and anycast, and if the
// kernel can't be asked.
bool is_of_this_machine(const Address& address);

}  // namespace brig::egress
