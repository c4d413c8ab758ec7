// What is told of calls: the stream of events, the audit log, metrics, traces.
#include "serve_program.h"

namespace {

using namespace e2e;

Json shell(const std::string& line, const std::string& id = "") {
  Json body{{"arguments", {{"line", line}}}};
  if (!id.empty()) body["call_id"] = id;
  return body;
}

Client watching(const Serve& serve, const std::string& query = "") {
  Client client = serve.client();
  client.request("GET", "/events" + query);
  const Answer head = client.read_head();
  EXPECT_EQ(head.status, 200) << head;
  EXPECT_TRUE(head.header("content-type").starts_with("text/event-stream")) << head;
  if (query.empty()) {
    EXPECT_TRUE(client.event("status"));
  }
  return client;
}

TEST(ServeEvents, EverythingIsTold) {
  Serve serve({.tools = true});
  const std::string begin = now_text();
  Client events = watching(serve);
  serve.post("/v1/tools/shell/call", shell("echo out; sleep 0.1; echo err >&2; exit 3", "x"));
  std::vector<std::string> kinds;
  Json last;
  while (kinds.empty() || kinds.back() != "finished") {
    const auto event = events.event();
    ASSERT_TRUE(event);
    if (event->name == "status") continue;
    kinds.push_back(event->name);
    last = event->json();
    EXPECT_EQ(last["kind"], event->name);
    EXPECT_EQ(last["call_id"], "x");
    EXPECT_EQ(last["caller"], "local");
    EXPECT_EQ(last["tool"], "shell");
    EXPECT_TRUE(is_between(last["at"], begin, now_text())) << last;
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"queued", "started", "output", "output", "finished"}));
  EXPECT_EQ(last["outcome"], "exit");
  EXPECT_EQ(last["stdout_bytes"], 4);
  EXPECT_EQ(last["stderr_bytes"], 4);
  for (const char* key : {"queue_ms", "dispatch_ms", "run_ms", "teardown_ms"})
    EXPECT_TRUE(last["steps"].contains(key)) << key;
  for (const char* key : {"wall_ms", "cpu_ms", "memory_peak_bytes"})
    EXPECT_TRUE(last["usage"].contains(key)) << key;
  EXPECT_TRUE(last.contains("message") && last.contains("violations") &&
              last.contains("duration_ms"));
}

TEST(ServeEvents, OfOneCallNothingElseIsTold) {
  Serve serve({.tools = true});
  Client events = watching(serve, "?call_id=mine");
  serve.post("/v1/tools/shell/call", shell("echo a", "other"));
  serve.post("/v1/tools/shell/call", shell("echo b", "mine"));
  for (const char* kind : {"queued", "started", "output", "finished"}) {
    const auto event = events.event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->name, kind);
    EXPECT_EQ(event->json()["call_id"], "mine");
  }
}

TEST(ServeEvents, TheStatusComesAgainAndAgain) {
  Serve serve({.tools = true});
  Client events = watching(serve);
  const auto first = events.event("status"), second = events.event("status");
  ASSERT_TRUE(first && second);
  EXPECT_LT(first->json()["uptime_s"], second->json()["uptime_s"]);
  EXPECT_LT(std::stoi(first->id), std::stoi(second->id));
  EXPECT_EQ(first->json()["tools"], 4);
}

// It must not keep anything for who does not read, nor the call for who watches.
TEST(ServeEvents, AWatcherThatDoesNotReadHoldsNobodyUp) {
  Serve serve({.tools = true});
  Client deaf = watching(serve);
  for (int i = 0; i < 3; ++i) {
    const Answer answer =
        serve.post("/v1/tools/shell/call", shell("head -c 8000000 /dev/zero | tr '\\0' x"));
    EXPECT_EQ(answer.status, 200);
  }
  EXPECT_EQ(serve.get("/healthz").status, 200);
}

