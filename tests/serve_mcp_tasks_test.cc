// MCP tasks, in the two eras that have them: calls that outlive their request, and whose they are.
#include "serve_mcp_http.h"
#include "serve_stdio.h"

namespace {

using namespace e2e;

constexpr const char* kTasks = "io.modelcontextprotocol/tasks";
constexpr const char *kA = "aaaaaaaaaaaaaaaa", *kB = "bbbbbbbbbbbbbbbb";
constexpr const char* kTwoCallers =
    "[[token]]\nname = 'a'\ntoken = 'aaaaaaaaaaaaaaaa'\n"
    "[[token]]\nname = 'b'\ntoken = 'bbbbbbbbbbbbbbbb'\nadmin = true\n";
// Of the form that brig's have, and not given.
constexpr const char* kNoTask = "t0123456789abcdef0123456789abcdef";

Json line_of_shell(const std::string& text) { return call_of("shell", {{"line", text}}); }
Json endless_line(const std::string& marker) {
  return line_of_shell("while :; do sleep 1; done; : " + marker);
}
Json of_task(const std::string& id) { return {{"taskId", id}}; }

// A request of 2026-07-28, from a client that knows tasks.
Json knowing(const Json& id, const std::string& method, Json params) {
  return modern(id, method, std::move(params),
                {{"io.modelcontextprotocol/clientCapabilities",
                  {{"extensions", {{kTasks, Json::object()}}}}}});
}

// A client of 2026-07-28 that knows tasks.
struct Knowing {
  const Serve& serve;
  std::string token = "";

  Answer post(const Json& message) const {
    Client client = serve.client(token);
    return client.ask("POST", "/mcp", message.dump(), modern_headers(message));
  }
  Json ask(const std::string& method, Json params) const {
    return post(knowing(1, method, std::move(params))).json();
  }
  Json call(Json params) const { return ask("tools/call", std::move(params))["result"]; }
  Json get(const std::string& task) const { return ask("tasks/get", of_task(task))["result"]; }
  // The task, once it has ended.
  Json ended(const std::string& task) const {
    Json told;
    EXPECT_TRUE(comes_true([&] {
      told = get(task);
      return told.value("status", "") != "working";
    })) << told;
    return told;
  }
};

// A session of 2025-11-25, whose calls are tasks.
struct Asking {
  explicit Asking(const Serve& serve, const std::string& token = "") : session(serve, token) {}

  Json ask(const std::string& method, Json params) const {
    return session.ask(message(++id, method, std::move(params)));
  }
  Json create(Json params, Json wish = Json::object()) const {
    params["task"] = std::move(wish);
    return ask("tools/call", std::move(params));
  }
  std::string task(Json params) const {
    return create(std::move(params)).value("/result/task/taskId"_json_pointer, "none");
  }
  Json get(const std::string& task) const { return ask("tasks/get", of_task(task))["result"]; }
  Json result(const std::string& task) const { return ask("tasks/result", of_task(task)); }

