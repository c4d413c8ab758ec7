// Calls of tools over HTTP: as JSON, as events, as jobs; their end by whoever may end them.
#include <regex>

#include "serve_program.h"

namespace {

using namespace e2e;

const Headers kEvents = {{"Accept", "text/event-stream"}};

Json shell(const std::string& line) { return {{"arguments", {{"line", line}}}}; }

// RFC 3339, UTC, milliseconds.
bool is_time(const Json& value) {
  return value.is_string() &&
         std::regex_match(value.get<std::string>(),
                          std::regex(R"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ)"));
}

TEST(ServeCall, AResultHasAllItsMembers) {
  Serve serve({.tools = true});
  const Answer answer =
      serve.post("/v1/tools/greet/call", {{"arguments", {{"who", "you"}}}, {"call_id", "my-call"}});
  ASSERT_EQ(answer.status, 200) << answer;
  const Json result = answer.json();
  for (const char* key : {"call_id", "ok", "output", "error", "error_type", "traceback", "denied",
                          "reason", "duration_ms", "started_at", "report"})
    EXPECT_TRUE(result.contains(key)) << key;
  EXPECT_EQ(result["call_id"], "my-call");
  EXPECT_EQ(result["ok"], true);
  EXPECT_EQ(result["output"], "hello you");
  EXPECT_EQ(result["error"], Json());
  for (const char* key : {"outcome", "exit_code", "signal", "message", "stdout", "stderr", "usage",
                          "steps", "enforced", "violations"})
    EXPECT_TRUE(result["report"].contains(key)) << key;
  EXPECT_EQ(result["report"]["outcome"], "ok");
}

TEST(ServeCall, ACommandThatFailsIsAResultToo) {
  Serve serve({.tools = true});
  const Answer answer = serve.post("/v1/tools/shell/call", shell("echo sorry >&2; exit 3"));
  EXPECT_EQ(answer.status, 200) << answer;
  EXPECT_EQ(answer.json()["ok"], false);
  EXPECT_EQ(answer.json()["report"]["outcome"], "exit");
  EXPECT_EQ(answer.json()["report"]["exit_code"], 3);
  EXPECT_EQ(answer.json()["report"]["stderr"], "sorry\n");
}

TEST(ServeCall, WhatIsNoCallIsAProblem) {
  Serve serve({.tools = true});
  Client client = serve.client();
  for (const Headers& headers : {Headers{}, kEvents}) {
    const Answer unknown = client.post("/v1/tools/zebra/call", Json::object(), headers);
    EXPECT_EQ(unknown.status, 404) << unknown;
    EXPECT_EQ(unknown.problem(), "unknown-tool");
  }
  const Answer wrong = client.post("/v1/tools/greet/call", {{"arguments", {{"whom", "x"}}}});
  EXPECT_EQ(wrong.status, 422) << wrong;
  EXPECT_EQ(wrong.problem(), "invalid-arguments");
  EXPECT_TRUE(contains(wrong.json().value("detail", ""), "who")) << wrong;
  const Answer run = client.post("/v1/run", {{"argv", {"true"}}});
  EXPECT_EQ(run.status, 403) << run;
  EXPECT_EQ(run.problem(), "no-commands");
  const Answer job = client.post("/v1/jobs", {{"tool", "zebra"}});
  EXPECT_EQ(job.status, 404) << job;
  EXPECT_EQ(client.post("/v1/jobs", Json::object()).status, 422);
  EXPECT_EQ(client.post("/v1/jobs", {{"tool", 7}}).status, 422);
}

TEST(ServeCall, EventsComeInOrderAndTheResultLast) {
  Serve serve({.tools = true});
  Client client = serve.client();
  client.request("POST", "/v1/tools/shell/call",
                 shell("echo one; sleep 0.2; echo two >&2; sleep 0.2; printf '\\377' >&2").dump(),
                 kEvents);
  const Answer head = client.read_head();
  EXPECT_EQ(head.status, 200);
  EXPECT_TRUE(head.header("content-type").starts_with("text/event-stream")) << head;
  EXPECT_EQ(head.header("x-accel-buffering"), "no");
  std::vector<std::string> kinds;
  std::string out, err, bytes;
  Json last;
  int id = 0;
  while (const auto event = client.event()) {
    EXPECT_GT(std::stoi(event->id), std::exchange(id, std::stoi(event->id)));
    if (kinds.empty() || kinds.back() != event->name) kinds.push_back(event->name);
    last = event->json();
    if (event->name != "output") continue;
    (last["stream"] == "stdout" ? out : err) += last.value("text", "");
    bytes += last.value("text_base64", "");
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"queued", "started", "output", "result"}));
  EXPECT_EQ(out, "one\n");
  EXPECT_EQ(err, "two\n");
  EXPECT_EQ(bytes, "/w==") << "what is not UTF-8";
  EXPECT_EQ(last["ok"], true) << last;
  EXPECT_EQ(last["call_id"], head.header("brig-call-id"));
  EXPECT_EQ(client.get("/healthz").status, 200) << "the connection can be used again";
}

