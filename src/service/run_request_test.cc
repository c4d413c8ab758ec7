#include "service/run_request.h"

#include <gtest/gtest.h>

namespace brig::serve {
namespace {

using namespace std::chrono_literals;

std::string fault(const char* text) {
  CallLimits limits;
  return read_limits(Json::parse(text), limits);
}

TEST(RunLimits, NoneAreNone) {
  CallLimits limits;
  EXPECT_EQ(read_limits(Json(), limits), "");
  EXPECT_EQ(read_limits(Json::object(), limits), "");
  EXPECT_FALSE(limits.timeout || limits.cpu_time || limits.memory || limits.processes ||
               limits.output || limits.output_total);
}

TEST(RunLimits, AreNumbersOrTextsWithUnits) {
  CallLimits limits;
  EXPECT_EQ(read_limits(Json::parse(R"({"timeout": 1.5, "cpu_time": "500ms", "memory": "64M",
                                       "processes": 4, "output": 1000, "output_total": "1K"})"),
                        limits),
            "");
  EXPECT_EQ(limits.timeout, 1500ms);
  EXPECT_EQ(limits.cpu_time, 500ms);
  EXPECT_EQ(limits.memory, 64u << 20);
  EXPECT_EQ(limits.processes, 4u);
  EXPECT_EQ(limits.output, 1000u);
  EXPECT_EQ(limits.output_total, 1024u);
}

TEST(RunLimits, AnUnknownOneIsToldWithThoseThereAre) {
  const std::string text = fault(R"({"time": 1})");
  EXPECT_NE(text.find("'time'"), std::string::npos) << text;
  EXPECT_NE(text.find("timeout"), std::string::npos) << text;
  EXPECT_NE(fault(R"({"": 1})"), "");
}

TEST(RunLimits, WhatIsNoSuchValueIsRefused) {
  for (const char* text :
       {R"({"timeout": -1})",           R"({"timeout": "x"})",  R"({"timeout": null})",
        R"({"timeout": true})",         R"({"timeout": [1]})",  R"({"timeout": 1e300})",
        R"({"timeout": ""})",           R"({"cpu_time": {}})",  R"({"memory": -1})",
        R"({"memory": 1.5})",           R"({"memory": "1.5"})", R"({"memory": "-1"})",
        R"({"memory": true})",          R"({"memory": 1e30})",  R"({"memory": "99999999E"})",
        R"({"processes": "4"})",        R"({"processes": -1})", R"({"processes": 4.5})",
        R"({"processes": 4294967296})", R"({"output": "x"})",   R"({"output_total": null})"}) {
    const std::string fault_text = fault(text);
    EXPECT_EQ(fault_text.rfind("limits.", 0), 0u) << text << ": " << fault_text;
  }
}

std::string network_fault(const char* text) {
  std::optional<Network> network;
  const std::string fault = read_network(Json::parse(text), network);
  EXPECT_FALSE(network) << text;
  return fault;
}

TEST(RunNetwork, IsNoneOrAListOfHosts) {
  std::optional<Network> network;
  EXPECT_EQ(read_network(Json(), network), "");
  EXPECT_FALSE(network);
  EXPECT_EQ(read_network("none", network), "");
  EXPECT_EQ(network, Network(Network::none));
  EXPECT_EQ(
      read_network(Json::parse(R"({"allow": ["api.github.com", "*.pypi.org:443"]})"), network), "");
  EXPECT_EQ(network, Network::to({"api.github.com", "*.pypi.org:443"}));
}

TEST(RunNetwork, WhatIsNoSuchNetworkIsRefused) {
  for (const char* text : {R"("host")", R"("loopback")", R"("proxy")", R"("api.github.com")", "7",
                           "true", R"(["api.github.com"])", "{}", R"({"deny": []})"})
    EXPECT_TRUE(network_fault(text).starts_with("network must be \"none\", or hosts such as"))
        << text << network_fault(text);
  EXPECT_EQ(network_fault(R"({"allow": "api.github.com"})"),
            "network.allow must be a list of hosts");
  EXPECT_EQ(network_fault(R"({"allow": [7]})"), "network.allow must be a list of hosts");
  EXPECT_EQ(network_fault(R"({"allow": ["a.example"], "deny": []})"),
            "network: 'deny' is unknown; a request has only \"allow\"");
}

}  // namespace
}  // namespace brig::serve
