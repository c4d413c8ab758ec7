#include "policy/narrower_network.h"

#include <gtest/gtest.h>

namespace brig {
namespace {

const Network kPolicy =
    Network::to({"api.github.com", "*.pypi.org:443", "10.2.0.0/16:5432", "[2001:db8::]/32:443"},
                {"evil.pypi.org", "10.2.9.0/24"});

std::string fault(const std::string& host) {
  return why_not_narrower(Network::to({host}), kPolicy);
}

TEST(NarrowerNetwork, IsCoveredByARuleOfThePolicy) {
  for (const char* host : {"api.github.com", "API.github.com.:443", "*.pypi.org", "files.pypi.org",
                           "*.files.pypi.org", "a.b.pypi.org:443", "10.2.0.0/16:5432",
                           "10.2.3.0/24:5432", "10.2.3.4:5432", "[2001:db8::7]:443", "2001:db8::7"})
    EXPECT_EQ(fault(host), "") << host;
  EXPECT_EQ(why_not_narrower(kPolicy, kPolicy), "");
  EXPECT_EQ(why_not_narrower(Network::to({"api.github.com"}, {"whatever.example"}), kPolicy), "");
}

TEST(NarrowerNetwork, AsksForNoHostPortOrAddressMore) {
  for (const char* host : {"github.com", "*.github.com", "api.github.com:80", "pypi.org", "*.org",
                           "xpypi.org", "files.pypi.org:80", "10.2.0.0/15:5432", "10.3.0.1:5432",
                           "10.2.3.4", "2001:db9::7", "[2001:db8::]/31:443"})
    EXPECT_EQ(fault(host), "network.allow: '" + std::string(host) +
                               "' is not covered by network.allow of the policy")
        << host;
  // One of several.
  EXPECT_NE(why_not_narrower(Network::to({"api.github.com", "other.example"}), kPolicy), "");
}

TEST(NarrowerNetwork, IsNotWhatThePolicyDenies) {
  for (const char* host : {"evil.pypi.org", "10.2.9.7:5432"})
    EXPECT_EQ(fault(host),
              "network.allow: '" + std::string(host) + "' is covered by network.deny of the policy")
        << host;
}

TEST(NarrowerNetwork, OfNoHostIsEmptyOnlyByItsName) {
  for (const Network& policy : {Network(), Network(Network::loopback), kPolicy})
    EXPECT_EQ(why_not_narrower(Network::none, policy), "");
  EXPECT_EQ(why_not_narrower(Network::to({}), kPolicy),
            "network.allow: is empty; list a host, or use \"none\"");
  EXPECT_TRUE(fault("http://x").starts_with("network.allow: 'http://x': ")) << fault("http://x");
}

TEST(NarrowerNetwork, IsRefusedWhereItIsMoreOrCannotBeEnforced) {
  const Network hosts = Network::to({"api.github.com"});
  EXPECT_EQ(why_not_narrower(hosts, Network::none),
            "network.allow: a list of hosts is more than the \"none\" of the policy");
  EXPECT_EQ(why_not_narrower(hosts, Network::loopback),
            "network.allow: a list of hosts is more than the \"loopback\" of the policy");
  EXPECT_NE(why_not_narrower(hosts, Network::host), "");
  EXPECT_NE(why_not_narrower(Network::none, Network::host), "");
  for (const Network::Mode mode : {Network::loopback, Network::host})
    EXPECT_EQ(why_not_narrower(mode, kPolicy), "network: must be \"none\" or a list of hosts");
}

TEST(NarrowerNetwork, HasAtMostAsManyEntriesAsAPolicy) {
  EXPECT_EQ(why_not_narrower(Network::to(std::vector<std::string>(256, "api.github.com")), kPolicy),
            "");
  EXPECT_EQ(why_not_narrower(Network::to(std::vector<std::string>(257, "api.github.com")), kPolicy),
            "network.allow: more than 256 entries; list fewer");
}

}  // namespace
}  // namespace brig
