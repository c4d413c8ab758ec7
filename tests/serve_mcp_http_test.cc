// MCP over HTTP: /mcp, in both eras.
#include "serve_mcp_http.h"

namespace {

using namespace e2e;

Json endless(const std::string& marker) {
  return call_of("shell", {{"line", "while :; do sleep 1; done; : " + marker}});
}

// --- with a handshake ---

TEST(McpHttp, ASessionIsOpenedUsedAndClosed) {
  Serve serve({.tools = true});
  const Session session(serve);
  EXPECT_GE(session.id.size(), 22u);
  EXPECT_TRUE(
      std::all_of(session.id.begin(), session.id.end(), [](char c) { return c > ' ' && c < 127; }));
  EXPECT_EQ(session.ask(message(1, "ping"))["result"], Json::object());
  EXPECT_EQ(names_of(session.ask(message(2, "tools/list"))).size(), 4u);
  const Json called = session.ask(message(3, "tools/call", call_of("greet", {{"who", "you"}})));
  EXPECT_EQ(called["result"]["structuredContent"], (Json{{"result", "hello you"}})) << called;
  EXPECT_EQ(session.remove(), 204);
  EXPECT_EQ(session.post(message(4, "ping")).status, 404);
  EXPECT_EQ(session.remove(), 404);
}

TEST(McpHttp, WithoutItsSessionARequestIsRefused) {
  Serve serve({.tools = true});
  Client client = serve.client();
  const std::string list = message(1, "tools/list").dump();
  EXPECT_EQ(client.ask("POST", "/mcp", list).status, 400);
  const Answer unknown = client.ask("POST", "/mcp", list, {{"Mcp-Session-Id", "no-such-session"}});
  EXPECT_EQ(unknown.status, 404) << unknown;
  EXPECT_EQ(unknown.json()["id"], 1);
  EXPECT_EQ(client.get("/mcp", {{"Mcp-Session-Id", "no-such-session"}}).status, 404);
  EXPECT_EQ(client.get("/mcp").status, 405);
  EXPECT_EQ(client.ask("DELETE", "/mcp").status, 405);
  EXPECT_EQ(client.ask("PUT", "/mcp", list).status, 405);
}

TEST(McpHttp, ASessionBelongsToItsToken) {
  Serve serve({.tools = true,
               .token = "[[token]]\nname = 'a'\ntoken = 'aaaaaaaaaaaaaaaa'\n"
                        "[[token]]\nname = 'b'\ntoken = 'bbbbbbbbbbbbbbbb'\nadmin = true\n"});
  const Session session(serve, "aaaaaaaaaaaaaaaa");
  EXPECT_EQ(session.post(message(1, "ping")).status, 200);
  Client other = serve.client("bbbbbbbbbbbbbbbb");
  // The same id, of another token, is another session: there is no way to see, end or use up the first.
  EXPECT_EQ(other.ask("DELETE", "/mcp", "", session.headers()).status, 404);
  EXPECT_EQ(other.ask("POST", "/mcp", message(1, "ping").dump(), session.headers()).status, 200);
  EXPECT_EQ(other.ask("DELETE", "/mcp", "", session.headers()).status, 204);
  EXPECT_EQ(session.post(message(1, "ping")).status, 200);
  EXPECT_EQ(serve.client().ask("POST", "/mcp", initialize(1).dump()).status, 401);
}

TEST(McpHttp, WhoOpensManySessionsLosesTheOldestAndOthersNone) {
  Serve serve({.tools = true,
               .token = "[[token]]\nname = 'a'\ntoken = 'aaaaaaaaaaaaaaaa'\n"
                        "[[token]]\nname = 'b'\ntoken = 'bbbbbbbbbbbbbbbb'\n"});
  const Session others(serve, "bbbbbbbbbbbbbbbb");
  const Session first(serve, "aaaaaaaaaaaaaaaa");
  Client client = serve.client("aaaaaaaaaaaaaaaa");
  for (int i = 0; i < 1999; ++i)
    ASSERT_EQ(client.ask("POST", "/mcp", initialize(i).dump()).status, 200) << i;
  EXPECT_EQ(first.post(message(1, "ping")).status, 200) << "2000 may be";
  const Session last(serve, "aaaaaaaaaaaaaaaa");
  const Session again(serve, "aaaaaaaaaaaaaaaa");
  EXPECT_EQ(first.post(message(2, "ping")).status, 200) << "it was used since";
  for (int i = 0; i < 2000; ++i)
    ASSERT_EQ(client.ask("POST", "/mcp", initialize(i).dump()).status, 200) << i;
  const auto sessions = [&] {
    return serve.get("/v1/status", "aaaaaaaaaaaaaaaa").json().value("sessions", 0);
  };
  EXPECT_EQ(sessions(), 2001);
  for (const Session* each : {&first, &last, &again})
    EXPECT_EQ(each->post(message(3, "ping")).status, 200) << "taken again, in place of another";
  EXPECT_EQ(sessions(), 2001);
  EXPECT_EQ(others.post(message(4, "ping")).status, 200);
}

TEST(McpHttp, ALongListComesInPages) {
  const HostDirectory host;
  write_file(host / "many.toml", many_tools(250));
  Serve serve({.arguments = {"--manifest", host / "many.toml"}});
  const Session session(serve);
  std::vector<std::string> all, stateless;
  for (auto* list : {&all, &stateless}) {
    Json params = Json::object();
    for (int page = 0; page < 10; ++page) {
      const Json answer = list == &all
                              ? session.ask(message(page, "tools/list", params))
                              : ask_modern(serve, modern(page, "tools/list", params)).json();
      for (const std::string& each : names_of(answer)) list->push_back(each);
      if (!answer["result"].contains("nextCursor")) break;
      params["cursor"] = answer["result"]["nextCursor"];
    }
  }
  EXPECT_EQ(all.size(), 250u);
  EXPECT_EQ(all, stateless);
}

TEST(McpHttp, ACancelledCallOfASessionIsNotAnswered) {
  Serve serve({.tools = true});
  const Session session(serve), other(serve);
  const std::string marker = unique_marker("legacy");
  Client client = serve.client();
  session.request(client, message("x", "tools/call", endless(marker)));
  ASSERT_TRUE(serve.runs(1));
  other.post(notice("notifications/cancelled", {{"requestId", "x"}}));
  EXPECT_EQ(serve.calls().size(), 1u) << "not its own";
  EXPECT_EQ(session.post(notice("notifications/cancelled", {{"requestId", "x"}})).status, 202);
  EXPECT_TRUE(serve.runs(0));
  EXPECT_TRUE(comes_true([&] { return processes_with(marker).empty(); }));
  for (const Json& each : messages(client))
    EXPECT_FALSE(each.is_object() && each.contains("id")) << each;
}

TEST(McpHttp, AnIdThatIsInUseInASessionIsRefused) {
  Serve serve({.tools = true});
  const Session session(serve), other(serve);
  Client client = serve.client(), elsewhere = serve.client();
  session.request(client, message(1, "tools/call", call_of("gate")));
  ASSERT_TRUE(serve.runs(1));
  EXPECT_EQ(error_code(session.ask(message(1, "tools/call", call_of("gate")))), -32600);
  other.request(elsewhere, message(1, "tools/call", call_of("gate")));
  EXPECT_TRUE(serve.runs(2)) << "another session's is another";
  open_gate(serve.host);
  for (Client* each : {&client, &elsewhere})
    EXPECT_EQ(messages(*each).back()["result"]["content"][0]["text"], "waiting\nthrough");
}

TEST(McpHttp, InASessionWhoLeavesHasNotCancelled) {
  Serve serve({.tools = true});
  const Session session(serve);
  Client client = serve.client();
  session.request(client, message(1, "tools/call", call_of("gate")));
  ASSERT_TRUE(serve.runs(1));
  client.close();
  // The server has seen it go when a later connection of a cancelled one would have.
  EXPECT_EQ(session.ask(message(2, "ping"))["result"], Json::object());
  EXPECT_EQ(serve.calls().size(), 1u);
  open_gate(serve.host);
  EXPECT_TRUE(serve.runs(0));
  EXPECT_EQ(serve.audit().at(0)["outcome"], "ok");
}

TEST(McpHttp, TheEndOfASessionEndsItsCallsAndStreams) {
  Serve serve({.tools = true});
  const Session session(serve);
  const std::string marker = unique_marker("session");
  Client client = serve.client();
  session.request(client, message(1, "tools/call", endless(marker)));
  Client stream = session.listen();
  ASSERT_TRUE(serve.runs(1));
  EXPECT_EQ(session.remove(), 204);
  EXPECT_TRUE(serve.runs(0));
  EXPECT_TRUE(comes_true([&] { return processes_with(marker).empty(); }));
  EXPECT_FALSE(stream.event()) << "it ends";
  EXPECT_TRUE(comes_true([&] { return serve.get("/v1/status").json()["sessions"] == 0; }));
}

TEST(McpHttp, AChangeIsToldOnASessionsStream) {
  Serve serve({.tools = true});
  const Session session(serve);
  Client stream = session.listen();
  write_file(serve.manifest(), many_tools(2));
  const auto told = stream.event();
  ASSERT_TRUE(told);
  EXPECT_NE(told->id, session.list_id);
  EXPECT_EQ(told->json()["method"], "notifications/tools/list_changed");
  EXPECT_FALSE(told->json().contains("id"));
  EXPECT_EQ(names_of(session.ask(message(1, "tools/list"))).size(), 2u);
}

// A client knows a tool's limits and hints from the list, and they come from the policy.
TEST(McpHttp, AChangeOfAPolicyAloneIsTold) {
  for (const bool builtins : {false, true}) {
    Serve serve({.arguments =
                     builtins ? std::vector<std::string>{"--builtins"} : std::vector<std::string>{},
                 .manifest = with_memory("96M", builtins)});
    const Session session(serve);
    Client stream = session.listen();
    write_file(serve.manifest(), with_memory("80M", builtins));
    const auto told = stream.event();
    ASSERT_TRUE(told) << serve.program().said();
    EXPECT_EQ(told->json()["method"], "notifications/tools/list_changed");
    const std::string text = description_of(session.ask(message(1, "tools/list")),
                                            builtins ? "run_command" : "tool_000");
    EXPECT_TRUE(contains(text, "80 MiB")) << text;
  }
}

TEST(McpHttp, EveryRefusalHasALineInTheAuditLog) {
  Serve serve({.tools = true});
  std::vector<std::string> expected, why;
  for (const auto& [request, reason] : refused_requests()) {
    EXPECT_TRUE(ask_modern(serve, request).json().contains("error")) << request;
    expected.push_back(reason);
  }
  for (const Json& line : serve.audit_lines()) {
    EXPECT_EQ(line["event"], "refused") << line;
    EXPECT_EQ(line["via"], "mcp") << line;
    why.push_back(line.value("why", ""));
  }
  EXPECT_EQ(why, expected);
  EXPECT_TRUE(contains(serve.get("/metrics").body, "brig_refused_total{why=\"unknown-job\"} 1"));
}

TEST(McpHttp, AVersionThatIsNotSpokenIsRefused) {
  Serve serve({.tools = true});
  const Session session(serve);
  Client client = serve.client();
  const Answer answer =
      client.ask("POST", "/mcp", message(1, "ping").dump(),
                 {{"Mcp-Session-Id", session.id}, {"MCP-Protocol-Version", "v999"}});
  EXPECT_EQ(answer.status, 400) << answer;
  for (const char* version : {"2025-06-18", "2025-03-26", "2024-11-05", kLegacy})
    EXPECT_EQ(client
                  .ask("POST", "/mcp", message(1, "ping").dump(),
                       {{"Mcp-Session-Id", session.id}, {"MCP-Protocol-Version", version}})
                  .status,
              200)
        << version;
}

TEST(McpHttp, MembersKeepTheirOrder) {
  Serve serve({.manifest = "[[library]]\npath = '" + guests() + "/libvalues.so'\n"});
  const Session session(serve);
  const std::string value = R"({"z":1,"a":{"y":[{"q":1,"b":2}],"c":3},"m":2})";
  const Json call = call_of("same", {{"value", Json::parse(value)}});
  for (const Answer& answer : {session.post(message(1, "tools/call", call)),
                               ask_modern(serve, modern(2, "tools/call", call))}) {
    ASSERT_EQ(answer.status, 200) << answer;
    const Json content = answer.json()["result"]["structuredContent"];
    // The older era wraps an output whose schema is no object's.
    const Json result = content.contains("result") ? content["result"] : content;
    EXPECT_EQ(result["text"], value);
    EXPECT_EQ(result["value"].dump(), value);
  }
}

TEST(McpHttp, ProgressAndLogsPrecedeTheAnswer) {
  Serve serve({.library = true});
  const Session session(serve);
  Json params = walk();
  params["_meta"] = {{"progressToken", 5}};
  Client client = serve.client();
  session.request(client, message(1, "tools/call", params));
  const auto all = messages(client);
  ASSERT_EQ(all.size(), 5u);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(all[i]["params"]["progress"], static_cast<double>(i + 1) / 4);
  EXPECT_EQ(all[4]["id"], 1);
  EXPECT_EQ(session.ask(message(2, "logging/setLevel", {{"level", "debug"}}))["result"],
            Json::object());
  session.request(client, message(3, "tools/call", call_of("shell", {{"line", "echo hi >&2"}})));
  const auto logged = messages(client);
  ASSERT_EQ(logged.size(), 2u);
  EXPECT_EQ(logged[0]["method"], "notifications/message");
  EXPECT_EQ(logged[0]["params"]["data"], "hi");
}

// --- stateless ---

TEST(McpHttp, TheNewerEraNeedsNoSession) {
  Serve serve({.tools = true});
  const Answer found = ask_modern(serve, modern(1, "server/discover"));
  EXPECT_EQ(found.status, 200) << found;
  EXPECT_EQ(found.header("mcp-session-id"), "");
  EXPECT_EQ(found.json()["result"]["supportedVersions"][0], kModern);
  EXPECT_EQ(names_of(ask_modern(serve, modern(2, "tools/list")).json()).size(), 4u);
  const Answer called =
      ask_modern(serve, modern("x", "tools/call", call_of("greet", {{"who", "you"}})));
  EXPECT_EQ(called.json()["id"], "x");
  EXPECT_EQ(called.json()["result"]["structuredContent"], "hello you") << called;
  EXPECT_EQ(called.json()["result"]["resultType"], "complete");
  EXPECT_EQ(serve.audit().at(0)["via"], "mcp");
}

TEST(McpHttp, HeadersSayWhatTheBodySays) {
  Serve serve({.tools = true});
  Client client = serve.client();
  const Json call = modern(7, "tools/call", call_of("greet", {{"who", "you"}}));
  const auto status = [&](const Headers& headers) {
    const Answer answer = client.ask("POST", "/mcp", call.dump(), headers);
    if (answer.status == 400) {
      EXPECT_EQ(error_code(answer.json()), -32020) << answer;
      EXPECT_EQ(answer.json()["id"], 7);
    }
    return answer.status;
  };
  const std::pair<std::string, std::string> version{"MCP-Protocol-Version", kModern},
      method{"Mcp-Method", "tools/call"}, name{"Mcp-Name", "greet"};
  EXPECT_EQ(status({version, method, name}), 200);
  EXPECT_EQ(status({version, method}), 400);
  EXPECT_EQ(status({version, name}), 400);
  EXPECT_EQ(status({method, name}), 400);
  EXPECT_EQ(status({version, method, {"Mcp-Name", "shell"}}), 400);
  EXPECT_EQ(status({version, {"Mcp-Method", "tools/list"}, name}), 400);
  EXPECT_EQ(status({{"MCP-Protocol-Version", kLegacy}, method, name}), 400);
  EXPECT_EQ(serve.audit().size(), 1u);
}

TEST(McpHttp, ErrorsHaveTheirStatus) {
  Serve serve({.tools = true});
  const auto check = [&](const Json& message, int status, int code) {
    const Answer answer = ask_modern(serve, message);
    EXPECT_EQ(answer.status, status) << message << answer;
    EXPECT_EQ(error_code(answer.json()), code) << message << answer;
    EXPECT_EQ(answer.json()["id"], message["id"]) << answer;
  };
  check(modern(1, "no/such"), 404, -32601);
  check(modern(2, "ping"), 404, -32601);
  check(modern(3, "initialize"), 404, -32601);
  check(message(4, "tools/list"), 400, -32602);
  Json lacking = modern(5, "tools/list");
  lacking["params"]["_meta"].erase("io.modelcontextprotocol/clientCapabilities");
  check(lacking, 400, -32602);
  const Answer unknown = ask_modern(serve, modern(6, "tools/call", call_of("zebra")));
  EXPECT_EQ(error_code(unknown.json()), -32602) << unknown;
  Client client = serve.client();
  const Headers headers = {{"MCP-Protocol-Version", kModern}};
  for (const auto& [text, code] : std::vector<std::pair<std::string, int>>{
           {"{", -32700},
           {"[]", -32600},
           {"7", -32600},
           {"{}", -32600},
           {"[" + modern(1, "tools/list").dump() + "]", -32600}}) {
    const Answer answer = client.ask("POST", "/mcp", text, headers);
    EXPECT_EQ(answer.status, 400) << text << answer;
    EXPECT_EQ(error_code(answer.json()), code) << text << answer;
  }
  EXPECT_EQ(client.ask("POST", "/mcp", "{}", {{"Content-Type", "text/plain"}}).status, 415);
  EXPECT_EQ(client.ask("POST", "/mcp", initialize(1).dump(), {{"Accept", "text/html"}}).status,
            406);
  EXPECT_EQ(client.ask("POST", "/mcp", notice("notifications/x").dump(), headers).status, 202);
}

TEST(McpHttp, WhoLeavesHasCancelled) {
  Serve serve({.tools = true});
  const std::string marker = unique_marker("modern");
  Client client = serve.client();
  request_modern(client, modern(1, "tools/call", endless(marker)));
  ASSERT_TRUE(serve.runs(1));
  client.close();
  EXPECT_TRUE(serve.runs(0));
  EXPECT_TRUE(comes_true([&] { return processes_with(marker).empty(); }));
}

TEST(McpHttp, ASubscriptionTellsOfChangesUntilItsClientLeaves) {
  Serve serve({.tools = true});
  Client tools = serve.client(), prompts = serve.client();
  request_modern(tools, modern("t", "subscriptions/listen",
                               {{"notifications", {{"toolsListChanged", true}}}}));
  request_modern(prompts, modern("p", "subscriptions/listen",
                                 {{"notifications", {{"promptsListChanged", true}}}}));
  for (Client* each : {&tools, &prompts}) {
    EXPECT_EQ(each->read_head().status, 200);
    const auto taken = each->event();
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->json()["method"], "notifications/subscriptions/acknowledged");
  }
  write_file(serve.manifest(), many_tools(2));
  const auto told = tools.event();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->json()["method"], "notifications/tools/list_changed");
  EXPECT_EQ(told->json()["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "t");
  tools.close();
  write_file(serve.manifest(), many_tools(3));
  EXPECT_TRUE(comes_true([&] { return serve.tools().size() == 3; }));
  EXPECT_EQ(error_code(ask_modern(serve, modern(1, "subscriptions/listen")).json()), -32602);
}

TEST(McpHttp, TheTraceOfARequestGoesOn) {
  Serve serve({.tools = true});
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const Answer answer =
      ask_modern(serve, modern(1, "tools/call", call_of("greet", {{"who", "x"}}),
                               {{"traceparent", "00-" + trace + "-00f067aa0ba902b7-01"}}));
  EXPECT_TRUE(contains(answer.json().value("/result/_meta/traceparent"_json_pointer, ""), trace))
      << answer;
  EXPECT_EQ(serve.audit().at(0)["span"]["trace_id"], trace);
}

TEST(McpHttp, ARefusedCallIsAResultForTheModel) {
  Serve serve(
      {.tools = true, .token = "[[token]]\nname = 'a'\ntoken = 'aaaaaaaaaaaaaaaa'\nrate = 0.01\n"});
  const Json call = modern(1, "tools/call", call_of("greet", {{"who", "x"}}));
  Client client = serve.client("aaaaaaaaaaaaaaaa");
  EXPECT_FALSE(client.ask("POST", "/mcp", call.dump(), modern_headers(call))
                   .json()["result"]
                   .contains("isError"));
  const Json refused =
      client.ask("POST", "/mcp", call.dump(), modern_headers(call)).json()["result"];
  EXPECT_EQ(refused["isError"], true) << refused;
  EXPECT_EQ(refused["resultType"], "complete");
  EXPECT_TRUE(contains(refused["content"][0].value("text", ""), "rate-limited")) << refused;
}

TEST(McpHttp, WhatCommandsPrintAndDrawComesAsBlocks) {
  Serve serve;
  const Json call =
      modern(1, "tools/call",
             call_of("run_command", {{"command", "echo hi; base64 -d in > plot"},
                                     {"files", {{"in", "iVBORw0KGgoAAAANSUhEUg=="}}}}));
  const Json result = ask_modern(serve, call).json()["result"];
  ASSERT_EQ(result["content"].size(), 2u) << result;
  EXPECT_EQ(result["content"][0]["text"], "hi\n");
  EXPECT_EQ(result["content"][1]["mimeType"], "image/png");
  EXPECT_EQ(result["_meta"]["brig/exit_code"], 0);
  EXPECT_FALSE(result.contains("structuredContent")) << "the text says it all";
}

}  // namespace
