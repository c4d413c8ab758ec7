// Where the server listens: an address and a port, or a Unix socket.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"

namespace brig::serve {

// "127.0.0.1:7070", "[::1]:7070", ":7070" is refused (which address?), "unix:/run/brig.sock".
struct ListenAddress {
  // Numeric.
  std::string host;
  std::uint16_t port = 0;
  // Or this.
  std::string unix_path;

  // Loopback or a Unix socket.
  bool is_local() const;
  std::string url(bool tls) const;
};
// Both functions throw Error.
ListenAddress parse_listen_address(const std::string& text);
// Replaces a Unix socket that no server listens on any more; the new one has mode 0600. Sets the
// port in `address`.
UniqueFd listen_on(ListenAddress& address);
// The address that a socket from a service manager listens on.
ListenAddress address_of(const UniqueFd& socket);

}  // namespace brig::serve
