// MCP over stdin and stdout: `brig mcp`.
#include <sstream>

#include "serve_stdio.h"

namespace {

using namespace e2e;

TEST(McpStdio, TheOlderErasHandshake) {
  Stdio mcp;
  const Json answer = mcp.ask(initialize("first"));
  const Json& result = answer["result"];
  EXPECT_EQ(result["protocolVersion"], kLegacy) << answer;
  EXPECT_EQ(result["serverInfo"]["name"], "brig");
  EXPECT_EQ(result["capabilities"]["tools"]["listChanged"], true);
  mcp.send(notice("notifications/initialized"));
  EXPECT_EQ(mcp.ask(message(1, "ping"))["result"], Json::object());
  EXPECT_EQ(names_of(mcp.ask(message(2, "tools/list"))),
            (std::vector<std::string>{"gate", "greet", "nap", "shell"}));
  const Json called = mcp.ask(message(3, "tools/call", call_of("greet", {{"who", "you"}})));
  EXPECT_EQ(called["result"]["structuredContent"], (Json{{"result", "hello you"}})) << called;
  EXPECT_EQ(called["result"]["content"][0]["type"], "text");
  EXPECT_FALSE(called["result"].value("isError", false));
  EXPECT_TRUE(mcp.before.empty());
}

TEST(McpStdio, VersionsAreAgreedOn) {
  Stdio mcp;
  for (const char* version : {"2025-06-18", "2025-03-26", "2024-11-05"})
    EXPECT_EQ(mcp.ask(initialize(1, version))["result"]["protocolVersion"], version);
  EXPECT_EQ(mcp.ask(initialize(2, "1999-01-01"))["result"]["protocolVersion"], kLegacy);
  EXPECT_EQ(error_code(mcp.ask(message(3, "initialize"))), -32602);
}

TEST(McpStdio, TheNewerEraNeedsNone) {
  Stdio mcp;
  const Json found = mcp.ask(modern(1, "server/discover"))["result"];
  EXPECT_EQ(found["resultType"], "complete");
  EXPECT_EQ(found["supportedVersions"][0], kModern);
  EXPECT_EQ(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "brig");
  EXPECT_TRUE(found.contains("ttlMs") && found.contains("cacheScope"));
  const Json list = mcp.ask(modern(2, "tools/list"));
  EXPECT_EQ(names_of(list).size(), 4u);
  EXPECT_EQ(list["result"]["resultType"], "complete");
  const Json called =
      mcp.ask(modern(3, "tools/call", call_of("greet", {{"who", "you"}})))["result"];
  EXPECT_EQ(called["structuredContent"], "hello you");
  EXPECT_EQ(called["resultType"], "complete");
}

TEST(McpStdio, BothErasOnOneConnection) {
  Stdio mcp;
  mcp.open();
  EXPECT_EQ(mcp.ask(modern(1, "server/discover"))["result"]["resultType"], "complete");
  EXPECT_EQ(mcp.ask(message(2, "ping"))["result"], Json::object());
  EXPECT_EQ(error_code(mcp.ask(modern(3, "ping"))), -32601) << "there is none in the newer";
  EXPECT_EQ(error_code(mcp.ask(modern(4, "initialize"))), -32601);
}

TEST(McpStdio, WhatIsWrongIsAnErrorOfItsKind) {
  Stdio mcp;
  mcp.open();
  EXPECT_EQ(error_code(mcp.ask(message(1, "no/such"))), -32601);
  EXPECT_EQ(error_code(mcp.ask(modern(2, "no/such"))), -32601);
  EXPECT_EQ(error_code(mcp.ask(message(3, "tools/call", call_of("zebra")))), -32602);
  EXPECT_EQ(error_code(mcp.ask(message(4, "tools/call"))), -32602);
  EXPECT_EQ(error_code(mcp.ask(message(5, "tools/call", {{"name", "greet"}, {"arguments", 7}}))),
            -32602);
  EXPECT_EQ(error_code(mcp.ask(message(6, "tools/list", {{"cursor", "???"}}))), -32602);
  EXPECT_EQ(error_code(mcp.ask(message(7, "logging/setLevel", {{"level", "loud"}}))), -32602);
  Json lacking = modern(8, "tools/list");
  lacking["params"]["_meta"].erase("io.modelcontextprotocol/clientCapabilities");
  EXPECT_EQ(error_code(mcp.ask(lacking)), -32602);
  Json future = modern(9, "tools/list");
  future["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "v999";
  const Json refused = mcp.ask(future);
  EXPECT_EQ(error_code(refused), -32022) << refused;
  EXPECT_EQ(refused["error"]["data"]["requested"], "v999");
  EXPECT_FALSE(refused["error"]["data"]["supported"].empty());
  const Json invalid = mcp.ask(message(10, "tools/call", call_of("greet", {{"whom", 1}})));
  EXPECT_EQ(invalid["result"]["isError"], true) << "for the model to read: " << invalid;
}

TEST(McpStdio, WhatIsNoMessageIsAnswered) {
  Stdio mcp;
  for (
      const auto& [text, code] : std::vector<std::pair<std::string, int>>{
          {"{", -32700},
          {"\xff", -32700},
          {R"({"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"})", -32700},
          {R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"who":"a","who":"b"}}})",
           -32700},
          {"[]", -32600},
          {"[{}]", -32600},
          {"7", -32600},
          {"null", -32600},
          {"{}", -32600},
          {R"({"jsonrpc":"1.0","id":1,"method":"ping"})", -32600},
          {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", -32600},
          {R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", -32600},
          {R"({"jsonrpc":"2.0","id":{},"method":"ping"})", -32600},
          {R"({"jsonrpc":"2.0","id":1,"method":7})", -32600},
          {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})", -32602}}) {
    mcp.send_line(text);
    const Json answer = mcp.next();
    EXPECT_EQ(error_code(answer), code) << text << ": " << answer;
    EXPECT_FALSE(answer.contains("id") && answer["id"].is_null()) << answer;
  }
  mcp.send_line("");                                          // nothing at all is nothing
  mcp.send_line(R"({"jsonrpc":"2.0","id":99,"result":{}})");  // to nothing that was asked
  mcp.send_line(R"({"jsonrpc":"2.0","method":"notifications/unknown"})");
  mcp.send_line("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\r");
  EXPECT_EQ(mcp.next()["id"], 5);
}

