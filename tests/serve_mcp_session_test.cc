// MCP over HTTP: sessions that outlive their server, streams that outlive their connection, and the older versions.
#include "serve_mcp_http.h"

namespace {

using namespace e2e;

// An id of the form that brig's have, which this server has not given.
constexpr const char* kUnknown = "0123456789abcdef0123456789abcdef";

Headers with_session(const std::string& id) {
  return {{"Accept", kBoth}, {"Mcp-Session-Id", id}, {"MCP-Protocol-Version", kLegacy}};
}

constexpr const char* kTwo =
    "[[token]]\nname = 'a'\ntoken = 'aaaaaaaaaaaaaaaa'\n"
    "[[token]]\nname = 'b'\ntoken = 'bbbbbbbbbbbbbbbb'\n";

// --- sessions ---

TEST(McpSession, AnIdOfAServerThatIsGoneIsTaken) {
  Serve serve({.tools = true});
  Client client = serve.client();
  EXPECT_EQ(
      client.ask("POST", "/mcp", message(1, "tools/list").dump(), with_session(kUnknown)).status,
      200);
  EXPECT_EQ(serve.get("/v1/status").json()["sessions"], 1);
  EXPECT_EQ(client.ask("DELETE", "/mcp", "", with_session(kUnknown)).status, 204);
  EXPECT_EQ(client.ask("POST", "/mcp", message(2, "ping").dump(), with_session(kUnknown)).status,
            404)
      << "it was ended by its client";
}

TEST(McpSession, AnIdOfAnotherFormIsNot) {
  Serve serve({.tools = true});
  Client client = serve.client();
  for (const std::string& id : {std::string("x"), std::string(kUnknown) + "0", std::string(31, 'a'),
                                std::string(32, 'A'), std::string(32, 'g'), std::string(4000, 'a')})
    EXPECT_EQ(client.ask("POST", "/mcp", message(1, "ping").dump(), with_session(id)).status, 404)
        << id;
  EXPECT_EQ(client.ask("DELETE", "/mcp", "", with_session(kUnknown)).status, 404);
  EXPECT_EQ(serve.get("/v1/status").json()["sessions"], 0);
}

TEST(McpSession, ManyUnknownIdsAreOneCallersOwnLoss) {
  Serve serve({.tools = true, .token = kTwo});
  const Session others(serve, "bbbbbbbbbbbbbbbb");
  Client client = serve.client("aaaaaaaaaaaaaaaa");
  for (int i = 0; i < 2100; ++i) {
    char id[33];
    snprintf(id, sizeof id, "%032x", i);
    ASSERT_EQ(client.ask("POST", "/mcp", message(i, "ping").dump(), with_session(id)).status, 200)
        << i;
  }
  // A session that is gone would be taken again, and counted again: so the count is looked at first.
  EXPECT_EQ(serve.get("/v1/status", "aaaaaaaaaaaaaaaa").json()["sessions"], 2001)
      << "2000 of its own, and the other's";
  EXPECT_EQ(others.post(message(1, "ping")).status, 200);
  EXPECT_EQ(serve.get("/v1/status", "aaaaaaaaaaaaaaaa").json()["sessions"], 2001);
}

// --- older versions ---

TEST(McpSession, OlderVersionsConnectAndCall) {
  Serve serve({.tools = true});
  for (const char* version : {"2025-06-18", "2025-03-26", "2024-11-05"}) {
    const Session session(serve, "", version);
    EXPECT_EQ(session.ask(initialize(9, version))["result"]["protocolVersion"], version);
    const Json called =
        session.ask(message(1, "tools/call", call_of("greet", {{"who", "you"}})))["result"];
    EXPECT_EQ(called["content"][0]["text"], "hello you") << version << called;
  }
}

TEST(McpSession, ABatchIsAnsweredTogetherInTheOneVersionThatHasThem) {
  Serve serve({.tools = true});
  const Session session(serve, "", "2025-03-26");
  Json batch = Json::array({message(1, "ping"), notice("notifications/whatever"),
                            message("two", "tools/call", call_of("greet", {{"who", "you"}})),
                            message(3, "no/such"), message(4, "initialize"), 7});
  const Answer answer = session.post(batch);
  ASSERT_EQ(answer.status, 200) << answer;
  std::map<std::string, Json> by_id;
  for (const Json& each : answer.json()) by_id[each.value("id", Json()).dump()] = each;
  ASSERT_EQ(by_id.size(), 5u) << answer;
  EXPECT_EQ(by_id["1"]["result"], Json::object());
  EXPECT_EQ(by_id["\"two\""]["result"]["content"][0]["text"], "hello you");
  EXPECT_EQ(error_code(by_id["3"]), -32601);
  EXPECT_EQ(error_code(by_id["4"]), -32600);
  EXPECT_EQ(error_code(by_id["null"]), -32600);
  EXPECT_EQ(session.post(Json::array({notice("notifications/whatever")})).status, 202);
  EXPECT_EQ(session.post(Json::array()).status, 400);
  Json many = Json::array();
  for (int i = 0; i < 101; ++i) many.push_back(message(i, "ping"));
  EXPECT_EQ(session.post(many).status, 400);
  for (const char* version : {kLegacy, "2025-06-18", "2024-11-05"})
    EXPECT_EQ(Session(serve, "", version).post(batch).status, 400) << version;
}

// The answers of a batch wait for its last, so that what they take together is bounded, and how many batches wait.
TEST(McpSession, AnswersOfBatchesAreBoundedTogether) {
  Serve serve({.arguments = {"--builtins"}, .tools = true});
  const Session session(serve, "", "2025-03-26");
  const Json image = call_of(
      "run_command",
      {{"command", "printf '\\211PNG\\r\\n\\032\\n' > p.png; head -c 1000000 /dev/zero >> p.png"}});
  Json large = Json::array();
  for (int i = 0; i < 6; ++i) large.push_back(message(i, "tools/call", image));
  Client client = serve.client();
  session.request(client, large);
  const Json answers = messages(client).back();
  EXPECT_LT(answers.dump().size(), std::size_t{5} << 20);
  ASSERT_EQ(answers.size(), 6u);
  std::size_t refused = 0;
  for (const Json& each : answers) refused += each.contains("error");
  EXPECT_GE(refused, 2u);
  EXPECT_LT(refused, 6u);

  std::vector<Client> waiting;
  for (int i = 0; i < 16; ++i) {
    waiting.push_back(serve.client());
    session.request(waiting.back(), Json::array({message(100 + i, "tools/call", call_of("gate"))}));
  }
  const Json ping = Json::array({message(200, "ping")});
  EXPECT_TRUE(comes_true([&] { return session.post(ping).status == 400; }));
  open_gate(serve.host);
  EXPECT_TRUE(comes_true([&] { return session.post(ping).status == 200; }));
}

// --- streams ---

// A call of gate whose stream has begun, up to its first event: the id to come back with.
std::string begin_stream(const Session& session, Client& client, int id) {
  session.request(client, message(id, "tools/call", call_of("gate")));
  const Answer head = client.read_head();
  EXPECT_TRUE(head.header("content-type").starts_with("text/event-stream")) << head;
  const auto first = client.event();
  EXPECT_TRUE(first && first->data.empty());
  return first ? first->id : "";
}

Json last_of(Client& client) {
  Json last;
  while (const auto event = client.event())
    if (!event->data.empty()) last = event->json();
  return last;
}

TEST(McpSession, AnAnswerIsThereForWhoComesBack) {
  Serve serve({.tools = true});
  const Session session(serve);
  Client client = serve.client();
  const std::string id = begin_stream(session, client, 5);
  ASSERT_NE(id, "");
  client.close();
  open_gate(serve.host);
  EXPECT_TRUE(serve.runs(0));
  for (int again = 0; again < 2; ++again) {
    Client back = session.listen(id);
    const Json answer = last_of(back);
    EXPECT_EQ(answer["id"], 5) << answer;
    EXPECT_TRUE(contains(answer["result"]["content"][0].value("text", ""), "through")) << answer;
  }
}

TEST(McpSession, WhoComesBackEarlyHearsTheRest) {
  Serve serve({.tools = true});
  const Session session(serve);
  Client client = serve.client();
  const std::string id = begin_stream(session, client, 5);
  Client back = session.listen(id);
  EXPECT_FALSE(client.event()) << "the first connection has lost it";
  open_gate(serve.host);
  EXPECT_EQ(last_of(back)["id"], 5);
}

TEST(McpSession, EventsThatWereReceivedDoNotComeAgain) {
  Serve serve({.library = true});
  const Session session(serve);
  Json params = walk();
  params["_meta"] = {{"progressToken", 5}};
  Client client = serve.client();
  session.request(client, message(1, "tools/call", params));
  client.read_head();
  std::vector<SseEvent> all;
  while (auto event = client.event()) all.push_back(*event);
  ASSERT_EQ(all.size(), 6u) << "an empty one, four of progress, the answer";
  Client back = session.listen(all[3].id);
  for (std::size_t i = 4; i < 6; ++i) {
    const auto event = back.event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->id, all[i].id);
    EXPECT_EQ(event->data, all[i].data);
  }
  EXPECT_FALSE(back.event());
}

