// Internet addresses as 16 bytes: IPv6, or IPv4 as ::ffff:a.b.c.d. These functions work on text and
// bytes alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace brig {

using IpBytes = std::array<std::uint8_t, 16>;

// Four decimal numbers without leading zeros, or IPv6 as in RFC 4291, without brackets and without
// a zone. Nothing else: "127.1" and "0x7f000001" are nullopt.
std::optional<IpBytes> parse_ip(std::string_view text);

// "192.0.2.7", "2001:db8::1"
std::string ip_text(const IpBytes& address);

bool is_ipv4(const IpBytes& address);

// The address with every bit after the first `prefix` cleared.
IpBytes network_of(const IpBytes& address, unsigned prefix);

// An IPv4 address is in IPv4 networks alone: ::/0 means every IPv6 address.
bool is_in_network(const IpBytes& address, const IpBytes& network, unsigned prefix);

}  // namespace brig