TEST(ServeCall, OfALibraryTellsItsProgress) {
  Serve serve({.library = true});
  Client client = serve.client();
  const Json place{{"latitude", 1}, {"longitude", 2}};
  client.request("POST", "/v1/tools/walk/call",
                 Json{{"arguments", {{"from", place}, {"to", place}}}}.dump(), kEvents);
  ASSERT_EQ(client.read_head().status, 200);
  for (const double fraction : {0.25, 0.5, 0.75, 1.0}) {
    const auto event = client.event("progress");
    ASSERT_TRUE(event);
    EXPECT_EQ(event->json()["fraction"], fraction);
  }
  EXPECT_EQ(client.event("result")->json()["output"], 0.0);
}

TEST(ServeCall, MembersKeepTheirOrder) {
  Serve serve({.manifest = "[[library]]\npath = '" + guests() + "/libvalues.so'\n"});
  const std::string value = R"({"z":1,"a":{"y":[{"q":1,"b":2}],"c":3},"m":2})";
  const Answer answer =
      serve.client().ask("POST", "/v1/tools/same/call", R"({"arguments":{"value":)" + value + "}}");
  ASSERT_EQ(answer.status, 200) << answer;
  EXPECT_EQ(answer.json()["output"]["text"], value);
  EXPECT_NE(answer.body.find(R"("output":{"value":)" + value + ","), answer.body.npos) << answer;
}

TEST(ServeCall, AViolationSaysWhatWouldAllowIt) {
  Serve serve;
  const Json record = serve.client()
                          .ask("POST", "/v1/run", R"({"command":"cat /srv/brig-nowhere"})")
                          .json()["report"]["violations"][0];
  EXPECT_EQ(record["code"], "file.not_in_cell") << record;
  EXPECT_EQ(record["target"], "/srv/brig-nowhere");
  EXPECT_EQ(record["grant"], "files.read = [\"/srv/brig-nowhere\"]");
  EXPECT_EQ(record["retry"], "after_grant");
  EXPECT_EQ(record["certain"], false);
}

TEST(ServeCall, TheSameIdTwiceIsAConflict) {
  Serve serve({.tools = true});
  Client first = serve.client();
  first.request("POST", "/v1/tools/gate/call", R"({"call_id": "x"})");
  ASSERT_TRUE(serve.runs(1));
  EXPECT_EQ(serve.calls()[0]["call_id"], "x");
  const Answer second = serve.post("/v1/tools/gate/call", {{"call_id", "x"}});
  EXPECT_EQ(second.status, 409) << second;
  open_gate(serve.host);
  EXPECT_EQ(first.read().json()["output"], "waiting\nthrough");
  EXPECT_EQ(serve.post("/v1/tools/gate/call", {{"call_id", "x"}}).status, 200) << "now it is free";
}

