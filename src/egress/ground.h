// For tests: a way out whose sockets are on this machine's loopback instead of a cell's, and what
// tools and hosts do with it.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <string_view>

#include "egress/way_out.h"

namespace brig::egress {

// A listener on 127.0.0.1, as the sockets of a cell are.
inline UniqueFd listener_on_loopback(int type = SOCK_STREAM) {
  UniqueFd socket(::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(bind(socket.get(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
  if (type == SOCK_STREAM) {
    EXPECT_EQ(listen(socket.get(), 64), 0);
  }
  return socket;
}

inline std::uint16_t port_of(const UniqueFd& socket) {
  sockaddr_in place{};
  socklen_t size = sizeof place;
  EXPECT_EQ(getsockname(socket.get(), reinterpret_cast<sockaddr*>(&place), &size), 0);
  return ntohs(place.sin_port);
}

// A blocking connection whose reads give up after a while.
inline UniqueFd connected_to(std::uint16_t port, int type = SOCK_STREAM) {
  UniqueFd socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(socket.get(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
  const timeval patience{5, 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return socket;
}

inline void send_text(const UniqueFd& socket, std::string_view text) {
  EXPECT_EQ(send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

inline std::string read_some(const UniqueFd& socket) {
  char bytes[4096];
  const ssize_t size = recv(socket.get(), bytes, sizeof bytes, 0);
  return size > 0 ? std::string(bytes, static_cast<std::size_t>(size)) : "";
}

inline std::string read_to_the_end(const UniqueFd& socket) {
  std::string all;
  for (std::string piece; !(piece = read_some(socket)).empty();) all += piece;
  return all;
}

inline UniqueFd accepted(const UniqueFd& listener) {
  pollfd waiting{listener.get(), POLLIN, 0};
  EXPECT_EQ(poll(&waiting, 1, 5000), 1) << "nobody has connected";
  UniqueFd socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const timeval patience{5, 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return socket;
}

// A way out whose proxy's port is a socket of this test, and a host that it may reach.
struct Ground {
  UniqueFd host = listener_on_loopback();
  std::uint16_t host_port = port_of(host);
  std::uint16_t proxy_port = 0, dns_port = 0;
  std::shared_ptr<const Settings> settings;
  std::unique_ptr<WayOut> way_out;

  explicit Ground(Limits limits = {}) {
    Policy policy;
    policy.network = Network::to({address()});
    policy.limits = limits;
    settings = std::make_shared<const Settings>(policy);
    begin();
  }

  // Makes the way out, or another one for the same host.
  void begin() {
    Sockets sockets;
    sockets.add(listener_on_loopback(SOCK_DGRAM));
    dns_port = port_of(sockets.dns);
    for (std::size_t i = 0; i < settings->ports.size(); ++i) sockets.add(listener_on_loopback());
    proxy_port = port_of(sockets.listeners[0]);
    way_out = std::make_unique<WayOut>(settings, std::move(sockets));
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(host_port); }
  UniqueFd ask(std::string_view text) const {
    UniqueFd tool = connected_to(proxy_port);
    send_text(tool, text);
    return tool;
  }
};

}  // namespace brig::egress