TEST(McpStdio, ALineWithoutEndIsNotKept) {
  Stdio mcp;
  mcp.open();
  mcp.send_line(std::string(65 << 20, 'x'));
  const Json refused = mcp.next();
  EXPECT_EQ(error_code(refused), -32600) << refused;
  EXPECT_EQ(mcp.ask(message(1, "ping"))["result"], Json::object());
}

TEST(McpStdio, IdsComeBackAsTheyWere) {
  Stdio mcp;
  for (const Json& id : {Json(0), Json(-7), Json("7"), Json(""), Json("ä\"\\"), Json(1LL << 53)})
    EXPECT_EQ(mcp.ask(message(id, "ping"))["id"], id);
}

TEST(McpStdio, AnIdThatIsInUseIsRefusedAndTheFirstGoesOn) {
  Stdio mcp;
  mcp.open();
  mcp.send(message(1, "tools/call", call_of("gate")));
  EXPECT_EQ(error_code(mcp.ask(message(1, "tools/call", call_of("gate")))), -32600);
  EXPECT_EQ(mcp.ask(message("1", "ping"))["result"], Json::object()) << "the text is another";
  open_gate(mcp.host);
  EXPECT_EQ(mcp.answer(1)["result"]["isError"], Json()) << "of the first";
  EXPECT_EQ(mcp.ask(message(1, "ping"))["result"], Json::object()) << "and it is free again";
}

TEST(McpStdio, AnswersComeAsTheyAreReady) {
  Stdio mcp;
  mcp.open();
  mcp.send(message("slow", "tools/call", call_of("gate")));
  EXPECT_TRUE(mcp.ask(message("quick", "ping")).contains("result"));
  open_gate(mcp.host);
  EXPECT_TRUE(mcp.answer("slow").contains("result"));
}