TEST(ServeEvents, WatchersThatLeaveAreForgotten) {
  Serve serve({.tools = true});
  for (int i = 0; i < 20; ++i) watching(serve).close();
  EXPECT_TRUE(comes_true(
      [&] { return contains(serve.get("/metrics").body, "\nbrig_http_event_streams 0\n"); }));
  serve.post("/v1/tools/shell/call", shell("echo a"));
}

// --- the audit log ---

TEST(ServeAudit, EveryCallHasALine) {
  Serve serve({.tools = true});
  serve.post("/v1/tools/greet/call", {{"arguments", {{"who", "a secret"}}}, {"call_id", "one"}});
  serve.post("/v1/tools/shell/call", shell("exit 3"));
  serve.post("/v1/tools/zebra/call", Json::object());
  serve.post("/v1/tools/greet/call", Json::object());
  const std::string job = serve.post("/v1/jobs", {{"tool", "nap"}}).header("location");
  serve.client().ask("DELETE", job);
  serve.get(job + "?wait=60");
  const auto lines = serve.audit();
  ASSERT_EQ(lines.size(), 4u);
  const std::vector<std::string> outcomes = {"ok", "exit", "invalid_arguments", "cancelled"};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Json& line = lines[i];
    for (const char* key : {"at", "started_at", "call_id", "caller", "peer", "via", "tool",
                            "arguments_sha256", "outcome", "duration_ms", "usage", "span"})
      EXPECT_TRUE(line.contains(key)) << key << " is not in " << line;
    EXPECT_EQ(line["outcome"], outcomes[i]);
    EXPECT_EQ(line["caller"], "local");
    EXPECT_TRUE(line["peer"].get<std::string>().starts_with("127.0.0.1:"));
    EXPECT_EQ(line["span"]["trace_id"].get<std::string>().size(), 32u);
    EXPECT_EQ(line["span"]["span_id"].get<std::string>().size(), 16u);
    EXPECT_EQ(line["arguments_sha256"].get<std::string>().size(), 64u);
  }
  EXPECT_EQ(lines[0]["call_id"], "one");
  EXPECT_EQ(lines[0]["via"], "http");
  EXPECT_EQ(lines[3]["via"], "job");
  EXPECT_FALSE(contains(read_file(serve.audit_path()), "secret")) << "arguments are not kept";
  EXPECT_EQ(mode_of(serve.audit_path()) & 0777, 0600u);
}

TEST(ServeAudit, ALineIsThereBeforeTheAnswerIs) {
  Serve serve({.tools = true});
  Client client = serve.client();
  for (std::size_t i = 1; i <= 10; ++i) {
    client.post("/v1/tools/greet/call", {{"arguments", {{"who", "x"}}}});
    EXPECT_EQ(serve.audit().size(), i);
  }
}

TEST(ServeAudit, ThatCanNotBeWrittenRefusesCalls) {
  Serve serve({.tools = true, .audit = "/dev/full"});
  const Answer answer = serve.post("/v1/tools/greet/call", {{"arguments", {{"who", "x"}}}});
  EXPECT_EQ(answer.status, 503) << answer;
  EXPECT_EQ(answer.problem(), "no-audit");
  EXPECT_NE(answer.header("retry-after"), "");
  EXPECT_EQ(serve.post("/v1/jobs", {{"tool", "nap"}}).status, 503);
  EXPECT_EQ(serve.get("/v1/tools").status, 200);
  EXPECT_TRUE(serve.program().says("can't be written (No space left on device)"));
  const std::string metrics = serve.get("/metrics").body;
  EXPECT_FALSE(contains(metrics, "\nbrig_audit_failures_total 0\n")) << metrics;
  EXPECT_TRUE(contains(metrics, "brig_refused_total{why=\"no-audit\"} 2\n")) << metrics;
  EXPECT_FALSE(contains(metrics, "brig_calls_total")) << "nothing was run";
}