TEST(McpSession, AStreamIsItsSessionsAlone) {
  Serve serve({.tools = true, .token = kTwo});
  const Session session(serve, "aaaaaaaaaaaaaaaa"), sibling(serve, "aaaaaaaaaaaaaaaa");
  Client client = serve.client("aaaaaaaaaaaaaaaa");
  const std::string id = begin_stream(session, client, 5);
  const auto status = [&](const std::string& token, Headers headers) {
    headers.push_back({"Last-Event-ID", id});
    return serve.client(token).ask("GET", "/mcp", "", headers).status;
  };
  EXPECT_EQ(status("aaaaaaaaaaaaaaaa", sibling.headers()), 404);
  EXPECT_EQ(status("bbbbbbbbbbbbbbbb", session.headers()), 404) << "another's token";
  EXPECT_EQ(status("bbbbbbbbbbbbbbbb", Session(serve, "bbbbbbbbbbbbbbbb").headers()), 404);
  open_gate(serve.host);
  EXPECT_EQ(last_of(client)["id"], 5);
  EXPECT_EQ(session.remove(), 204);
  EXPECT_EQ(status("aaaaaaaaaaaaaaaa", session.headers()), 404) << "it went with its session";
}

TEST(McpSession, AnEventIdThatIsNoneIsRefused) {
  Serve serve({.tools = true});
  const Session session(serve);
  for (const char* id : {"x", "-", "0123456789abcdef0123456789abcdef-1",
                         "0123456789abcdef0123456789abcdef-99999999999999999999999"}) {
    Headers headers = session.headers();
    headers.push_back({"Last-Event-ID", id});
    EXPECT_EQ(serve.client().ask("GET", "/mcp", "", headers).status, 404) << id;
  }
}

TEST(McpSession, AChangeThatWasMissedIsTold) {
  Serve serve({.tools = true});
  const Session session(serve);
  session.listen().close();
  Client same = session.listen(session.list_id);
  write_file(serve.manifest(), many_tools(2));
  const auto told = same.event();  // (an empty one first: nothing had changed)
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->data.empty());
  const auto changed = same.event();
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->json()["method"], "notifications/tools/list_changed");
  Client late = session.listen(session.list_id);
  const auto missed = late.event();
  ASSERT_TRUE(missed);
  EXPECT_EQ(missed->id, changed->id);
  EXPECT_EQ(missed->json()["method"], "notifications/tools/list_changed");
}

}  // namespace
