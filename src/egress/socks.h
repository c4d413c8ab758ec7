// SOCKS5 (RFC 1928), as far as a tool needs it: CONNECT, without authentication.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "egress/http_head.h"

namespace brig::egress {

// The version and the methods that a client offers.
struct SocksGreeting {
  enum class Kind { more, greeting, refused } kind = Kind::more;
  std::size_t size = 0;
};
SocksGreeting read_socks_greeting(std::string_view bytes);
inline constexpr std::string_view kSocksWelcome{"\x05\x00", 2}, kSocksNoMethod{"\x05\xff", 2};

struct SocksRequest {
  enum class Kind { more, request, refused } kind = Kind::more;
  Target target;
  std::size_t size = 0;
  std::uint8_t code = 0;  // If refused: what to answer (7 command, 8 address type, 1 else).
};
SocksRequest read_socks_request(std::string_view bytes);
// 0 succeeded, 1 failed, 2 not allowed, 3 network unreachable, 4 host unreachable, 5 refused.
std::string socks_answer(std::uint8_t code);

}  // namespace brig::egress