TEST(ServeAudit, ACallThatDiesWithTheServerLeavesItsStart) {
  Serve serve({.tools = true});
  Client nap = begin_call(serve, "nap");
  const auto lines = serve.audit_lines();
  ASSERT_EQ(lines.size(), 1u);
  for (const char* key :
       {"at", "call_id", "caller", "peer", "via", "tool", "arguments_sha256", "span"})
    EXPECT_TRUE(lines[0].contains(key)) << key << " is not in " << lines[0];
  EXPECT_EQ(lines[0]["event"], "start");
  EXPECT_FALSE(lines[0].contains("arguments"));
  serve.program().signal(SIGKILL);
  serve.expected_code = 128 + SIGKILL;
  serve.program().wait();
  EXPECT_EQ(serve.audit_lines().size(), 1u);
}

TEST(ServeAudit, EveryRefusalHasALine) {
  const std::string bob = "bob-0123456789abcdef";
  Serve serve({.tools = true,
               .token = "[[token]]\nname = 'bob'\ntoken = '" + bob +
                        "'\ntools = ['greet', 'gate', 'zebra']\nconcurrency = 1\n"});
  const auto greet = [&](const Json& body) {
    return serve.post("/v1/tools/greet/call", body, bob).status;
  };
  EXPECT_EQ(serve.get("/v1/tools").status, 401);
  EXPECT_EQ(serve.client(bob).get("/v1/tools", {{"Origin", "https://evil.example.com"}}).status,
            403);
  EXPECT_EQ(serve.post("/v1/tools/shell/call", Json::object(), bob).status, 403);
  EXPECT_EQ(serve.post("/v1/tools/zebra/call", Json::object(), bob).status, 404);
  EXPECT_EQ(greet({{"arguments", 5}}), 422);
  Client gate = begin_call(serve, "gate", bob);
  EXPECT_EQ(greet({{"arguments", {{"who", "x"}}}}), 429);
  std::vector<std::string> why;
  for (const Json& line : serve.audit_lines())
    if (line["event"] == "refused") why.push_back(line.value("why", ""));
  EXPECT_EQ(why, (std::vector<std::string>{"token-needed", "origin-not-allowed", "not-allowed",
                                           "unknown-tool", "invalid-arguments", "too-many-calls"}));
  open_gate(serve.host);
  EXPECT_TRUE(gate.event("result"));
}

TEST(ServeAudit, WhatThereIsNoRoomForHasALineToo) {
  const std::string bob = "bob-0123456789abcdef", alice = "alice-0123456789abcdef";
  Serve serve({.arguments = {"--concurrency", "1", "--queue", "1"},
               .tools = true,
               .token = "[[token]]\nname = 'bob'\ntoken = '" + bob +
                        "'\nrate = 0.01\n[[token]]\nname = 'alice'\ntoken = '" + alice + "'\n"});
  const auto refusals = [&] {
    Json lines = Json::array();
    for (const Json& line : serve.audit_lines())
      if (line["event"] == "refused")
        lines.push_back({line["status"], line["why"], line["caller"], line["tool"]});
    return lines;
  };
  const Json hello{{"arguments", {{"who", "x"}}}};
  EXPECT_EQ(serve.post("/v1/tools/greet/call", hello, bob).status, 200);
  EXPECT_EQ(serve.post("/v1/tools/greet/call", hello, bob).status, 429);
  Client running = serve.client(alice), waiting = serve.client(alice);
  running.request("POST", "/v1/tools/gate/call", R"({"call_id": "mine"})");
  ASSERT_TRUE(comes_true([&] { return serve.calls(alice).size() == 1; }));
  EXPECT_EQ(serve.post("/v1/tools/gate/call", {{"call_id", "mine"}}, alice).status, 409);
  waiting.request("POST", "/v1/tools/gate/call", "{}");
  ASSERT_TRUE(comes_true([&] { return serve.calls(alice).size() == 2; }));
  const Answer third = serve.post("/v1/tools/gate/call", Json::object(), alice);
  EXPECT_EQ(third.problem(), "overloaded") << third;
  EXPECT_EQ(refusals(), Json::parse(R"([[429, "rate-limited", "bob", "greet"],
                                        [409, "call-exists", "alice", "gate"]])"));
  // That one was taken, and had no place: it has a start and an end.
  const Json last = serve.audit_lines().back();
  EXPECT_EQ(last["event"], "end") << last;
  EXPECT_EQ(last["outcome"], "overloaded") << last;
  EXPECT_EQ(last["caller"], "alice") << last;
  open_gate(serve.host);
  EXPECT_EQ(running.read().status, 200);
  EXPECT_EQ(waiting.read().status, 200);
}

