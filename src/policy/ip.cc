#include "policy/ip.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

namespace brig {
namespace {

constexpr IpBytes kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr unsigned kMappedPrefix = 96;

}  // namespace

std::optional<IpBytes> parse_ip(std::string_view text) {
  // inet_pton() reads up to a NUL.
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string_view::npos)
    return std::nullopt;
  const std::string terminated(text);
  IpBytes address = kMapped;
  if (inet_pton(AF_INET, terminated.c_str(), &address[12]) == 1) return address;
  if (inet_pton(AF_INET6, terminated.c_str(), address.data()) == 1) return address;
  return std::nullopt;
}

std::string ip_text(const IpBytes& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (is_ipv4(address))
    inet_ntop(AF_INET, &address[12], text, sizeof text);
  else
    inet_ntop(AF_INET6, address.data(), text, sizeof text);
  return text;
}

bool is_ipv4(const IpBytes& address) {
  return std::equal(address.begin(), address.begin() + kMappedPrefix / 8, kMapped.begin());
}

IpBytes network_of(const IpBytes& address, unsigned prefix) {
  IpBytes network{};
  for (unsigned bit = 0; bit < std::min(prefix, 128u); ++bit) {
    const auto mask = static_cast<std::uint8_t>(0x80u >> bit % 8);
    network[bit / 8] = static_cast<std::uint8_t>(network[bit / 8] | (address[bit / 8] & mask));
  }
  return network;
}

bool is_in_network(const IpBytes& address, const IpBytes& network, unsigned prefix) {
  if (is_ipv4(address) && prefix < kMappedPrefix) return false;
  return network_of(address, prefix) == network_of(network, prefix);
}

}  // namespace brig