// Nothing may follow of a request that was cancelled: what does would be found before the ping's answer.
TEST(McpStdio, ACallThatIsCancelledEndsAndIsNotAnswered) {
  Stdio mcp;
  mcp.open();
  for (const bool of_modern : {false, true}) {
    const std::string marker = unique_marker("cancelled");
    const Json id = of_modern ? "m" : "l";
    mcp.begin(id, marker, of_modern);
    mcp.before.clear();
    mcp.send(notice("notifications/cancelled", {{"requestId", id}, {"reason", "enough"}}));
    EXPECT_TRUE(comes_true([&] { return processes_with(marker).empty(); }));
    EXPECT_TRUE(comes_true([&] {
      const std::string log = read_file(mcp.host / "audit.jsonl");
      return std::count(log.begin(), log.end(), '\n') == (of_modern ? 4 : 2);
    }));
    const Json ping_id = of_modern ? "ping m" : "ping l";
    EXPECT_TRUE(mcp.ask(message(ping_id, "ping")).contains("result"));
    for (const Json& each : mcp.before) {
      EXPECT_FALSE(each.contains("id")) << each;
    }
    EXPECT_TRUE(mcp.ask(message(id, "ping")).contains("result")) << "the id is free again";
  }
  mcp.send(notice("notifications/cancelled", {{"requestId", "none"}}));
  mcp.send(notice("notifications/cancelled"));
  EXPECT_TRUE(mcp.ask(message("last", "ping")).contains("result"));
}

TEST(McpStdio, ProgressGrowsAndHasItsToken) {
  Stdio mcp("", true);
  mcp.open();
  for (const Json& token : {Json("a token"), Json(7)}) {
    Json params = walk();
    params["_meta"] = {{"progressToken", token}};
    mcp.before.clear();
    EXPECT_TRUE(mcp.ask(message(token, "tools/call", params)).contains("result"));
    double last = -1;
    int count = 0;
    for (const Json& each : mcp.before) {
      if (each["method"] != "notifications/progress") continue;
      EXPECT_EQ(each["params"]["progressToken"], token);
      EXPECT_GT(each["params"]["progress"], last);
      last = each["params"]["progress"];
      ++count;
    }
    EXPECT_EQ(count, 4);
    EXPECT_EQ(last, 1.0);
  }
  mcp.before.clear();
  EXPECT_TRUE(mcp.ask(message(3, "tools/call", walk())).contains("result"));
  for (const Json& each : mcp.before) EXPECT_NE(each["method"], "notifications/progress") << each;
}

