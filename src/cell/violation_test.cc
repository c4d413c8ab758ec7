#include "cell/violation.h"

#include <gtest/gtest.h>

namespace brig {
namespace {

TEST(Violation, OfTheNetworkNamesTheLeastThatAllowsTheCall) {
  const Violation made = refused_call("socket(AF_INET)", 3, Network::none, {});
  EXPECT_EQ(made.code, "network.refused");
  EXPECT_EQ(made.rule, "network = \"none\"");
  EXPECT_EQ(made.grant, "network = \"loopback\"");
  EXPECT_EQ(made.retry, Retry::after_grant);
  EXPECT_EQ(made.count, 3u);
  EXPECT_TRUE(made.certain);
}

Connection denied(std::string host, std::uint16_t port) {
  Connection connection;
  connection.host = std::move(host);
  connection.port = port;
  connection.reason = "no rule allows it";
  return connection;
}

TEST(Violation, OfAHostNamesTheLineThatAllowsIt) {
  std::vector<Violation> made;
  add_refused_connections(made, {denied("files.example.org", 8443), denied("2001:db8::7", 22),
                                 denied("looked.example.org", 0)});
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(made[0].target, "[2001:db8::7]:22");
  EXPECT_EQ(made[0].grant, R"(network.allow = ["[2001:db8::7]:22"])");
  EXPECT_EQ(made[1].code, "network.refused");
  EXPECT_EQ(made[1].what, "connect");
  EXPECT_EQ(made[1].target, "files.example.org:8443");
  EXPECT_EQ(made[1].rule, "no rule allows it");
  EXPECT_EQ(made[1].grant, R"(network.allow = ["files.example.org:8443"])");
  EXPECT_EQ(made[1].retry, Retry::after_grant);
  EXPECT_TRUE(made[1].certain);
  EXPECT_EQ(sentence(made[1]),
            "it could not reach 'files.example.org:8443': no rule allows it; network.allow = "
            "[\"files.example.org:8443\"] allows it");
  // Nobody knows on which port the tool would have connected.
  EXPECT_EQ(made[2].what, "look up");
  EXPECT_EQ(made[2].target, "looked.example.org");
  EXPECT_EQ(made[2].grant, R"(network.allow = ["looked.example.org:443"])");
  for (const Violation& each : made)
    EXPECT_EQ(policy_from_toml(each.grant).network.mode, Network::proxy) << each.grant;
}

TEST(Violation, OfAHostIsCountedOnceForEachPlaceAndOnlyIfItWasDenied) {
  Connection failed = denied("down.example.org", 443), open = denied("up.example.org", 443);
  failed.verdict = Connection::Verdict::failed;
  open.verdict = Connection::Verdict::allowed;
  std::vector<Connection> all{failed, denied("a.example", 443), open, denied("a.example", 443),
                              denied("a.example", 80)};
  std::vector<Violation> made;
  add_refused_connections(made, all);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].target, "a.example:80");
  EXPECT_EQ(made[0].count, 1u);
  EXPECT_EQ(made[1].target, "a.example:443");
  EXPECT_EQ(made[1].count, 2u);

  all.clear();
  for (int i = 0; i < 100; ++i) all.push_back(denied("h" + std::to_string(i) + ".example", 443));
  made.clear();
  add_refused_connections(made, all);
  EXPECT_EQ(made.size(), 32u);
}

TEST(Violation, OfAHostThatIsForbiddenGrantsNothing) {
  Connection forbidden = denied("gist.github.com", 443);
  forbidden.rule = "gist.github.com";
  forbidden.reason = "network.deny has gist.github.com";
  std::vector<Violation> made;
  add_refused_connections(made, {forbidden});
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].rule, "network.deny has gist.github.com");
  EXPECT_EQ(made[0].grant, "");
  EXPECT_EQ(made[0].retry, Retry::never);
  EXPECT_EQ(sentence(made[0]),
            "it could not reach 'gist.github.com:443': network.deny has gist.github.com");
}

TEST(Violation, OfTooManyConnectionsNamesTheLimit) {
  const Violation made = too_many_connections(7, 64);
  EXPECT_EQ(made.code, "connections.refused");
  EXPECT_EQ(made.rule, "limits.connections = 64");
  EXPECT_EQ(made.grant, "limits.connections");
  EXPECT_EQ(made.count, 7u);
  EXPECT_EQ(sentence(made),
            "connections were refused at limits.connections = 64; raise limits.connections");
}

TEST(Violation, OfACallIsGrantedOnlyIfAPolicyCan) {
  EXPECT_EQ(refused_call("ptrace", 1, Network::none, {}).grant, "syscalls.allow = [\"ptrace\"]");
  for (const char* name : {"mount", "clone(CLONE_NEW*)", "ioctl(TIOCSTI)", "socket(AF_NETLINK)"}) {
    const Violation made = refused_call(name, 1, Network::none, {});
    EXPECT_EQ(made.code, "syscall.refused") << name;
    EXPECT_EQ(made.grant, "") << name;
    EXPECT_EQ(made.retry, Retry::never) << name;
  }
  const Violation denied = refused_call("ptrace", 1, Network::none, {{}, {"ptrace"}});
  EXPECT_EQ(denied.rule, "syscalls.deny = [\"ptrace\"]");
  EXPECT_EQ(denied.grant, "");
}

