#include "egress/way_out.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "egress/ground.h"

namespace brig::egress {
namespace {

TEST(WayOut, ATunnelCarriesBytesBothWays) {
  Ground ground;
  const UniqueFd tool = ground.ask("CONNECT " + ground.address() +
                                   " HTTP/1.1\r\nHost: " + ground.address() + "\r\n\r\n");
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

std::string connect_to(const std::string& place) {
  return "CONNECT " + place + " HTTP/1.1\r\nHost: " + place + "\r\n\r\n";
}

TEST(WayOut, ACallWithAShorterListReachesNothingElse) {
  Ground ground;
  ground.way_out->narrow(std::make_shared<const Rules>(std::vector<std::string>{"other.example"},
                                                       std::vector<std::string>{}));
  const std::string answer = read_to_the_end(ground.ask(connect_to(ground.address())));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 403 ")) << answer;
  EXPECT_NE(answer.find("the hosts that this call was given leave it out"), std::string::npos)
      << answer;
  EXPECT_EQ(answer.find("network.allow"), std::string::npos) << "no grant helps: " << answer;
  // What the call asks for beyond its policy is not given by its list.
  EXPECT_NE(read_to_the_end(ground.ask(connect_to("other.example:443"))).find("no rule allows it"),
            std::string::npos);
  const WayOut::Account account = ground.way_out->close();
  ASSERT_EQ(account.connections.size(), 2u);
  for (const Connection& each : account.connections) {
    EXPECT_EQ(each.verdict, Connection::Verdict::denied);
    EXPECT_EQ(each.rule, "");
    EXPECT_EQ(each.address, "");
  }
}

TEST(WayOut, ACallReachesWhatItsShorterListHas) {
  Ground ground;
  ground.way_out->narrow(std::make_shared<const Rules>(std::vector<std::string>{ground.address()},
                                                       std::vector<std::string>{}));
  const UniqueFd tool = ground.ask(connect_to(ground.address()));
  const UniqueFd host = accepted(ground.host);
  EXPECT_EQ(read_some(tool), "HTTP/1.1 200 Connection established\r\n\r\n");
}

// A connection that comes right behind the narrowing must not overtake it, however busy the loop
// is.
TEST(WayOut, AShorterListHoldsForTheVeryNextConnection) {
  const std::shared_ptr<const Rules> nothing =
      std::make_shared<const Rules>(std::vector<std::string>{}, std::vector<std::string>{});
  for (int i = 0; i < 300; ++i) {
    Ground ground;
    // The loop has just been woken for this one.
    const UniqueFd before = ground.ask(connect_to("busy.example:443"));
    ground.way_out->narrow(nothing);
    const UniqueFd tool = ground.ask(connect_to(ground.address()));
    ASSERT_TRUE(read_some(tool).starts_with("HTTP/1.1 403 ")) << i;
  }
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

TEST(WayOut, ARefusalOffersOnlyRulesThatAPolicyMayHave) {
  Ground ground;
  for (const std::string host : {"localhost:80", "198.18.9.9:80"}) {
    const UniqueFd tool = ground.ask("CONNECT " + host + " HTTP/1.1\r\n\r\n");
    const std::string answer = read_to_the_end(tool);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 403 ")) << answer;
    EXPECT_EQ(answer.find("network.allow"), std::string::npos) << answer;
  }
}

TEST(WayOut, TheAddressThatStandsForANameIsThatNameForTheProxyToo) {
  Ground ground;
  const UniqueFd dns = connected_to(ground.dns_port, SOCK_DGRAM);
  using namespace std::string_view_literals;
  send_text(dns, "\0\1\1\0\0\1\0\0\0\0\0\0\5files\7example\3org\0\0\1\0\1"sv);
  const std::string found = read_some(dns);
  ASSERT_GT(found.size(), 4u);
  in_addr stands_for{};
  found.copy(reinterpret_cast<char*>(&stands_for), 4, found.size() - 4);
  const UniqueFd tool =
      ground.ask("CONNECT " + std::string(inet_ntoa(stands_for)) + ":443 HTTP/1.1\r\n\r\n");
  const std::string answer = read_to_the_end(tool);
  EXPECT_NE(answer.find("files.example.org:443 can't be reached"), std::string::npos) << answer;
}

TEST(WayOut, APlainRequestIsSentOnInOriginForm) {
  Ground ground;
  const UniqueFd tool =
      ground.ask("GET http://" + ground.address() + "/x?q=1 HTTP/1.1\r\nHost: " + ground.address() +
                 "\r\nProxy-Connection: keep-alive\r\n\r\n");
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
  const std::string get =
      "GET http://" + ground.address() + "/1 HTTP/1.1\r\nHost: " + ground.address() + "\r\n\r\n";
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
    const UniqueFd tool = ground.ask("CONNECT " + ground.address() +
                                     " HTTP/1.1\r\nHost: " + ground.address() + "\r\n\r\n");
    if (i % 2) ground.way_out->close();
  }
  for (int i = 0; i < 500 && descriptors() != before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(descriptors(), before);
}

}  // namespace
}  // namespace brig::egress