TEST(McpStdio, WhatAToolSaysOnStderrIsALog) {
  Stdio mcp;
  mcp.open();
  const Json call = call_of("shell", {{"line", "echo one >&2; printf two >&2"}});
  const auto logged = [&](const Json& request) {
    mcp.before.clear();
    EXPECT_TRUE(mcp.ask(request).contains("result"));
    std::vector<std::string> lines;
    for (const Json& each : mcp.before)
      if (each["method"] == "notifications/message")
        lines.push_back(each["params"].value("data", ""));
    return lines;
  };
  EXPECT_EQ(logged(message(1, "tools/call", call)), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(mcp.ask(message(2, "logging/setLevel", {{"level", "error"}}))["result"],
            Json::object());
  EXPECT_EQ(logged(message(3, "tools/call", call)), (std::vector<std::string>{}));
  EXPECT_EQ(logged(modern(4, "tools/call", call)), (std::vector<std::string>{})) << "nobody asked";
  EXPECT_EQ(logged(modern(5, "tools/call", call, {{"io.modelcontextprotocol/logLevel", "debug"}})),
            (std::vector<std::string>{"one", "two"}));
}

TEST(McpStdio, ALongListComesInPages) {
  Stdio mcp(many_tools(250));
  mcp.open();
  std::vector<std::string> all;
  Json params = Json::object();
  for (int page = 0; page < 10; ++page) {
    const Json answer = mcp.ask(message(page, "tools/list", params));
    for (const std::string& each : names_of(answer)) all.push_back(each);
    if (!answer["result"].contains("nextCursor")) break;
    params["cursor"] = answer["result"]["nextCursor"];
  }
  EXPECT_EQ(all.size(), 250u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST(McpStdio, AChangeOfTheToolsIsTold) {
  Stdio mcp;
  mcp.open();
  mcp.send(
      modern("sub", "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}}));
  const Json taken = mcp.notification("notifications/subscriptions/acknowledged");
  EXPECT_EQ(taken["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "sub") << taken;
  write_file(mcp.path(), many_tools(2));
  int tagged = 0, plain = 0;
  for (int i = 0; i < 2; ++i) {
    const Json told = mcp.notification("notifications/tools/list_changed");
    ASSERT_TRUE(told.is_object());
    const bool has = told["params"].contains("_meta");
    (has ? tagged : plain) += 1;
  }
  EXPECT_EQ(tagged, 1) << "of the subscription";
  EXPECT_EQ(plain, 1) << "of the handshake";
  EXPECT_EQ(names_of(mcp.ask(message(1, "tools/list"))).size(), 2u);
  mcp.send(notice("notifications/cancelled", {{"requestId", "sub"}}));
  write_file(mcp.path(), many_tools(3));
  EXPECT_TRUE(mcp.notification("notifications/tools/list_changed").is_object());
  mcp.before.clear();
  EXPECT_EQ(names_of(mcp.ask(message(2, "tools/list"))).size(), 3u);
  EXPECT_TRUE(mcp.before.empty()) << "of what was cancelled nothing comes: " << mcp.before[0];
}

TEST(McpStdio, AChangeOfAPolicyAloneIsTold) {
  Stdio mcp(with_memory("96M"));
  mcp.open();
  write_file(mcp.path(), with_memory("80M"));
  EXPECT_TRUE(mcp.notification("notifications/tools/list_changed").is_object())
      << mcp.program().said();
  const std::string text = description_of(mcp.ask(message(1, "tools/list")), "tool_000");
  EXPECT_TRUE(contains(text, "80 MiB")) << text;
}

TEST(McpStdio, OfAReloadThatChangesNothingNothingIsTold) {
  Stdio mcp(with_memory("96M"));
  mcp.open();
  mcp.program().signal(SIGHUP);
  EXPECT_TRUE(mcp.program().says("the manifest was reloaded")) << mcp.program().said();
  EXPECT_EQ(mcp.ask(message(1, "ping"))["result"], Json::object());
  EXPECT_TRUE(mcp.before.empty()) << mcp.before[0];
}

TEST(McpStdio, EveryRefusalHasALineInTheAuditLog) {
  Stdio mcp;
  std::vector<std::string> expected, why;
  for (const auto& [request, reason] : refused_requests()) {
    EXPECT_TRUE(mcp.ask(request).contains("error")) << request;
    expected.push_back(reason);
  }
  std::istringstream lines(read_file(mcp.host / "audit.jsonl"));
  for (std::string line; std::getline(lines, line);)
    why.push_back(Json::parse(line).value("why", ""));
  EXPECT_EQ(why, expected);
}

// No client takes lines of any length, and a tool's description may be long.
TEST(McpStdio, APageOfToolsIsAMebibyteAtMost) {
  std::string manifest;
  const std::string text(150'000, '"');  // twice as long as JSON
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    manifest += std::string("[[command]]\nname = '") + name + "'\ndescription = '" + text +
                "'\nargv = ['true']\n";
  Stdio mcp(manifest);
  mcp.open();
  std::vector<std::string> all;
  Json params = Json::object();
  for (int page = 0; page < 10; ++page) {
    const Json answer = mcp.ask(message(page, "tools/list", params));
    EXPECT_LE(answer.dump().size(), std::size_t{1} << 20);
    for (const std::string& each : names_of(answer)) all.push_back(each);
    if (!answer["result"].contains("nextCursor")) break;
    params["cursor"] = answer["result"]["nextCursor"];
  }
  EXPECT_EQ(all, (std::vector<std::string>{"a", "b", "c", "d", "e", "f"}));
}

TEST(McpStdio, TheNewerEraHearsOfNothingThatItDidNotAskFor) {
  Stdio mcp;
  EXPECT_EQ(names_of(mcp.ask(modern(1, "tools/list"))).size(), 4u);
  write_file(mcp.path(), many_tools(2));
  EXPECT_TRUE(mcp.program().says("reloaded"));
  EXPECT_EQ(names_of(mcp.ask(modern(2, "tools/list"))).size(), 2u);
  EXPECT_TRUE(mcp.before.empty()) << mcp.before[0];
}

TEST(McpStdio, ABatchIsAnsweredInTheOneVersionThatHasThem) {
  Stdio mcp;
  const Json batch = Json::array({message(1, "ping"), message(2, "tools/list")});
  mcp.send(batch);
  EXPECT_EQ(error_code(mcp.next()), -32600) << "no version was agreed on";
  EXPECT_EQ(mcp.ask(initialize(0, "2025-03-26"))["result"]["protocolVersion"], "2025-03-26");
  mcp.send(batch);
  const Json answers = mcp.next_of_any_kind();
  ASSERT_EQ(answers.size(), 2u) << answers;
  EXPECT_EQ(answers[0]["id"], 1);
  EXPECT_EQ(names_of(answers[1]).size(), 4u);
  mcp.send(Json::array({notice("notifications/initialized")}));
  EXPECT_EQ(mcp.ask(message(3, "ping"))["result"], Json::object()) << "and nothing came before it";
  EXPECT_TRUE(mcp.before.empty());
}

TEST(McpStdio, ItsEndEndsCallsAndLeavesNothing) {
  Stdio mcp;
  mcp.open();
  const std::string marker = unique_marker("eof");
  mcp.begin(1, marker);
  EXPECT_EQ(mcp.end(), 0) << mcp.program().said();
  EXPECT_TRUE(comes_true([&] { return processes_with(marker).empty(); }));
}

TEST(McpStdio, ASignalEndsItToo) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Stdio mcp;
    mcp.open();
    const std::string marker = unique_marker("signal");
    mcp.begin(1, marker);
    mcp.program().signal(signal);
    EXPECT_EQ(mcp.program().wait(kSoon), 0) << mcp.program().said();
    EXPECT_TRUE(comes_true([&] { return processes_with(marker).empty(); }));
  }
}

TEST(McpStdio, RequestsBeforeTheEndAreAnswered) {
  Stdio mcp;
  mcp.send(message(1, "ping"));
  mcp.send(modern(2, "tools/list"));
  EXPECT_EQ(mcp.end(), 0);
  EXPECT_EQ(mcp.next()["id"], 1);
  EXPECT_EQ(mcp.next()["id"], 2);
  EXPECT_TRUE(mcp.next().is_null());
}

TEST(McpStdio, OutputOfToolsDoesNotGetIntoTheProtocol) {
  Stdio mcp;
  mcp.open();
  const Json answer =
      mcp.ask(message(1, "tools/call",
                      call_of("shell", {{"line",
                                         "echo '{\"jsonrpc\":\"2.0\"}'; echo x >/dev/tty; "
                                         "echo y > /proc/self/fd/1; ls /proc/1/fd; true"}})));
  EXPECT_TRUE(answer.contains("result")) << answer;
  EXPECT_EQ(mcp.ask(message(2, "ping"))["result"], Json::object());
}

TEST(McpStdio, MayReadFromAFile) {
  const HostDirectory host;
  write_file(host / "in", message(1, "ping").dump() + "\n" + modern(2, "tools/list").dump());
  const int in = open((host / "in").c_str(), O_RDONLY | O_CLOEXEC);
  const Result result = brig_program({"mcp", "--audit", "none"}, {.in = in});
  close(in);
  EXPECT_EQ(result.code, 0) << result;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2) << result;
  EXPECT_EQ(Json::parse(result.out.substr(0, result.out.find('\n')), nullptr, false)["id"], 1);
}

TEST(McpStdio, TheAuditLogIsInTheStateDirectoryUnlessSaid) {
  const HostDirectory host;
  const Result found = brig_program({"mcp"}, {.variables = {"XDG_STATE_HOME=" + host.path()}});
  EXPECT_EQ(found.code, 0) << found;
  EXPECT_EQ(found.out, "");
  EXPECT_EQ(mode_of(host / "brig/audit.jsonl") & 0777, 0600u);
  const Result service =
      brig_program({"mcp"}, {.variables = {"STATE_DIRECTORY=" + host.make("service")}});
  EXPECT_EQ(service.code, 0) << service;
  EXPECT_TRUE(exists(host / "service/audit.jsonl"));
  const Result none = brig_program({"mcp"}, {.variables = {"XDG_STATE_HOME=", "HOME="}});
  EXPECT_EQ(none.code, 125) << none;
  EXPECT_TRUE(contains(none.err, "--audit")) << none;
}

}  // namespace
