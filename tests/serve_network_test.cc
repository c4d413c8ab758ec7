// A server whose tools may reach hosts: what a request can take away, and what is recorded.
#include "host_server.h"
#include "serve_program.h"

namespace {

using namespace e2e;

class ServeNetwork : public testing::Test {
 protected:
  static ServeOptions with(const HostServer& host) {
    return {.arguments = {"--builtins"},
            .manifest = "[policy.network]\nallow = ['" + host.address() +
                        "', '*.example.org']\ndeny = ['gist.example.org']\n"};
  }
  // Whether a call with that network reaches the host; null: the policy's network.
  bool reaches(const Json& network) {
    Json body{{"argv", ask_proxy_for(host_.address())}};
    if (!network.is_null()) body["network"] = network;
    const Answer answer = client_.post("/v1/run", body);
    const std::string said = answer.json().value("/output/stdout"_json_pointer, "");
    EXPECT_NE(contains(said, "from the host\n"), contains(said, "HTTP/1.1 403 ")) << answer;
    return contains(said, "from the host\n");
  }
  Json only(const std::string& entry) const { return {{"allow", {entry}}}; }

  const HostServer host_, other_;
  Serve serve_{with(host_)};
  Client client_ = serve_.client();
};

TEST_F(ServeNetwork, ARequestMayHaveFewerHosts) {
  EXPECT_TRUE(reaches(nullptr));
  EXPECT_TRUE(reaches(only(host_.address())));
  const int met = host_.met();
  EXPECT_FALSE(reaches("none"));
  EXPECT_FALSE(reaches(only("files.example.org")));
  EXPECT_EQ(host_.met(), met);
  // The next call has all of the policy's again, also in a place that one of those had.
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(reaches(nullptr));
    EXPECT_FALSE(reaches("none"));
  }
}

TEST_F(ServeNetwork, EveryKindOfRequestMay) {
  const Json arguments{{"argv", ask_proxy_for(host_.address())}};
  const Answer called =
      client_.post("/v1/tools/run_command/call", {{"arguments", arguments}, {"network", "none"}});
  EXPECT_TRUE(contains(called.body, "the hosts that this call was given")) << called;
  const Answer job = client_.post(
      "/v1/jobs", {{"tool", "run_command"}, {"arguments", arguments}, {"network", "none"}});
  ASSERT_EQ(job.status, 202) << job;
  const Json ended = client_.get(job.header("location") + "?wait=20").json();
  EXPECT_TRUE(contains(ended.dump(), "the hosts that this call was given")) << ended;
  EXPECT_EQ(host_.met(), 0);
}

TEST_F(ServeNetwork, ARequestCantHaveMore) {
  const auto refused = [&](const Json& network) {
    const Answer answer = client_.post("/v1/run", {{"argv", {"true"}}, {"network", network}});
    EXPECT_EQ(answer.status, 422) << network << answer;
    return answer.problem() + ": " + answer.json().value("detail", "");
  };
  for (const std::string& more :
       {other_.address(), std::string("example.org"), std::string("*.org"),
        std::string("files.example.org:80"), std::string("127.0.0.0/8:" + host_.port())})
    EXPECT_EQ(refused(only(more)), "wider-policy: network.allow: '" + more +
                                       "' is not covered by network.allow of the policy");
  EXPECT_EQ(refused(only("gist.example.org")),
            "wider-policy: network.allow: 'gist.example.org' is covered by network.deny of the "
            "policy");
  EXPECT_EQ(refused(Json{{"allow", {host_.address(), other_.address()}}}).substr(0, 12),
            "wider-policy");
  for (const Json& wrong :
       {Json("host"), Json("loopback"), Json(nullptr), Json(true), Json::array(), Json::object(),
        Json{{"allow", Json::array()}}, Json{{"allow", "a.example"}}, only("*"),
        Json{{"allow", {"files.example.org"}}, {"deny", Json::array()}}})
    EXPECT_TRUE(refused(wrong).starts_with("invalid-arguments: network")) << refused(wrong);
}

TEST_F(ServeNetwork, WhatACallWasNotGivenNobodyNeedsToGrant) {
  const Answer answer = client_.post(
      "/v1/run", {{"argv", ask_proxy_for("files.example.org:443")}, {"network", "none"}});
  const Json report = answer.json()["report"];
  EXPECT_TRUE(contains(report.value("stdout", ""), "the hosts that this call was given leave it"))
      << report;
  ASSERT_EQ(report["violations"].size(), 1u) << report;
  EXPECT_EQ(report["violations"][0]["grant"], "");
  EXPECT_EQ(report["violations"][0]["retry"], "never");
}

TEST_F(ServeNetwork, WhatWasReachedIsRecorded) {
  EXPECT_EQ(client_.post("/v1/run", {{"argv", host_.visit()}}).json()["output"]["stdout"],
            "from the host\n");
  client_.post("/v1/run", {{"argv", ask_proxy_for("other.example.com:443")}});
  const auto is_reached = [&](const Json& list) {
    return list.size() == 1 && list[0].value("host", "") == "127.0.0.1" &&
           list[0].value("verdict", "") == "allowed" && list[0].value("received_bytes", 0) == 14;
  };
  const auto is_denied = [](const Json& list) {
    return list.size() == 1 && list[0].value("host", "") == "other.example.com" &&
           list[0].value("verdict", "") == "denied";
  };
  const std::vector<Json> lines = serve_.audit();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(is_reached(lines[0]["connections"])) << lines[0];
  EXPECT_EQ(lines[0]["connections_total"], 1);
  EXPECT_TRUE(is_denied(lines[1]["connections"])) << lines[1];
  const Json ended = client_.get("/v1/calls?ended=2").json()["ended"];
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_TRUE(is_denied(ended[0]["connections"])) << ended[0];
  EXPECT_TRUE(is_reached(ended[1]["connections"])) << ended[1];
  const std::string metrics = client_.get("/metrics").body;
  for (const char* line : {"brig_connections_total{verdict=\"allowed\"} 1",
                           "brig_connections_total{verdict=\"denied\"} 1",
                           "brig_connection_bytes_total{direction=\"received\"} 14"})
    EXPECT_TRUE(contains(metrics, line)) << line << metrics;
}

TEST(ServeWithoutHosts, ARequestCanAskForNone) {
  Serve serve;
  EXPECT_EQ(serve.post("/v1/run", {{"argv", {"true"}}, {"network", "none"}}).status, 200);
  const Answer answer =
      serve.post("/v1/run", {{"argv", {"true"}}, {"network", {{"allow", {"a.example"}}}}});
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(answer.problem(), "wider-policy") << answer;
}

}  // namespace
