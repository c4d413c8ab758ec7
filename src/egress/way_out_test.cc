#include "egress/way_out.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <filesystem>
#include <thread>

namespace brig::egress {
namespace {

// A listener on 127.0.0.1, as the sockets of a cell are.
UniqueFd listener_on_loopback(int type = SOCK_STREAM) {
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

std::uint16_t port_of(const UniqueFd& socket) {
  sockaddr_in place{};
  socklen_t size = sizeof place;
  EXPECT_EQ(getsockname(socket.get(), reinterpret_cast<sockaddr*>(&place), &size), 0);
  return ntohs(place.sin_port);
}

// A blocking connection whose reads give up after a while.
UniqueFd connected_to(std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(port);
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(socket.get(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
  const timeval patience{5, 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return socket;
}

void send_text(const UniqueFd& socket, std::string_view text) {
  EXPECT_EQ(send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

std::string read_some(const UniqueFd& socket) {
  char bytes[4096];
  const ssize_t size = recv(socket.get(), bytes, sizeof bytes, 0);
  return size > 0 ? std::string(bytes, static_cast<std::size_t>(size)) : "";
}

std::string read_to_the_end(const UniqueFd& socket) {
  std::string all;
  for (std::string piece; !(piece = read_some(socket)).empty();) all += piece;
  return all;
}

UniqueFd accepted(const UniqueFd& listener) {
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
  std::uint16_t proxy_port = 0;
  std::shared_ptr<const Settings> settings;
  std::unique_ptr<WayOut> way_out;

  explicit Ground(Limits limits = {}) {
    Policy policy;
    policy.network = Network::to({address()});
    policy.limits = limits;
    settings = std::make_shared<const Settings>(policy);
    Sockets sockets;
    sockets.add(listener_on_loopback(SOCK_DGRAM));
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

TEST(WayOut, ATunnelCarriesBytesBothWays) {
  Ground ground;
  const UniqueFd tool = ground.ask("CONNECT " + ground.address() + " HTTP/1.1\r\nHost: " +
                                   ground.address() + "\r\n\r\n");
  const UniqueFd host = accepted(ground.host);
  EXPECT_EQ(read_some(tool), "HTTP/1.1 200 Connection established\r\n\r\n");
  send_text(tool, "\x01ping");
  EXPECT_EQ(read_some(host), "\x01ping");
  send_text(host, "pong");
  EXPECT_EQ(read_some(tool), "pong");
  const WayOut::Account account = ground.way_out->close();
  ASSERT_EQ(account.connections.size(), 1u);
  EXPECT_EQ(account.connections[0].verdict, Connection::Verdict::allowed);
  EXPECT_EQ(account.connections[0].rule, ground.address());
  EXPECT_EQ(account.connections[0].sent, 5u);
  EXPECT_EQ(account.connections[0].received, 4u);
  EXPECT_EQ(account.connections[0].way, "connect");
  EXPECT_EQ(read_to_the_end(tool), "");
  EXPECT_EQ(read_to_the_end(host), "");
}

TEST(WayOut, AHostWithoutARuleIsRefusedInWords) {
  Ground ground;
  const UniqueFd tool =
      ground.ask("CONNECT files.example.org:443 HTTP/1.1\r\nHost: files.example.org:443\r\n\r\n");
  const std::string answer = read_to_the_end(tool);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 403 ")) << answer;
  EXPECT_NE(answer.find("network.allow = [\"files.example.org:443\"]"), std::string::npos)
      << answer;
  const WayOut::Account account = ground.way_out->close();
  ASSERT_EQ(account.connections.size(), 1u);
  EXPECT_EQ(account.connections[0].verdict, Connection::Verdict::denied);
  EXPECT_EQ(account.connections[0].host, "files.example.org");
  EXPECT_EQ(account.connections[0].port, 443);
}

TEST(WayOut, APlainRequestIsSentOnInOriginForm) {
  Ground ground;
  const UniqueFd tool = ground.ask("GET http://" + ground.address() + "/x?q=1 HTTP/1.1\r\nHost: " +
                                   ground.address() + "\r\nProxy-Connection: keep-alive\r\n\r\n");
  const UniqueFd host = accepted(ground.host);
  const std::string request = read_some(host);
  EXPECT_TRUE(request.starts_with("GET /x?q=1 HTTP/1.1\r\n")) << request;
  EXPECT_EQ(request.find("Proxy-Connection"), std::string::npos) << request;
  send_text(host, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  shutdown(host.get(), SHUT_WR);
  EXPECT_NE(read_to_the_end(tool).find("\r\n\r\nok"), std::string::npos);
}

TEST(WayOut, ASecondRequestOnTheSameConnectionGoesNowhere) {
  Ground ground;
  const std::string get = "GET http://" + ground.address() + "/1 HTTP/1.1\r\nHost: " +
                          ground.address() + "\r\n\r\n";
  const UniqueFd tool = ground.ask(get + "GET http://other.example/ HTTP/1.1\r\n\r\n");
  const UniqueFd host = accepted(ground.host);
  const std::string request = read_some(host);
  EXPECT_TRUE(request.starts_with("GET /1 "));
  EXPECT_EQ(request.find("other.example"), std::string::npos) << request;
}

TEST(WayOut, AConnectionAboveTheLimitIsRefusedAndCounted) {
  Limits limits;
  limits.connections = 2;
  Ground ground(limits);
  const std::string connect =
      "CONNECT " + ground.address() + " HTTP/1.1\r\nHost: " + ground.address() + "\r\n\r\n";
  const UniqueFd first = ground.ask(connect), second = ground.ask(connect);
  EXPECT_NE(read_some(first), "");
  EXPECT_NE(read_some(second), "");
  const UniqueFd third = connected_to(ground.proxy_port);
  EXPECT_EQ(read_some(third), "");
  const WayOut::Account account = ground.way_out->close();
  EXPECT_EQ(account.refused, 1u);
  EXPECT_EQ(account.connections.size(), 2u);
}

TEST(WayOut, NothingIsLeftOfAThousandWithOpenConnections) {
  // The first one makes the thread, which stays as long as anybody needs it.
  const Ground first;
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = descriptors();
  for (int i = 0; i < 1000; ++i) {
    Ground ground;
    const UniqueFd tool = ground.ask("CONNECT " + ground.address() + " HTTP/1.1\r\nHost: " +
                                     ground.address() + "\r\n\r\n");
    if (i % 2) ground.way_out->close();
  }
  for (int i = 0; i < 500 && descriptors() != before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(descriptors(), before);
}

}  // namespace
}  // namespace brig::egress