TEST(ServeCall, IsListedWhileItRuns) {
  Serve serve({.tools = true});
  const Client nap = begin_call(serve, "nap");
  const Json calls = serve.calls();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]["tool"], "nap");
  EXPECT_EQ(calls[0]["caller"], "local");
  EXPECT_EQ(calls[0]["status"], "running");
  EXPECT_TRUE(is_time(calls[0]["started_at"])) << calls;
  EXPECT_GE(calls[0]["age_ms"], 0.0);
  EXPECT_EQ(serve.get("/v1/status").json()["running"], 1);
}

TEST(ServeCall, IsCancelledByWhoDeletesIt) {
  Serve serve({.tools = true});
  Client nap = begin_call(serve, "nap");
  const std::string path = "/v1/calls/" + serve.calls()[0].value("call_id", "");
  const Answer answer = serve.client().ask("DELETE", path);
  EXPECT_EQ(answer.status, 202) << answer;
  EXPECT_EQ(answer.json(), (Json{{"cancelled", true}}));
  const auto result = nap.event("result");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->json()["report"]["outcome"], "cancelled");
  EXPECT_EQ(serve.client().ask("DELETE", path).status, 404);
  EXPECT_EQ(serve.client().ask("DELETE", "/v1/calls/none").problem(), "unknown-call");
}