TEST(ServeAudit, AnUnknownToolByMcpHasALineToo) {
  Serve serve({.tools = true});
  serve.client().post(
      "/mcp",
      {{"jsonrpc", "2.0"},
       {"id", 1},
       {"method", "tools/call"},
       {"params",
        {{"name", "zebra"},
         {"_meta",
          {{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
           {"io.modelcontextprotocol/clientInfo", {{"name", "x"}, {"version", "1"}}},
           {"io.modelcontextprotocol/clientCapabilities", Json::object()}}}}}},
      {{"Accept", "application/json, text/event-stream"},
       {"MCP-Protocol-Version", "2026-07-28"},
       {"Mcp-Method", "tools/call"},
       {"Mcp-Name", "zebra"}});
  const auto lines = serve.audit_lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["why"], "unknown-tool");
  EXPECT_EQ(lines[0]["via"], "mcp");
  EXPECT_EQ(lines[0]["tool"], "zebra");
}

TEST(ServeAudit, AFloodOfRefusalsIsAFewLines) {
  Serve serve({.tools = true, .token = "0123456789abcdef"});
  Client client = serve.client();
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(client.get("/v1/tools").status, 401);
  std::uint64_t told = 0;
  std::size_t lines = 0;
  EXPECT_TRUE(comes_true([&] {
    told = lines = 0;
    for (const Json& line : serve.audit_lines()) {
      ++lines;
      told += line.value("count", 1u);
    }
    return told == 2000;
  })) << told;
  EXPECT_LT(lines, 500u);
}

TEST(ServeAudit, ShowsOfArgumentsWhatTheOperatorWants) {
  const Json call{{"arguments", {{"who", "a secret"}}}};
  const auto shown = [&](const char* how) {
    Serve serve({.arguments = {"--audit-arguments", how}, .tools = true});
    Client events = watching(serve);
    EXPECT_EQ(serve.get("/v1/status").json()["arguments"], how);
    serve.post("/v1/tools/greet/call", call);
    Json of = {{"audit", serve.audit_lines().at(0).value("arguments", Json())}};
    const auto queued = events.event("queued");
    of["event"] = queued ? queued->json().value("arguments", Json()) : Json("none");
    of["ended"] = serve.get("/v1/calls?ended=1").json()["ended"].at(0).value("arguments", Json());
    return of;
  };
  const auto all = [](const Json& value) {
    return Json{{"audit", value}, {"event", value}, {"ended", value}};
  };
  EXPECT_EQ(shown("off"), all(nullptr));
  EXPECT_EQ(shown("redacted"), all({{"who", "string, 8 bytes"}}));
  EXPECT_EQ(shown("full"), all(call["arguments"]));
}

TEST(ServeAudit, AHangupOpensTheFileAnew) {
  Serve serve({.tools = true});
  serve.post("/v1/tools/shell/call", shell("true"));
  const std::string old = serve.audit_path() + ".1";
  ASSERT_EQ(rename(serve.audit_path().c_str(), old.c_str()), 0);
  serve.program().signal(SIGHUP);
  ASSERT_TRUE(serve.program().says("reloaded"));
  serve.post("/v1/tools/shell/call", shell("true"));
  EXPECT_EQ(serve.audit().size(), 1u);
  const std::string before = read_file(old);
  EXPECT_EQ(std::count(before.begin(), before.end(), '\n'), 2) << before;
}

