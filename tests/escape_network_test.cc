// Escapes through sockets, and cells that try to meet (groups H and I).
#include <future>
#include <optional>

#include "escape.h"

namespace {

using namespace escape;
using brig::Network;
using brig::Outcome;
using brig::Policy;
using brig::Report;

Policy with(Network network) {
  Policy result = policy();
  result.network = network;
  return result;
}

TEST(Escape, HasNoAddressFamilyButUnix) {
  const Report report = attack({"network", "families"});
  expect_refused(
      report, {"socket family 2 type 1", "socket family 10 type 2", "socket family 16 type 3",
               "socket family 17 type 3", "socket family 40 type 1", "socket family 38 type 5",
               "AF_INET ICMP", "AF_INET with a dirty upper half", "MPTCP", "socketpair AF_UNIX"});
  EXPECT_GT(violations(report, "network", "socket(AF_INET)"), 0u);
}

TEST(Escape, CannotReachTheHostsNetwork) {
  const Witness tcp = Witness::tcp(), udp = Witness::udp();
  for (const int port : {tcp.port(), udp.port()})
    expect_refused(attack({"network", "everywhere", std::to_string(port)}),
                   {"tcp 127.0.0.1", "udp 127.0.0.1", "tcp 169.254.169.254", "tcp [::1]",
                    "tcp [::ffff:127.0.0.1]", "vsock 2"});
  EXPECT_FALSE(tcp.reached());
  EXPECT_FALSE(udp.reached());
}

TEST(Escape, LoopbackIsTheCellsOwn) {
  const Witness tcp = Witness::tcp(), udp = Witness::udp();
  for (const int port : {tcp.port(), udp.port()})
    expect_refused(attack({"network", "loopback", std::to_string(port)}, with(Network::loopback)),
                   {"connect to oneself", "the host's listener", "the host's listener by 0.0.0.0",
                    "tcp 1.1.1.1", "raw socket", "packet socket", "vsock 2",
                    "netlink refuses a new interface"});
  EXPECT_FALSE(tcp.reached());
  EXPECT_FALSE(udp.reached());
}

// Allowed is an address that is not there: everything else must be as without a network.
Network a_way_out() { return Network::to({"192.0.2.1:443"}); }

TEST(Escape, AWayOutLeadsOnlyToWhatIsListed) {
  const Witness tcp = Witness::tcp(), udp = Witness::udp();
  for (const int port : {tcp.port(), udp.port()}) {
    const Report report = attack({"network", "loopback", std::to_string(port)}, with(a_way_out()));
    // (Not those to port 80 of other addresses: they end at the proxy, which refuses them there.)
    for (const char* line :
         {"connect to oneself: works", "the host's listener: refused",
          "the host's listener by 0.0.0.0: refused", "raw socket: refused",
          "packet socket: refused", "vsock 2: refused", "netlink refuses a new interface: holds"})
      EXPECT_NE(report.out.bytes.find(line), std::string::npos) << line << '\n' << describe(report);
    EXPECT_GT(report.connections_total, 0u);
    for (const brig::Connection& each : report.connections)
      EXPECT_EQ(each.verdict, brig::Connection::Verdict::denied) << each.host;
  }
  EXPECT_FALSE(tcp.reached());
  EXPECT_FALSE(udp.reached());
}

TEST(Escape, CannotReachUnixSocketsOfTheHost) {
  HostDirectory host;
  const std::string tag = std::to_string(getpid());
  const Witness stream = Witness::local(host / "stream", SOCK_STREAM),
                datagram = Witness::local(host / "datagram", SOCK_DGRAM);
  const Witness abstract = Witness::local("@brig-escape-" + tag, SOCK_STREAM),
                abstract_datagram = Witness::local("@brig-escape-d-" + tag, SOCK_DGRAM);
  for (const Network& network :
       {Network(), Network(Network::loopback), a_way_out(), Network(Network::host)}) {
    SCOPED_TRACE(to_string(network.mode));
    if (network == Network::host) {
      // By name only; what keeps the abstract ones apart then is Landlock's scope.
      const Report probe = attack({"ending", "exit", "0"}, with(network));
      if (!enforces(probe, "landlock_scope")) continue;
    }
    const Report report =
        attack({"network", "unix", host / "stream", host / "datagram",
                "/proc/self/root" + (host / "stream"), "@brig-escape-" + tag,
                "@brig-escape-d-" + tag, "/run/docker.sock", "/run/dbus/system_bus_socket"},
               with(network));
    expect_refused(report, {"stream " + (host / "stream"), "datagram " + (host / "datagram"),
                            "stream @brig-escape-" + tag, "datagram @brig-escape-d-" + tag});
  }
  EXPECT_FALSE(stream.reached());
  EXPECT_FALSE(datagram.reached());
  EXPECT_FALSE(abstract.reached());
  EXPECT_FALSE(abstract_datagram.reached());
}

// One cell opens every door it has; another, at the same time, tries them.
void expect_strangers(const Policy& policy, bool same_runner) {
  const std::string mode = policy.network == Network::none ? "none" : "loopback";
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  brig::Runner runner(policy, {.ready = 2});
  std::promise<void> offered;
  std::string text;
  bool told = false;
  brig::Command offer = guest({"meet", "offer", mode});
  offer.stdin_fd = ends[0];
  auto pending = runner.run_async(offer, [&](brig::Stream, std::string_view piece) {
    text += piece;
    if (!told && text.find("offered\n") != std::string::npos) told = true, offered.set_value();
  });
  const bool open =
      offered.get_future().wait_for(std::chrono::seconds(15)) == std::future_status::ready;
  EXPECT_TRUE(open) << text;
  std::optional<brig::Runner> other;
  if (!same_runner) other.emplace(policy);
  const Report report = (same_runner ? runner : *other).run(guest({"meet", "seek", mode}));
  close(ends[1]);
  const Report first = pending.report.get();
  close(ends[0]);
  EXPECT_EQ(first.outcome, Outcome::ok) << describe(first);
  std::vector<std::string> doors = {"abstract socket",     "/proc/net/unix does not show it",
                                    "shared memory",       "semaphore",
                                    "message queue",       "POSIX queue",
                                    "/dev/shm/brig-meet",  "/tmp/brig-meet",
                                    "/workspace/brig-meet"};
  if (mode == "loopback") doors.push_back("tcp listener");
  expect_refused(report, doors);
}

TEST(Escape, TwoCellsOfOneRunnerCannotMeet) { expect_strangers(policy(), true); }
TEST(Escape, TwoCellsOfTwoRunnersCannotMeet) { expect_strangers(policy(), false); }
TEST(Escape, TwoCellsWithLoopbackCannotMeet) { expect_strangers(with(Network::loopback), true); }

TEST(Escape, TwoCellsWithAWayOutCannotMeet) { expect_strangers(with(a_way_out()), true); }

TEST(Escape, ACallFindsNoDoorOfTheCallBefore) {
  brig::Runner runner(policy(), {.ready = 1});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(runner.run(guest({"meet", "offer", "none"})).ok());
    expect_refused(runner.run(guest({"meet", "seek", "none"})),
                   {"abstract socket", "shared memory", "POSIX queue", "/dev/shm/brig-meet"});
  }
}

std::string without_pid(std::string text) {
  const std::size_t at = text.find(" pid "), end = text.find(' ', at + 5);
  return at == std::string::npos ? text : text.erase(at, end - at);
}

TEST(Escape, WhatACallChangedOfItselfIsAsBeforeInTheNext) {
  brig::Runner runner(policy(), {.ready = 1});
  const Report before = runner.run(guest({"state", "show"}));
  ASSERT_EQ(before.outcome, Outcome::ok) << describe(before);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(runner.run(guest({"state", "change"})).ok());
    const Report after = runner.run(guest({"state", "show"}));
    // In a room that is kept the numbers of processes count on.
    EXPECT_EQ(without_pid(after.out.bytes), without_pid(before.out.bytes));
  }
}

}  // namespace
