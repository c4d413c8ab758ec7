// Calls of one Sandbox whose tools may reach hosts: what one call is given is no other call's.
#include <thread>

#include "host_server.h"
#include "sandbox_support.h"

namespace brig {
namespace {

using namespace e2e;

Policy policy_for(const HostServer& host) {
  Policy policy = quick();
  policy.network = Network::to({host.address(), "*.example.org"});
  return policy;
}

Sandbox box_for(const HostServer& host) {
  Toolbox tools;
  tools.add(command_tool("ask", ask_proxy_for(host.address())));
  return Sandbox(std::move(tools), policy_for(host));
}

// What the host said, or the proxy's refusal.
std::string asked(Sandbox& box, std::optional<Network> network) {
  CallOptions options;
  options.network = std::move(network);
  return box.call("ask", {}, std::move(options)).report.out.bytes;
}

TEST(SandboxNetwork, ACallMayHaveFewerHosts) {
  const HostServer host;
  Sandbox box = box_for(host);
  EXPECT_TRUE(asked(box, std::nullopt).ends_with("from the host\n"));
  EXPECT_TRUE(asked(box, Network::to({host.address()})).ends_with("from the host\n"));
  EXPECT_TRUE(asked(box, Network::none).starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(asked(box, Network::to({"a.example.org"})).starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(
      asked(box, Network::to({host.address()}, {host.address()})).starts_with("HTTP/1.1 403"));
  EXPECT_EQ(host.met(), 2);
}

TEST(SandboxNetwork, ACallCantHaveMore) {
  const HostServer host;
  Sandbox box = box_for(host);
  for (const Network& more : {Network::to({"a.example"}), Network::to({}), Network(Network::host),
                              Network(Network::loopback), Network::to({"http://a.example.org"})}) {
    CallOptions options;
    options.network = more;
    const ToolResult result = box.call("ask", {}, std::move(options));
    EXPECT_EQ(result.report.outcome, Outcome::invalid_arguments) << result.error;
    EXPECT_TRUE(result.error.starts_with("network")) << result.error;
  }
  EXPECT_EQ(host.met(), 0);
}

// Cells are made before it is known which call they serve.
TEST(SandboxNetwork, OfCallsAtOnceEachHasItsOwn) {
  const HostServer host;
  Sandbox box = box_for(host);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 25; ++i) {
        const bool may = (i + caller) % 2 == 0;
        const std::string said =
            asked(box, may ? std::optional<Network>() : std::optional<Network>(Network::none));
        if (said.ends_with("from the host\n") != may) ++wrong;
      }
    });
  for (std::thread& each : callers) each.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(host.met(), 50);
}

}  // namespace
}  // namespace brig