  const Session session;
  mutable int id = 100;
};

// --- 2026-07-28 ---

TEST(McpTasks, ALongCallIsATaskAndItsResultComesLater) {
  Serve serve({.tools = true});
  const Knowing client{serve};
  const Json task = client.call(call_of("gate"));
  EXPECT_EQ(task["resultType"], "task") << task;
  EXPECT_EQ(task["status"], "working");
  EXPECT_GE(task["ttlMs"], 600'000);
  EXPECT_GT(task["pollIntervalMs"], 0);
  EXPECT_FALSE(task.contains("result"));
  const std::string id = task.value("taskId", "");
  EXPECT_GE(id.size(), 32u) << "128 random bits";
  const Json working = client.get(id);
  EXPECT_EQ(working["status"], "working") << working;
  EXPECT_EQ(working["resultType"], "complete");
  EXPECT_EQ(serve.calls().size(), 1u);
  open_gate(serve.host);
  const Json ended = client.ended(id);
  EXPECT_EQ(ended["status"], "completed") << ended;
  EXPECT_EQ(ended["result"]["content"][0]["text"], "waiting\nthrough") << ended;
  EXPECT_EQ(ended["result"]["_meta"]["brig/outcome"], "ok");
  EXPECT_EQ(ended["result"]["resultType"], "complete") << "as tools/call would have answered";
  EXPECT_EQ(client.get(id)["result"], ended["result"]) << "as often as it is asked for";
}

TEST(McpTasks, AShortCallIsAnsweredAtOnce) {
  Serve serve({.tools = true});
  Json result;
  // On a machine that stalls for half a second it is a task.
  EXPECT_TRUE(comes_true([&] {
    result = Knowing{serve}.call(call_of("greet", {{"who", "you"}}));
    return result["resultType"] == "complete";
  })) << result;
  EXPECT_EQ(result["structuredContent"], "hello you");
}

TEST(McpTasks, AClientThatDoesNotKnowThemHasNone) {
  Serve serve({.tools = true});
  const Json result =
      ask_modern(serve, modern(1, "tools/call", line_of_shell("sleep 1; echo x"))).json();
  EXPECT_EQ(result["result"]["resultType"], "complete") << result;
  EXPECT_EQ(result["result"]["content"][0]["text"], "x");
  Json hint = line_of_shell("sleep 1; echo x");
  hint["task"] = {{"ttl", 1000}};
  EXPECT_EQ(ask_modern(serve, modern(1, "tools/call", hint)).json()["result"]["resultType"],
            "complete");
  for (const char* method : {"tasks/get", "tasks/update", "tasks/cancel"}) {
    const Answer refused = ask_modern(serve, modern(1, method, of_task(kNoTask)));
    EXPECT_EQ(refused.status, 400);
    EXPECT_EQ(error_code(refused.json()), -32021) << refused;
    EXPECT_TRUE(
        refused.json()["error"]["data"]["requiredCapabilities"]["extensions"].contains(kTasks));
  }
  const Json listen{{"notifications", {{"taskIds", {kNoTask}}}}};
  EXPECT_EQ(error_code(ask_modern(serve, modern(1, "subscriptions/listen", listen)).json()),
            -32021);
}

TEST(McpTasks, AreDeclaredWhereTheyAre) {
  Serve serve({.tools = true});
  const Json found = ask_modern(serve, modern(1, "server/discover")).json()["result"];
  EXPECT_TRUE(found["capabilities"]["extensions"].contains(kTasks)) << found;
  EXPECT_FALSE(found["capabilities"].contains("tasks"));
  for (const char* version : {kLegacy, "2025-06-18", "2025-03-26", "2024-11-05"}) {
    const Session session(serve, "", version);
    const Json capabilities = session.ask(initialize(9, version))["result"]["capabilities"];
    const Json tool = session.ask(message(1, "tools/list"))["result"]["tools"][0];
    EXPECT_FALSE(capabilities.contains("extensions"));
    EXPECT_EQ(capabilities.contains("tasks"), version == std::string(kLegacy)) << capabilities;
    EXPECT_EQ(tool.contains("execution"), version == std::string(kLegacy)) << tool;
    Json call = call_of("greet", {{"who", "you"}});
    call["task"] = Json::object();
    const Json result = session.ask(message(2, "tools/call", call))["result"];
    EXPECT_EQ(result.contains("task"), version == std::string(kLegacy)) << result;
    const Json asked = session.ask(message(3, "tasks/get", of_task(kNoTask)));
    EXPECT_EQ(error_code(asked), version == std::string(kLegacy) ? -32602 : -32601);
  }
}

TEST(McpTasks, CancellingEndsTheCell) {
  Serve serve({.tools = true});
  const Knowing client{serve};
  const std::string id = client.call(endless_line("task-marker-1")).value("taskId", "");
  ASSERT_TRUE(comes_true([&] { return !processes_with("task-marker-1").empty(); }));
  EXPECT_EQ(client.ask("tasks/cancel", of_task(id))["result"], (Json{{"resultType", "complete"}}));
  const Json ended = client.ended(id);
  EXPECT_EQ(ended["status"], "cancelled") << ended;
  EXPECT_FALSE(ended.contains("result"));
  EXPECT_TRUE(processes_with("task-marker-1").empty()) << "a task is cancelled when nothing runs";
  EXPECT_EQ(client.ask("tasks/cancel", of_task(id))["result"], (Json{{"resultType", "complete"}}))
      << "the second time changes nothing";
  EXPECT_EQ(client.get(id)["status"], "cancelled");
}

TEST(McpTasks, GoOnWhenTheirClientLeavesAndItsRequestDoesNot) {
  Serve serve({.tools = true});
  const Knowing client{serve};
  std::string id;
  {
    Client leaving = serve.client();
    const Json call = knowing(1, "tools/call", call_of("gate"));
    leaving.request("POST", "/mcp", call.dump(), modern_headers(call));
    Answer answer = leaving.read();
    id = answer.json()["result"].value("taskId", "");
    leaving.close();
  }
  Client impatient = serve.client();
  const Json call = knowing(1, "tools/call", endless_line("task-marker-2"));
  impatient.request("POST", "/mcp", call.dump(), modern_headers(call));
  ASSERT_TRUE(serve.runs(2));
  impatient.close();
  // Unless it was a task by then, on a machine that stalls.
  ASSERT_TRUE(comes_true([&] {
    return processes_with("task-marker-2").empty() || serve.get("/v1/status").json()["jobs"] == 2;
  }));
  open_gate(serve.host);
  EXPECT_EQ(client.ended(id)["status"], "completed");
  serve.program().signal(SIGTERM);  // and again, for what may still run
  serve.program().signal(SIGTERM);
}

TEST(McpTasks, AFailureIsAResult) {
  Serve serve({.tools = true});
  const Knowing client{serve};
  const std::string id =
      client.call(line_of_shell("sleep 1; echo so >&2; exit 3")).value("taskId", "");
  const Json ended = client.ended(id);
  EXPECT_EQ(ended["status"], "completed") << ended;
  EXPECT_EQ(ended["result"]["isError"], true);
  EXPECT_EQ(ended["result"]["_meta"]["brig/exit_code"], 3);
}

TEST(McpTasks, AnUpdateIsTakenAndChangesNothing) {
  Serve serve({.tools = true});
  const Knowing client{serve};
  const std::string id = client.call(call_of("gate")).value("taskId", "");
  Json update = of_task(id);
  EXPECT_EQ(error_code(client.ask("tasks/update", update)), -32602);
  update["inputResponses"] = {{"x", {{"action", "accept"}}}};
  EXPECT_EQ(client.ask("tasks/update", update)["result"], (Json{{"resultType", "complete"}}));
  EXPECT_EQ(client.get(id)["status"], "working");
  for (const char* gone : {"tasks/result", "tasks/list"})
    EXPECT_EQ(error_code(client.ask(gone, of_task(id))), -32601);
  open_gate(serve.host);
  EXPECT_EQ(client.ended(id)["status"], "completed");
}

TEST(McpTasks, TheirHeadersSayWhichTask) {
  Serve serve({.tools = true});
  const Json get = knowing(1, "tasks/get", of_task(kNoTask));
  Headers headers = modern_headers(get);
  headers.back().second = "another";
  Client client = serve.client();
  const Answer answer = client.ask("POST", "/mcp", get.dump(), headers);
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(error_code(answer.json()), -32020) << answer;
}

// --- 2025-11-25 ---

TEST(McpLegacyTasks, AreAskedForAndAnsweredAtOnce) {
  Serve serve({.tools = true});
  const Asking client(serve);
  const Json created = client.create(call_of("gate"), {{"ttl", 60'000}})["result"]["task"];
  EXPECT_EQ(created["status"], "working") << created;
  EXPECT_EQ(created["ttl"], 60'000);
  EXPECT_GT(created["pollInterval"], 0);
  const std::string id = created.value("taskId", "");
  EXPECT_EQ(client.get(id)["status"], "working");
  // It waits for the end.
  Client waiting = serve.client();
  client.session.request(waiting, message(1, "tasks/result", of_task(id)));
  open_gate(serve.host);
  const Json result = messages(waiting).back()["result"];
  EXPECT_EQ(result["content"][0]["text"], "waiting\nthrough") << result;
  EXPECT_EQ(result["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], id);
  EXPECT_EQ(client.get(id)["status"], "completed");
  EXPECT_EQ(client.result(id)["result"], result);
}

TEST(McpLegacyTasks, ACallThatFailsHasFailed) {
  Serve serve({.tools = true});
  const Asking client(serve);
  const std::string id = client.task(line_of_shell("exit 3"));
  const Json result = client.result(id)["result"];
  EXPECT_EQ(result["isError"], true) << result;
  const Json told = client.get(id);
  EXPECT_EQ(told["status"], "failed") << told;
  EXPECT_TRUE(contains(told.value("statusMessage", ""), "exit code 3")) << told;
  EXPECT_EQ(error_code(client.ask("tasks/cancel", of_task(id))), -32602) << "it has ended";
}

TEST(McpLegacyTasks, CancellingEndsTheCell) {
  Serve serve({.tools = true});
  const Asking client(serve);
  const std::string id = client.task(endless_line("task-marker-3"));
  ASSERT_TRUE(comes_true([&] { return !processes_with("task-marker-3").empty(); }));
  EXPECT_EQ(client.ask("tasks/cancel", of_task(id))["result"]["status"], "cancelled");
  EXPECT_EQ(error_code(client.ask("tasks/cancel", of_task(id))), -32602);
  const Json result = client.result(id)["result"];
  EXPECT_EQ(result["_meta"]["brig/outcome"], "cancelled") << result;
  EXPECT_TRUE(processes_with("task-marker-3").empty());
  EXPECT_EQ(client.get(id)["status"], "cancelled");
}

TEST(McpLegacyTasks, ResultsGoWhenTheirTimeIsOver) {
  Serve serve({.tools = true});
  const Asking client(serve);
  const Json created = client.create(call_of("gate"), {{"ttl", 1}});
  const std::string id = created["result"]["task"].value("taskId", "");
  const std::string other = client.task(call_of("greet", {{"who", "you"}}));
  EXPECT_EQ(client.get(id)["status"], "working") << "what runs is kept";
  open_gate(serve.host);
  EXPECT_TRUE(
      comes_true([&] { return error_code(client.ask("tasks/get", of_task(id))) == -32602; }));
  EXPECT_EQ(error_code(client.result(id)), -32602);
  EXPECT_EQ(client.get(other)["status"], "completed");
}

TEST(McpLegacyTasks, AWaitingRequestCanBeCancelledAndFewMayWait) {
  Serve serve({.tools = true});
  const Asking client(serve);
  const std::string id = client.task(call_of("gate"));
  Client given_up = serve.client();
  client.session.request(given_up, message("give up", "tasks/result", of_task(id)));
  std::vector<Client> waiting;
  // It takes the place of the one that is given up.
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(serve.client());
    if (i == 3) {
      client.session.post(notice("notifications/cancelled", {{"requestId", "give up"}}));
      EXPECT_TRUE(messages(given_up).empty()) << "nothing follows";
    }
    client.session.request(waiting.back(), message(i, "tasks/result", of_task(id)));
  }
  // One more, and the one that has waited longest is told to ask again: its connection may be lost.
  waiting.push_back(serve.client());
  client.session.request(waiting.back(), message(4, "tasks/result", of_task(id)));
  EXPECT_EQ(client.get(id)["status"], "working") << "the task goes on";
  open_gate(serve.host);
  int answered = 0;
  for (Client& each : waiting) {
    const Json last = messages(each).back();
    if (last.contains("result"))
      answered += last["result"]["_meta"]["brig/outcome"] == "ok";
    else
      EXPECT_EQ(error_code(last), -32603) << last;
  }
  EXPECT_GE(answered, 4);
}

TEST(McpLegacyTasks, MalformedWishesAreRefused) {
  Serve serve({.tools = true});
  const Asking client(serve);
  for (const Json& bad : {Json(true), Json("x"), Json{{"ttl", "1"}}, Json{{"ttl", -1}}})
    EXPECT_EQ(error_code(client.create(call_of("greet", {{"who", "you"}}), bad)), -32602) << bad;
  EXPECT_EQ(error_code(client.create(call_of("no_such_tool"))), -32602);
  EXPECT_EQ(error_code(client.ask("tasks/get", {{"taskId", 7}})), -32602);
  EXPECT_EQ(error_code(client.ask("tasks/get", Json::object())), -32602);
  EXPECT_EQ(error_code(client.ask("tasks/get", of_task(std::string(5000, 'x')))), -32602);
  EXPECT_EQ(error_code(client.ask("tasks/list", Json::object())), -32601);
  EXPECT_EQ(error_code(client.ask("tasks/update", of_task(kNoTask))), -32601);
}

// --- whose they are ---

TEST(McpTaskOwners, AnotherTokenFindsNothing) {
  Serve serve({.tools = true, .token = kTwoCallers});
  const Knowing a{serve, kA}, b{serve, kB};
  const Asking old_a(serve, kA), old_b(serve, kB);
  const std::string task = a.call(endless_line("task-marker-4")).value("taskId", ""),
                    old_task = old_a.task(endless_line("task-marker-5"));
  ASSERT_TRUE(comes_true([] {
    return !processes_with("task-marker-4").empty() && !processes_with("task-marker-5").empty();
  }));
  for (const char* method : {"tasks/get", "tasks/cancel", "tasks/update"}) {
    Json params = of_task(task), never = of_task(kNoTask);
    params["inputResponses"] = never["inputResponses"] = Json::object();
    const Json refused = b.ask(method, params);
    EXPECT_EQ(error_code(refused), -32602) << "not even an admin's: " << refused;
    EXPECT_EQ(refused, b.ask(method, never)) << "the same as of what never was";
  }
  for (const char* method : {"tasks/get", "tasks/cancel", "tasks/result"}) {
    const Json refused = old_b.ask(method, of_task(old_task))["error"];
    EXPECT_EQ(refused["code"], -32602);
    EXPECT_EQ(refused, old_b.ask(method, of_task(kNoTask))["error"]);
  }
  for (const std::string& id : {task, old_task}) {
    EXPECT_EQ(serve.get("/v1/jobs/" + id, kB).status, 404);
    EXPECT_EQ(serve.get("/v1/jobs/" + id, kA).status, 404) << "it is no job of the other API";
  }
  EXPECT_TRUE(serve.get("/v1/jobs", kB).json()["jobs"].empty());
  // The two eras tell of a task in different words: one's are not the other's.
  EXPECT_EQ(error_code(old_a.ask("tasks/get", of_task(task))), -32602);
  EXPECT_EQ(error_code(a.ask("tasks/get", of_task(old_task))), -32602);
  EXPECT_FALSE(processes_with("task-marker-4").empty()) << "nobody could end it";
  EXPECT_FALSE(processes_with("task-marker-5").empty());
  // Whatever the session, it is the caller's.
  EXPECT_EQ(Asking(serve, kA).ask("tasks/cancel", of_task(old_task))["result"]["status"],
            "cancelled");
  a.ask("tasks/cancel", of_task(task));
  EXPECT_EQ(a.ended(task)["status"], "cancelled");
}

TEST(McpTaskOwners, TheEndOfASessionIsNotTheEndOfATask) {
  Serve serve({.tools = true});
  std::string id;
  {
    const Asking client(serve);
    id = client.task(call_of("gate"));
    EXPECT_EQ(client.session.remove(), 204);
  }
  open_gate(serve.host);
  EXPECT_EQ(Asking(serve).result(id)["result"]["_meta"]["brig/outcome"], "ok");
}

TEST(McpTaskOwners, AnotherServerKnowsNothingOfThem) {
  std::string id;
  {
    Serve serve({.tools = true});
    const Asking client(serve);
    id = client.task(call_of("greet", {{"who", "you"}}));
    EXPECT_FALSE(client.result(id)["result"].contains("isError"));
  }
  Serve serve({.tools = true});
  EXPECT_EQ(error_code(Asking(serve).ask("tasks/get", of_task(id))), -32602);
}

TEST(McpTaskOwners, ATaskIsAuditedLikeAnyCall) {
  Serve serve({.tools = true});
  const Asking client(serve);
  client.ask("tools/call", line_of_shell("echo 1"));
  client.result(client.task(line_of_shell("echo 1")));
  const auto lines = serve.audit();
  ASSERT_EQ(lines.size(), 2u);
  Json plain = lines[0], task = lines[1];
  EXPECT_EQ(plain["arguments_sha256"], task["arguments_sha256"]);
  EXPECT_EQ(plain["via"], "mcp");
  for (const char* key : {"via", "tool", "caller", "outcome"}) EXPECT_EQ(plain[key], task[key]);
  const auto keys = [](const Json& line) {
    std::vector<std::string> all;
    for (const auto& [key, value] : line.items()) all.push_back(key);
    return all;
  };
  EXPECT_EQ(keys(plain), keys(task));
}

TEST(McpTaskOwners, AFloodOfTasksIsBoundedAndOthersHaveTheirShare) {
  if (kSanitized)
    GTEST_SKIP() << "7,500 requests to a sanitized server take minutes; see jobs_test.cc";
  Serve serve({.tools = true, .token = kTwoCallers});
  const Asking a(serve, kA), b(serve, kB);
  Client client = serve.client(kA);
  // Arguments that do not fit: no cell is needed, and the result is kept all the same.
  Json call = message(1, "tools/call", call_of("greet"));
  call["params"]["task"] = Json::object();
  int taken = 0;
  Json answer;
  for (; taken <= 10'000; ++taken) {
    answer = client.ask("POST", "/mcp", call.dump(), a.session.headers()).json();
    if (answer.contains("error")) break;
  }
  EXPECT_EQ(taken, 7500) << "three quarters of what all have";
  EXPECT_EQ(error_code(answer), -32603) << answer;
  EXPECT_TRUE(contains(answer["error"].value("message", ""), "too-many-jobs")) << answer;
  EXPECT_GT(answer["error"]["data"]["brig/retry_after_ms"], 0) << answer;
  const Json begun = b.create(call_of("greet", {{"who", "b"}}));
  const std::string task = begun.value("/result/task/taskId"_json_pointer, "");
  EXPECT_NE(task, "") << begun;
  const Json ended = b.result(task);
  EXPECT_EQ(ended.value("/result/_meta/brig~1outcome"_json_pointer, ""), "ok") << ended;
  // A call that could be a task is answered as if there were none.
  const Json result = Knowing{serve, kA}.call(line_of_shell("sleep 1; echo x"));
  EXPECT_EQ(result["resultType"], "complete") << result;
  EXPECT_EQ(result["content"][0]["text"], "x");
}

// --- stdio ---

TEST(McpTasksOverStdio, OfBothEras) {
  Stdio mcp;
  mcp.open();
  const Json task = mcp.ask(knowing(1, "tools/call", call_of("gate")))["result"];
  EXPECT_EQ(task["resultType"], "task") << task;
  Json call = call_of("gate");
  call["task"] = Json::object();
  const Json old_task = mcp.ask(message(2, "tools/call", call))["result"]["task"];
  EXPECT_EQ(old_task["status"], "working") << old_task;
  mcp.send(message(3, "tasks/result", of_task(old_task.value("taskId", ""))));
  mcp.send(notice("notifications/cancelled", {{"requestId", 1}}));  // that is no way to end a task
  open_gate(mcp.host);
  EXPECT_EQ(mcp.answer(3)["result"]["content"][0]["text"], "waiting\nthrough");
  Json ended;
  EXPECT_TRUE(comes_true([&] {
    ended = mcp.ask(knowing(4, "tasks/get", of_task(task.value("taskId", ""))))["result"];
    return ended["status"] != "working";
  }));
  EXPECT_EQ(ended["status"], "completed") << ended;
  EXPECT_EQ(ended["result"]["content"][0]["text"], "waiting\nthrough");
}

TEST(McpTasksOverStdio, ARequestThatIsCancelledBeforeItIsATaskNeverIs) {
  Stdio mcp;
  mcp.send(knowing(1, "tools/call", endless_line("task-marker-6")));
  ASSERT_TRUE(comes_true([&] { return !processes_with("task-marker-6").empty(); }));
  mcp.send(notice("notifications/cancelled", {{"requestId", 1}}));
  const bool was_task = !comes_true([&] { return processes_with("task-marker-6").empty(); });
  const Json pong = mcp.ask(knowing(2, "server/discover", Json::object()));
  EXPECT_TRUE(pong.contains("result")) << pong;
  // On a machine that is slow enough it was a task before: then its answer has come, and it goes on until the end of stdin.
  EXPECT_EQ(was_task, !mcp.before.empty());
}

TEST(McpTasksOverStdio, EndWithTheirServer) {
  Stdio mcp;
  mcp.open();
  Json call = endless_line("task-marker-7");
  call["task"] = Json::object();
  EXPECT_EQ(mcp.ask(message(1, "tools/call", call))["result"]["task"]["status"], "working");
  ASSERT_TRUE(comes_true([&] { return !processes_with("task-marker-7").empty(); }));
  EXPECT_EQ(mcp.end(), 0);
  EXPECT_TRUE(comes_true([&] { return processes_with("task-marker-7").empty(); }));
}

TEST(McpTasksOverStdio, WhatATaskLeftIsReadAsAResource) {
  Stdio mcp{Stdio::BuiltIns{}};
  mcp.open();
  Json call = call_of("run_command", {{"command", "seq 200000; echo x > f"}});
  call["task"] = Json::object();
  const std::string id = mcp.ask(message(1, "tools/call", call))["result"]["task"]["taskId"];
  const Json result = mcp.ask(message(2, "tasks/result", of_task(id)))["result"];
  EXPECT_TRUE(contains(result["content"][0]["text"].get<std::string>(), "left out")) << result;
  int links = 0;
  for (const Json& each : result["content"]) {
    if (each["type"] != "resource_link") continue;
    ++links;
    EXPECT_TRUE(
        mcp.ask(message(10 + links, "resources/read", {{"uri", each["uri"]}})).contains("result"));
  }
  EXPECT_EQ(links, 2) << result;
}

}  // namespace
