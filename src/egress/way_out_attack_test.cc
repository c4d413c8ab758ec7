// What hostile tools and hosts try with a way out, and what the account must say of it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <random>
#include <thread>
#include <vector>

#include "egress/ground.h"

namespace brig::egress {
namespace {

std::string tunnel_to(const Ground& ground) {
  return "CONNECT " + ground.address() + " HTTP/1.1\r\nHost: " + ground.address() + "\r\n\r\n";
}

// Closing it sends a RST.
void reset(UniqueFd& socket) {
  const linger now{1, 0};
  EXPECT_EQ(setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
  socket.reset();
}

// 0: the end. Otherwise the errno of the first read that fails.
int how_it_ends(const UniqueFd& socket) {
  char bytes[4096];
  for (;;) {
    const ssize_t size = recv(socket.get(), bytes, sizeof bytes, 0);
    if (size <= 0) return size == 0 ? 0 : errno;
  }
}

TEST(WayOutUnderAttack, AHostThatResetsDoesNotLookAsIfItHadSentEverything) {
  Ground ground;
  const UniqueFd tool = ground.ask(tunnel_to(ground));
  UniqueFd host = accepted(ground.host);
  EXPECT_NE(read_some(tool), "");
  send_text(host, "half of a fi");
  EXPECT_EQ(read_some(tool), "half of a fi");
  reset(host);
  EXPECT_EQ(how_it_ends(tool), ECONNRESET);
}

TEST(WayOutUnderAttack, AToolThatResetsDoesNotLookAsIfItHadSentEverything) {
  Ground ground;
  UniqueFd tool = ground.ask(tunnel_to(ground));
  const UniqueFd host = accepted(ground.host);
  EXPECT_NE(read_some(tool), "");
  send_text(tool, "\x01half of a fi");
  EXPECT_EQ(read_some(host), "\x01half of a fi");
  reset(tool);
  EXPECT_EQ(how_it_ends(host), ECONNRESET);
}

// With no descriptor left, a connection is refused soon, and the account says why.
TEST(WayOutUnderAttack, WithoutADescriptorAConnectionIsRefusedAndDoesNotHang) {
  Ground ground;
  const UniqueFd before = connected_to(ground.proxy_port);  // The proxy runs.
  UniqueFd tool(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{5, 0};
  setsockopt(tool.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  send_text(before, "CONNECT x.example:443 HTTP/1.1\r\nHost: x.example:443\r\n\r\n");
  EXPECT_NE(read_some(before), "");
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  // Everything below the new limit is in use.
  std::vector<UniqueFd> all;
  const rlimit low{64, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) all.emplace_back(fd);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(ground.proxy_port);
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(tool.get(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
  EXPECT_EQ(how_it_ends(tool), ECONNRESET);
  all.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  const WayOut::Account account = ground.way_out->close();
  ASSERT_EQ(account.connections.size(), 2u);
  EXPECT_EQ(account.connections[1].verdict, Connection::Verdict::failed);
  EXPECT_NE(account.connections[1].reason.find("ulimit -n"), std::string::npos);
}

// A host whose backlog is full drops what asks for a connection.
TEST(WayOutUnderAttack, AConnectionThatTheEndCutsShortWasNotAllowed) {
  Ground ground;
  ASSERT_EQ(listen(ground.host.get(), 0), 0);
  const UniqueFd filling = connected_to(ground.host_port);
  const UniqueFd tool = ground.ask(tunnel_to(ground));
  pollfd answer{tool.get(), POLLIN, 0};
  EXPECT_EQ(poll(&answer, 1, 200), 0);
  const WayOut::Account account = ground.way_out->close();
  ASSERT_EQ(account.connections.size(), 1u);
  EXPECT_EQ(account.connections[0].verdict, Connection::Verdict::failed);
  EXPECT_EQ(account.connections[0].reason, "the call ended before there was a connection");
  EXPECT_EQ(account.connections[0].address, "");
}

// What comes from a copy of the process keeps a connection's file open, but not the connection.
TEST(WayOutUnderAttack, ACopyOfTheProcessHoldsNoConnectionOpen) {
  Ground ground;
  const UniqueFd tool = ground.ask(tunnel_to(ground));
  const UniqueFd host = accepted(ground.host);
  EXPECT_NE(read_some(tool), "");
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  const pid_t copy = fork();
  if (copy == 0) {
    char byte;
    close(gate[1]);
    _exit(static_cast<int>(read(gate[0], &byte, 1)));
  }
  close(gate[0]);
  ground.way_out->close();
  EXPECT_EQ(how_it_ends(host), 0);
  EXPECT_EQ(how_it_ends(tool), 0);
  close(gate[1]);
  EXPECT_EQ(waitpid(copy, nullptr, 0), copy);
}

TEST(WayOutUnderAttack, AToolWithOneConnectionAtATimeIsNeverAboveTheLimit) {
  Limits limits;
  limits.connections = 2;
  Ground ground(limits);
  constexpr int kTimes = 300;
  std::thread host([&] {
    for (int i = 0; i < kTimes; ++i) read_to_the_end(accepted(ground.host));
  });
  for (int i = 0; i < kTimes; ++i) EXPECT_NE(read_some(ground.ask(tunnel_to(ground))), "");
  host.join();
  const WayOut::Account account = ground.way_out->close();
  EXPECT_EQ(account.refused, 0u);
  EXPECT_EQ(account.total, static_cast<unsigned>(kTimes));
}

// They wait for one another, so that they hold up the connections of no other cell.
TEST(WayOutUnderAttack, EveryBusyConnectionOfACellHasItsTurn) {
  Ground ground;
  std::vector<UniqueFd> tools, hosts;
  for (int i = 0; i < 20; ++i) {
    tools.push_back(ground.ask(tunnel_to(ground)));
    hosts.push_back(accepted(ground.host));
    EXPECT_NE(read_some(tools.back()), "");
  }
  const std::string much(1'000'000, 'x');
  std::vector<std::thread> senders;
  for (const UniqueFd& host : hosts)
    senders.emplace_back([&] {
      send_text(host, much);
      shutdown(host.get(), SHUT_WR);
    });
  for (const UniqueFd& tool : tools) EXPECT_EQ(read_to_the_end(tool).size(), much.size());
  for (std::thread& sender : senders) sender.join();
}

// Everything at once, in whatever order: run it with a sanitizer.
TEST(WayOutUnderAttack, SurvivesToolsThatBreakOffAtEveryPoint) {
  std::atomic<bool> over{false};
  Ground ground;
  std::thread host([&] {
    std::minstd_rand random(7);
    while (!over) {
      pollfd waiting{ground.host.get(), POLLIN, 0};
      if (poll(&waiting, 1, 20) != 1) continue;
      UniqueFd socket(accept4(ground.host.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) continue;
      std::string bytes(random() % 200'000, 'x');
      (void)!send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (random() % 2) reset(socket);
    }
  });
  const std::vector<std::string> beginnings = {
      tunnel_to(ground) + "\x01xyz",
      tunnel_to(ground) + "GET / HTTP/1.1\r\nHost: x.example\r\n\r\nmore",
      tunnel_to(ground) + std::string("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", 10),
      "GET http://" + ground.address() + "/ HTTP/1.1\r\nHost: " + ground.address() +
          "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nxyz",
      "POST http://" + ground.address() + "/ HTTP/1.1\r\nHost: " + ground.address() +
          "\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
      std::string("\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01", 11) +
          static_cast<char>(ground.host_port >> 8) + static_cast<char>(ground.host_port) + "\x01",
      "CONNECT files.example.org:443 HTTP/1.1\r\n\r\n",
      "nonsense",
  };
  for (unsigned round = 0; round < 3000; ++round) {
    std::minstd_rand random(round + 1);
    const std::string& text = beginnings[random() % beginnings.size()];
    UniqueFd tool = connected_to(ground.proxy_port);
    const std::size_t size = random() % (text.size() + 1);
    (void)!send(tool.get(), text.data(), size, MSG_NOSIGNAL);
    if (random() % 3 == 0) shutdown(tool.get(), SHUT_WR);
    if (random() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    if (random() % 2) reset(tool);
    if (round % 100 == 99) {
      ground.way_out->close();
      ground.begin();
    }
  }
  const WayOut::Account account = ground.way_out->close();
  EXPECT_LE(account.connections.size(), WayOut::kMostConnections);
  over = true;
  host.join();
}

}  // namespace
}  // namespace brig::egress