TEST(Violation, OfALimitNamesTheKeyToRaise) {
  const Violation made = killed_for_memory(1, std::uint64_t{512} << 20);
  EXPECT_EQ(made.rule, "limits.memory = \"512M\"");
  EXPECT_EQ(made.grant, "limits.memory");
  EXPECT_EQ(sentence(made),
            "processes of it were killed at limits.memory = \"512M\"; raise limits.memory");
}

TEST(Violation, OfSharedMemoryIsCertain) {
  const Violation made = refused_memory(3, std::uint64_t{64} << 20);
  EXPECT_TRUE(made.certain);
  EXPECT_EQ(made.count, 3u);
  EXPECT_EQ(sentence(made),
            "it was refused more shared memory than limits.memory = \"64M\"; raise limits.memory");
}

// Raising limits.processes would not help.
TEST(Violation, OfALimitThatOthersShareIsWorthAnotherTry) {
  const Violation made = may_lack_shared_process();
  EXPECT_EQ(made.code, "processes.refused");
  EXPECT_EQ(made.grant, "");
  EXPECT_EQ(made.retry, Retry::may_help);
  EXPECT_FALSE(made.certain);
  EXPECT_EQ(sentence(made),
            "it may have been refused a process or thread by the machine's limit for this user, "
            "whose other programs count too; try again when fewer run");
}

// Raising limits.memory would lead in a circle.
TEST(Violation, OfASanitizersAddressSpaceGrantsNothing) {
  const Violation made = lacks_address_space(std::uint64_t{512} << 20, false);
  EXPECT_EQ(made.code, "memory.refused");
  EXPECT_EQ(made.rule, "limits.memory = \"512M\"");
  EXPECT_EQ(made.grant, "");
  EXPECT_EQ(made.retry, Retry::never);
  EXPECT_FALSE(made.certain);
  EXPECT_EQ(sentence(made).find("raise"), std::string::npos) << sentence(made);
}

// brig asks the user's systemd for a cgroup only if a limit is named, be it the default.
TEST(Violation, OfASanitizersAddressSpaceIsGrantedWhereALimitThatIsNamedGetsACgroup) {
  const Violation made = lacks_address_space(std::uint64_t{512} << 20, true);
  EXPECT_EQ(made.grant, "limits.memory = \"512M\"");
  EXPECT_EQ(made.retry, Retry::after_grant);
  EXPECT_TRUE(policy_from_toml(made.grant).limits.named);
  EXPECT_NE(sentence(made).find("name limits.memory = \"512M\", and brig asks your systemd"),
            std::string::npos)
      << sentence(made);
}

TEST(Violation, AGrantIsALineOfThePolicy) {
  const Violation made = not_in_cell("/srv/a \"b\"", "files.read");
  EXPECT_EQ(made.grant, R"(files.read = ["/srv/a \"b\""])");
  for (const auto& [key, files] :
       {std::pair("files.read", &Files::read), {"files.write", &Files::write}})
    EXPECT_EQ(policy_from_toml(not_in_cell("/usr/share", key).grant).files.*files,
              std::vector<std::string>{"/usr/share"});
  EXPECT_EQ(policy_from_toml(refused_call("socket(AF_INET)", 1, Network::none, {}).grant).network,
            Network::loopback);
  EXPECT_EQ(policy_from_toml(refused_call("ptrace", 1, Network::none, {}).grant).syscalls.allow,
            std::vector<std::string>{"ptrace"});
  EXPECT_FALSE(made.certain);
  EXPECT_EQ(sentence(not_in_cell("/srv/a", "files.read")),
            "'/srv/a' is not in the cell; if it exists, files.read = [\"/srv/a\"] gives it");
}

TEST(Violation, OfAConnectionIsGrantedOnlyIfARuleCanAllowIt) {
  const auto grant_for = [](std::string host, std::uint16_t port, std::string reason) {
    Connection denied;
    denied.host = std::move(host);
    denied.port = port;
    denied.reason = std::move(reason);
    std::vector<Violation> violations;
    add_refused_connections(violations, {denied});
    return violations.at(0).grant;
  };
  const std::string no_rule = "no rule allows it";
  EXPECT_EQ(grant_for("a.example", 80, no_rule), "network.allow = [\"a.example:80\"]");
  EXPECT_EQ(grant_for("a.example", 0, no_rule), "network.allow = [\"a.example:443\"]");
  EXPECT_EQ(grant_for("2001:db8::1", 80, no_rule), "network.allow = [\"[2001:db8::1]:80\"]");
  // A policy refuses this entry: in a cell, localhost is the cell itself.
  EXPECT_EQ(grant_for("localhost", 80, no_rule), "");
  EXPECT_EQ(grant_for("a.example", 80, "the name leads elsewhere"), "");
}

TEST(Violation, IsOneJsonObject) {
  EXPECT_EQ(
      to_json(not_in_cell("/srv/a", "files.read")),
      R"({"code":"file.not_in_cell","what":"named a path that is not in the cell",)"
      R"("target":"/srv/a","rule":"files.read and files.write do not list it",)"
      R"("grant":"files.read = [\"/srv/a\"]","retry":"after_grant","count":1,"certain":false})");
}

}  // namespace
}  // namespace brig
