#include "egress/socks.h"

#include <algorithm>
#include <optional>

#include "policy/host_rule.h"

namespace brig::egress {
namespace {

constexpr std::size_t kVersion = 5, kNoAuthentication = 0, kConnect = 1;
constexpr std::size_t kIpv4 = 1, kName = 3, kIpv6 = 4;
constexpr std::uint8_t kFailed = 1, kUnknownCommand = 7, kUnknownType = 8;
constexpr std::size_t kRequestHeader = 4;

std::size_t byte_of(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

SocksRequest refused_socks(std::uint8_t code) {
  SocksRequest request;
  request.kind = SocksRequest::Kind::refused;
  request.code = code;
  return request;
}

// False: no name and no address.
bool read_host(std::size_t type, std::string_view host, Target& target) {
  if (type == kName) {
    if (const auto name = normal_host_name(host))
      target.name = *name;
    else
      target.address = Address::parse(host);
    return target.address || !target.name.empty();
  }
  Address address = Address::v4(0);
  auto* const end = address.bytes.end();
  std::copy(host.begin(), host.end(), end - static_cast<std::ptrdiff_t>(host.size()));
  target.address = address;
  return true;
}

}  // namespace

SocksGreeting read_socks_greeting(std::string_view bytes) {
  SocksGreeting greeting;
  if (bytes.empty()) return greeting;
  greeting.kind = SocksGreeting::Kind::refused;
  if (byte_of(bytes, 0) != kVersion) return greeting;
  greeting.kind = SocksGreeting::Kind::more;
  if (bytes.size() < 2) return greeting;
  const std::size_t size = 2 + byte_of(bytes, 1);
  if (size > 2 && bytes.size() < size) return greeting;
  const std::string_view methods = bytes.substr(2, size - 2);
  const bool has = methods.find(static_cast<char>(kNoAuthentication)) != std::string_view::npos;
  greeting.kind = has ? SocksGreeting::Kind::greeting : SocksGreeting::Kind::refused;
  greeting.size = has ? size : 0;
  return greeting;
}

SocksRequest read_socks_request(std::string_view bytes) {
  if (!bytes.empty() && byte_of(bytes, 0) != kVersion) return refused_socks(kFailed);
  if (bytes.size() > 1 && byte_of(bytes, 1) != kConnect) return refused_socks(kUnknownCommand);
  if (bytes.size() > 2 && byte_of(bytes, 2) != 0) return refused_socks(kFailed);
  if (bytes.size() < kRequestHeader) return {};
  const std::size_t type = byte_of(bytes, 3);
  if (type != kIpv4 && type != kName && type != kIpv6) return refused_socks(kUnknownType);
  std::size_t begin = kRequestHeader, size = type == kIpv4 ? 4 : 16;
  if (type == kName) {
    if (bytes.size() == begin) return {};
    size = byte_of(bytes, begin++);
    if (size == 0) return refused_socks(kFailed);
  }
  if (bytes.size() < begin + size + 2) return {};
  SocksRequest request;
  if (!read_host(type, bytes.substr(begin, size), request.target)) return refused_socks(kFailed);
  request.target.port = static_cast<std::uint16_t>(byte_of(bytes, begin + size) << 8 |
                                                   byte_of(bytes, begin + size + 1));
  if (request.target.port == 0) return refused_socks(kFailed);
  request.kind = SocksRequest::Kind::request;
  request.size = begin + size + 2;
  return request;
}

std::string socks_answer(std::uint8_t code) {
  std::string answer(10, '\0');
  answer[0] = static_cast<char>(kVersion);
  answer[1] = static_cast<char>(code);
  answer[3] = static_cast<char>(kIpv4);
  return answer;
}

}  // namespace brig::egress
