// --allow, --deny and the limits of connections, as a user types them.
#include "e2e_program.h"
#include "host_server.h"
#include "serve_client.h"

namespace {

using namespace e2e;

// brig run OPTIONS -- COMMAND
Result run(std::vector<std::string> options, std::vector<std::string> command) {
  options.insert(options.begin(), "run");
  options.emplace_back("--");
  options.insert(options.end(), command.begin(), command.end());
  return brig_program(std::move(options));
}

Json report_of(std::vector<std::string> options, std::vector<std::string> command) {
  options.emplace_back("--json");
  const Result result = run(std::move(options), std::move(command));
  EXPECT_EQ(result.err, "") << result;
  return result.out.empty() ? Json() : Json::parse(result.out);
}

TEST(NetworkOptions, AreInTheHelp) {
  for (const char* command : {"run", "mcp"}) {
    const Result help = brig_program({command, "--help"});
    for (const char* option : {"--net", "--allow", "--deny", "--connections", "--upload",
                               "--download", "--connection-time"})
      EXPECT_TRUE(contains(help.out, option)) << command << ": " << option << help;
  }
}

TEST(NetworkOptions, AllowOneHostAndNoOther) {
  const HostServer host, other;
  const Result reached = run({"--allow", host.address()}, host.visit());
  EXPECT_EQ(reached.out, "from the host\n") << reached;
  EXPECT_EQ(reached.code, 0);
  const Result not_listed = run({"--allow", host.address()}, other.visit());
  EXPECT_EQ(not_listed.code, 1) << not_listed;
  EXPECT_EQ(run({"--net", "loopback"}, host.visit()).code, 1);
  EXPECT_EQ(host.met(), 1);
  EXPECT_EQ(other.met(), 0);
}

TEST(NetworkOptions, TheReportHasWhatWasReached) {
  const HostServer host;
  const Json report = report_of({"--allow", host.address()}, host.visit());
  ASSERT_EQ(report["connections"].size(), 1u) << report;
  const Json& reached = report["connections"][0];
  EXPECT_EQ(reached["host"], "127.0.0.1");
  EXPECT_EQ(reached["port"].dump(), host.port());
  EXPECT_EQ(reached["verdict"], "allowed");
  EXPECT_EQ(reached["rule"], host.address());
  EXPECT_EQ(reached["way"], "direct");
  EXPECT_EQ(reached["received_bytes"], 14);
  EXPECT_EQ(report["connections_total"], 1);
}

TEST(NetworkOptions, ARefusedHostNamesTheOptionThatAllowsIt) {
  const Result refused = run({"--allow", "a.example"}, ask_proxy_for("files.example.org:8443"));
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(contains(refused.out, "HTTP/1.1 403 ")) << refused;
  EXPECT_TRUE(contains(refused.err,
                       "it could not reach 'files.example.org:8443': no rule allows it; --allow "
                       "files.example.org:8443 allows it"))
      << refused;
  const Json report = report_of({"--allow", "a.example"}, ask_proxy_for("files.example.org:8443"));
  ASSERT_EQ(report["violations"].size(), 1u) << report;
  EXPECT_EQ(report["violations"][0]["code"], "network.refused");
  EXPECT_EQ(report["violations"][0]["grant"], "--allow files.example.org:8443");
  EXPECT_EQ(report["violations"][0]["certain"], true);
}

TEST(NetworkOptions, DenyWinsOverAllow) {
  const Json report = report_of({"--allow", "*.example.org", "--deny", "gist.example.org"},
                                ask_proxy_for("gist.example.org:443"));
  EXPECT_EQ(report["connections"][0]["verdict"], "denied") << report;
  EXPECT_EQ(report["connections"][0]["rule"], "gist.example.org");
  EXPECT_EQ(report["violations"][0]["retry"], "never");
}

TEST(NetworkOptions, ThatContradictEachOtherAreRefused) {
  const auto refused = [](std::vector<std::string> options) {
    const Result result = run(std::move(options), {"true"});
    EXPECT_EQ(result.code, 125) << result;
    return result.err;
  };
  for (const char* net : {"none", "loopback", "host"}) {
    EXPECT_TRUE(contains(refused({"--net", net, "--allow", "a.example"}),
                         "--net " + std::string(net) + " and --allow exclude each other"));
    EXPECT_TRUE(contains(refused({"--net", net, "--deny", "a.example"}),
                         "--net " + std::string(net) + " and --deny exclude each other"));
  }
  EXPECT_TRUE(contains(refused({"--deny", "a.example"}),
                       "--deny a.example: there is nothing that it takes away; add --allow"));
  EXPECT_TRUE(contains(refused({"--net", "proxy"}), "--net"));
  EXPECT_TRUE(
      contains(refused({"--allow", "https://a.example/x"}), "--allow: 'https://a.example/x'"));
  EXPECT_TRUE(contains(refused({"--allow", "*"}), "--allow: '*'"));
  EXPECT_TRUE(contains(refused({"--allow", "a.example", "--connections", "0"}), "--connections"));
  EXPECT_TRUE(contains(refused({"--allow", "a.example", "--upload", "much"}), "--upload"));
  EXPECT_TRUE(
      contains(refused({"--allow", "a.example", "--connection-time", "0s"}), "--connection-time"));
}

TEST(NetworkOptions, AddToAPolicyFileOrTakeItsPlace) {
  const HostServer host, other;
  const HostDirectory directory;
  write_file(directory / "p.toml", "[network]\nallow = ['" + host.address() + "']\n");
  const std::vector<std::string> policy{"--policy", directory / "p.toml"};
  const auto with = [&](std::vector<std::string> options) {
    options.insert(options.end(), policy.begin(), policy.end());
    return options;
  };
  EXPECT_EQ(run(policy, host.visit()).out, "from the host\n");
  EXPECT_EQ(run(policy, other.visit()).code, 1);
  EXPECT_EQ(run(with({"--allow", other.address()}), other.visit()).out, "from the host\n");
  EXPECT_EQ(run(with({"--allow", other.address()}), host.visit()).out, "from the host\n");
  // --deny alone has something to take away from here.
  EXPECT_TRUE(contains(run(with({"--deny", host.address()}), {"true"}).err, "covers it"));
  EXPECT_EQ(run(with({"--deny", "b.example"}), host.visit()).out, "from the host\n");
  EXPECT_EQ(run(with({"--net", "none"}), host.visit()).code, 1);
  const int met = host.met();
  EXPECT_EQ(run(with({"--net", "loopback"}), host.visit()).code, 1);
  EXPECT_EQ(host.met(), met);
}

TEST(NetworkOptions, TheExamplesAreRead) {
  const std::string examples = std::string(getenv("BRIG_EXAMPLES")) + "/network/";
  const Result pip = run({"--policy", examples + "pip.toml"}, {"printenv", "https_proxy"});
  EXPECT_EQ(pip.out, "http://127.0.0.1:3128\n") << pip;
  for (const char* manifest : {"agent.toml", "database.toml"}) {
    const Result tools =
        brig_program({"tools", "--manifest", examples + manifest, "--format", "names"});
    EXPECT_EQ(tools.code, 0) << tools;
  }
  EXPECT_EQ(brig_program({"call", "--manifest", examples + "agent.toml", "count",
                          R"({"text": "one two three"})"})
                .out,
            "3\n");
}

TEST(NetworkOptions, LimitConnectionsAndTheirBytes) {
  const HostServer host;
  const Result cut = run({"--allow", host.address(), "--download", "5"}, host.visit());
  EXPECT_FALSE(contains(cut.out, "from the host")) << cut;
  const std::string two = "exec 3<>/dev/tcp/127.0.0.1/3128 && printf 'CONNECT " + host.address() +
                          " HTTP/1.1\\r\\nHost: x' >&3 && exec 4<>/dev/tcp/127.0.0.1/" +
                          host.port() + " && timeout 20 cat <&4; exit 1";
  const Json report =
      report_of({"--allow", host.address(), "--connections", "1"}, {"bash", "-c", two});
  bool told = false;
  for (const Json& each : report["violations"])
    told = told || (each["code"] == "connections.refused" && each["rule"] == "--connections 1");
  EXPECT_TRUE(told) << report;
  EXPECT_EQ(report["stdout"], "");
}

}  // namespace