// --- traces ---

TEST(ServeTrace, TheCallersTraceGoesOn) {
  Serve serve({.tools = true});
  Client client = serve.client();
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736", parent = "00f067aa0ba902b7";
  const Headers headers = {{"traceparent", "00-" + trace + "-" + parent + "-01"}};
  const Answer answer = client.post("/v1/tools/shell/call", shell("true"), headers);
  const std::string out = answer.header("traceparent");
  EXPECT_TRUE(out.starts_with("00-" + trace + "-")) << answer;
  EXPECT_TRUE(out.ends_with("-01")) << answer;
  const Json span = serve.audit().at(0)["span"];
  EXPECT_EQ(span["trace_id"], trace);
  EXPECT_EQ(span["parent_id"], parent);
  EXPECT_EQ(span["span_id"], out.substr(36, 16));
  EXPECT_NE(span["span_id"], parent);
  const Answer job = client.post("/v1/jobs", {{"tool", "nap"}}, headers);
  EXPECT_TRUE(job.header("traceparent").starts_with("00-" + trace)) << job;
  client.ask("DELETE", job.header("location"));
}

TEST(ServeTrace, WithoutOneOneBegins) {
  Serve serve({.tools = true});
  Client client = serve.client();
  const Answer none = client.post("/v1/tools/shell/call", shell("true"));
  const Answer bad =
      client.post("/v1/tools/shell/call", shell("true"), {{"traceparent", "00-0-0-0"}});
  EXPECT_EQ(none.header("traceparent").size(), 55u) << none;
  EXPECT_EQ(bad.header("traceparent").size(), 55u) << bad;
  EXPECT_NE(none.header("traceparent").substr(3, 32), bad.header("traceparent").substr(3, 32));
  EXPECT_FALSE(serve.audit().at(0)["span"].contains("parent_id"));
}

// --- metrics ---

TEST(ServeMetrics, CountWhatHappened) {
  Serve serve({.tools = true});
  serve.post("/v1/tools/shell/call", shell("echo out"));
  serve.post("/v1/tools/shell/call", shell("exit 1"));
  serve.post("/v1/tools/made-up-name/call", Json::object());
  const std::string text = serve.get("/metrics").body;
  for (const char* line :
       {"brig_calls_total{outcome=\"ok\",tool=\"shell\"} 1\n",
        "brig_calls_total{outcome=\"exit\",tool=\"shell\"} 1\n",
        "brig_output_bytes_total{stream=\"stdout\"} 4\n",
        "brig_call_duration_seconds_count{tool=\"shell\"} 2\n",
        "brig_refused_total{why=\"unknown-tool\"} 1\n",
        "brig_http_requests_total{method=\"POST\",route=\"/v1/tools/{name}/call\","
        "status=\"200\"} 2\n",
        "brig_http_requests_total{method=\"POST\",route=\"/v1/tools/{name}/call\","
        "status=\"404\"} 1\n",
        "\nbrig_reloads_total{result=\"failed\"} 0\n"})
    EXPECT_TRUE(contains(text, line)) << line << text;
  EXPECT_FALSE(contains(text, "made-up-name")) << "nobody can make up names";
}

TEST(ServeMetrics, CountReloadsThatFail) {
  Serve serve({.tools = true});
  write_file(serve.manifest(), "this is no manifest");
  ASSERT_TRUE(serve.program().says("stays as it was"));
  EXPECT_TRUE(comes_true([&] {
    return contains(serve.get("/metrics").body, "\nbrig_reloads_total{result=\"failed\"} 1\n");
  }));
}

}  // namespace