TEST(ServeCall, AnIdMayHoldAnythingThatCanBePrinted) {
  Serve serve({.tools = true});
  Client client = serve.client();
  client.request("POST", "/v1/tools/nap/call", R"({"call_id": "a/b?c%20d#e"})");
  ASSERT_TRUE(serve.runs(1));
  EXPECT_EQ(serve.client().ask("DELETE", "/v1/calls/a/b").status, 404);
  EXPECT_EQ(serve.client().ask("DELETE", "/v1/calls/a%2Fb%3Fc%2520d%23e").status, 202);
  EXPECT_EQ(client.read().json()["call_id"], "a/b?c%20d#e");
}

// The client is the only one who would read the result.
TEST(ServeCall, WhoseClientLeavesIsKilled) {
  Serve serve({.tools = true});
  const std::string marker = unique_marker("left");
  for (const Headers& headers : {Headers{}, kEvents}) {
    Client client = serve.client();
    client.request("POST", "/v1/tools/shell/call",
                   shell("trap '' TERM; while :; do sleep 1; done; : " + marker).dump(), headers);
    ASSERT_TRUE(serve.runs(1));
    EXPECT_TRUE(comes_true([&] { return !processes_with(marker).empty(); }));
    client.close();
    EXPECT_TRUE(serve.runs(0)) << serve.calls();
    EXPECT_TRUE(comes_true([&] { return processes_with(marker).empty(); }));
  }
  EXPECT_TRUE(comes_true([&] { return serve.audit().size() == 2; }));
  for (const Json& line : serve.audit()) EXPECT_EQ(line["outcome"], "cancelled");
}

TEST(ServeCall, ThatWaitsIsForgottenWhenItsClientLeaves) {
  Serve serve({.arguments = {"--concurrency", "1"}, .tools = true});
  Client running = serve.client();
  running.request("POST", "/v1/tools/gate/call", "{}");
  ASSERT_TRUE(serve.runs(1));
  Client waiting = serve.client();
  waiting.request("POST", "/v1/tools/gate/call", "{}");
  ASSERT_TRUE(comes_true([&] { return serve.calls().size() == 2; }));
  waiting.close();
  EXPECT_TRUE(serve.runs(1));
  open_gate(serve.host);
  EXPECT_EQ(running.read().status, 200);
}

TEST(ServeCall, BeyondTheQueueIsRefusedWithATime) {
  Serve serve({.arguments = {"--concurrency", "1", "--queue", "1"}, .tools = true});
  Client first = serve.client(), second = serve.client();
  first.request("POST", "/v1/tools/gate/call", "{}");
  ASSERT_TRUE(serve.runs(1));
  second.request("POST", "/v1/tools/gate/call", "{}");
  ASSERT_TRUE(comes_true([&] { return serve.calls().size() == 2; }));
  EXPECT_EQ(serve.calls()[1]["status"], "queued");
  const Answer third = serve.post("/v1/tools/gate/call", Json::object());
  EXPECT_EQ(third.status, 503) << third;
  EXPECT_EQ(third.problem(), "overloaded");
  EXPECT_GE(atoi(third.header("retry-after").c_str()), 1) << third;
  open_gate(serve.host);
  EXPECT_EQ(first.read().json()["ok"], true);
  EXPECT_EQ(second.read().json()["ok"], true);
}

TEST(ServeCall, ManyAtOnceAreAllAnswered) {
  Serve serve({.tools = true});
  std::vector<Client> clients;
  for (int i = 0; i < 24; ++i) {
    clients.push_back(serve.client());
    clients.back().request("POST", "/v1/tools/greet/call",
                           Json{{"arguments", {{"who", std::to_string(i)}}}}.dump());
  }
  for (int i = 0; i < 24; ++i)
    EXPECT_EQ(clients[static_cast<std::size_t>(i)].read().json()["output"],
              "hello " + std::to_string(i));
}

// What it does not take in time it loses, and is told so; never the result.
TEST(ServeCall, AClientThatReadsLateGetsTheResult) {
  Serve serve({.tools = true});
  Client client = serve.client();
  client.request("POST", "/v1/tools/shell/call",
                 shell("head -c 6000000 /dev/zero | tr '\\0' x; exit 3").dump(), kEvents);
  ASSERT_EQ(client.read_head().status, 200);
  ASSERT_TRUE(comes_true([&] { return serve.audit().size() == 1; }, 4 * kSoon));
  std::uint64_t taken = 0, lost = 0;
  Json last;
  std::string name;
  while (const auto event = client.event()) {
    name = event->name;
    last = event->json();
    if (name == "output") taken += last["text"].get<std::string>().size();
    if (name == "lost") lost += last["dropped"].get<std::uint64_t>();
  }
  EXPECT_EQ(name, "result");
  EXPECT_EQ(last["report"]["exit_code"], 3);
  EXPECT_EQ(last["report"]["stdout_bytes"], 6'000'000);
  EXPECT_TRUE(taken == 6'000'000 || lost > 0) << taken;
}

// --- jobs ---

TEST(ServeJobs, AreSubmittedAndPolled) {
  Serve serve({.tools = true});
  const std::string begin = now_text();
  const Answer taken = serve.post("/v1/jobs", {{"tool", "gate"}});
  const std::string end = now_text();
  ASSERT_EQ(taken.status, 202) << taken;
  const std::string path = taken.header("location");
  EXPECT_EQ(path, "/v1/jobs/" + taken.json().value("id", ""));
  EXPECT_EQ(taken.json()["tool"], "gate");
  EXPECT_NE(taken.json()["status"], "done");
  EXPECT_TRUE(comes_true([&] { return serve.get(path).json()["status"] == "running"; }));
  EXPECT_EQ(serve.get(path + "?wait=0.05").json()["status"], "running");
  Client waiting = serve.client();
  waiting.request("GET", path + "?wait=60");
  open_gate(serve.host);
  const Json job = waiting.read().json();
  EXPECT_EQ(job["status"], "done") << job;
  EXPECT_EQ(job["result"]["output"], "waiting\nthrough");
  EXPECT_TRUE(is_between(job["created_at"], begin, end)) << job;
  EXPECT_EQ(serve.get("/v1/jobs").json()["jobs"].size(), 1u);
  EXPECT_EQ(serve.get(path).json()["result"]["ok"], true) << "it stays";
}

TEST(ServeJobs, AreCancelledThenForgotten) {
  Serve serve({.tools = true});
  Client client = serve.client();
  const std::string path = client.post("/v1/jobs", {{"tool", "nap"}}).header("location");
  ASSERT_TRUE(serve.runs(1));
  const Answer cancelled = client.ask("DELETE", path);
  EXPECT_EQ(cancelled.status, 202) << cancelled;
  EXPECT_EQ(cancelled.json()["tool"], "nap");
  EXPECT_EQ(client.get(path + "?wait=60").json()["result"]["report"]["outcome"], "cancelled");
  EXPECT_EQ(client.ask("DELETE", path).status, 204);
  EXPECT_EQ(client.get(path).status, 404);
  EXPECT_EQ(client.ask("DELETE", path).status, 404);
  EXPECT_EQ(client.get(path).problem(), "unknown-job");
}

TEST(ServeJobs, GoOnWithoutTheirClient) {
  Serve serve({.tools = true});
  const std::string path = serve.post("/v1/jobs", {{"tool", "gate"}}).header("location");
  {
    Client waiting = serve.client();
    waiting.request("GET", path + "?wait=60");
    waiting.close();
  }
  ASSERT_TRUE(serve.runs(1));
  open_gate(serve.host);
  EXPECT_EQ(serve.get(path + "?wait=60").json()["result"]["ok"], true);
}

TEST(ServeJobs, AWaitThatIsNoTimeIsRefused) {
  Serve serve({.tools = true});
  const std::string path = serve.post("/v1/jobs", {{"tool", "nap"}}).header("location");
  for (const char* wait : {"x", "-1", "1e9", "nan", ""})
    EXPECT_EQ(serve.get(path + "?wait=" + wait).status, 422) << wait;
  EXPECT_EQ(serve.client().ask("DELETE", path).status, 202);
}

TEST(ServeCall, TimesHaveOneForm) {
  Serve serve({.tools = true});
  Client events = serve.client();
  events.request("GET", "/events");
  events.read_head();
  const Json result = serve.post("/v1/tools/shell/call", shell("true")).json();
  EXPECT_TRUE(is_time(result["started_at"])) << result;
  EXPECT_TRUE(is_time(events.event("started")->json()["at"]));
  EXPECT_TRUE(is_time(serve.post("/v1/jobs", {{"tool", "greet"}, {"arguments", {{"who", "x"}}}})
                          .json()["created_at"]));
  for (const Json& line : serve.audit_lines()) EXPECT_TRUE(is_time(line["at"])) << line;
  EXPECT_TRUE(is_time(serve.audit().at(0)["started_at"]));
}

TEST(ServeCall, IsKeptAfterItsEndForItsCallerAndAnAdmin) {
  const std::string alice = "alice-0123456789abcdef", bob = "bob-0123456789abcdef",
                    root = "root-0123456789abcdef";
  Serve serve({.tools = true,
               .token = "[[token]]\nname = 'alice'\ntoken = '" + alice +
                        "'\n[[token]]\nname = 'bob'\ntoken = '" + bob +
                        "'\n[[token]]\nname = 'root'\nadmin = true\ntoken = '" + root + "'\n"});
  const auto ended = [&](const std::string& token, const char* most = "1000") {
    return serve.get(std::string("/v1/calls?ended=") + most, token).json()["ended"];
  };
  serve.post("/v1/tools/shell/call", shell("echo first; exit 3"), alice);
  serve.post("/v1/tools/shell/call", shell("echo second >&2"), alice);
  serve.post("/v1/tools/shell/call", shell("echo third"), bob);
  const Json own = ended(alice);
  ASSERT_EQ(own.size(), 2u) << own;
  EXPECT_EQ(own[0]["stderr_end"], "second\n") << "the newest first";
  EXPECT_EQ(own[1]["outcome"], "exit");
  EXPECT_EQ(own[1]["stdout_end"], "first\n");
  EXPECT_TRUE(is_time(own[1]["started_at"]) && is_time(own[1]["ended_at"])) << own;
  EXPECT_FALSE(own[0].contains("arguments"));
  EXPECT_EQ(ended(bob).size(), 1u);
  EXPECT_EQ(ended(root).size(), 3u);
  EXPECT_EQ(ended(root, "1").size(), 1u);
  EXPECT_FALSE(serve.get("/v1/calls", root).json().contains("ended")) << "it was not asked for";
  for (const char* bad : {"1001", "x", "-1", "1.5"})
    EXPECT_EQ(serve.get(std::string("/v1/calls?ended=") + bad, root).status, 422) << bad;
}

}  // namespace
