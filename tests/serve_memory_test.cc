// What the worst that may be sent to the server, given by a tool, kept or told takes of the host's memory.
#include "serve_mcp_http.h"
#include "serve_stdio.h"

namespace {

using namespace e2e;

// Whatever the size, the values of a text may take 64 MiB (json_text.h); the rest is buffers, and memory that is free but not given
// back yet.
constexpr std::size_t kMiB = 1 << 20, kConstant = 96 * kMiB, kBody = 4 * kMiB;

std::string many(const std::string& part, std::size_t size = kBody) {
  std::string text = "[";
  while (text.size() + part.size() < size) text += part + ",";
  text.back() = ']';
  return text;
}

struct Kind {
  const char* name;
  std::string text;
};

// Those that are least like each other come first.
std::vector<Kind> worst_texts() {
  std::string keys = "{", escapes = "\"";
  for (int i = 0; keys.size() < kBody; ++i) keys += "\"" + std::to_string(i) + "\":0,";
  keys.back() = '}';
  while (escapes.size() < kBody) escapes += "\\u0000";
  return {{"objects", many("{}")},
          {"longer strings", many("\"sixteen letters!\"")},
          {"escapes", escapes + "\""},
          {"arrays", many("[]")},
          {"members", many("{\"\":0}")},
          {"keys", keys},
          {"depth", many(std::string(60, '[') + std::string(60, ']'))},
          {"strings", many("\"\"")},
          {"numbers", many("1")},
          {"numbers that grow", many("1E14")}};
}

// One reader reads them all: by the other ways in, three will do.
std::vector<Kind> some_worst_texts() {
  std::vector<Kind> texts = worst_texts();
  texts.resize(3);
  return texts;
}

// A line of /proc/PID/status, in bytes.
std::uint64_t memory_of(pid_t pid, const std::string& field) {
  const std::string status = read_file("/proc/" + std::to_string(pid) + "/status");
  const std::size_t at = status.find("\n" + field + ":");
  EXPECT_NE(at, std::string::npos) << field;
  return strtoull(status.c_str() + at + field.size() + 2, nullptr, 10) * 1024;
}

// A server, and how much larger it has been than when it was new.
class Measured {
 public:
  Serve serve;
  struct BuiltIns {};
  explicit Measured(std::vector<std::string> arguments = {})
      : Measured(ServeOptions{.arguments = std::move(arguments), .manifest = manifest_text()}) {}
  explicit Measured(BuiltIns) : Measured(ServeOptions{}) {}
  explicit Measured(ServeOptions options) : serve(std::move(options)) {
    EXPECT_EQ(serve.get("/v1/tools").status, 200);
    new_ = memory("VmHWM");
  }

  std::uint64_t memory(const std::string& field) { return memory_of(pid(), field); }
  std::uint64_t grown(const std::string& field = "VmHWM") {
    const std::uint64_t now = memory(field);
    return now > new_ ? now - new_ : 0;
  }
  // `bytes`: sent to it, sent by it, or kept.
  void expect_small(const std::string& what, std::size_t bytes, std::size_t constant = kConstant) {
    EXPECT_LT(grown(), 4 * bytes + constant) << what;
  }

 private:
  static std::string manifest_text() {
    return "[policy]\nmemory = '1G'\ntimeout = '100s'\n[[library]]\npath = '" + guests() +
           "/libvalues.so'\n[[command]]\nname = 'flood'\n"
           "argv = ['sh', '-c', 'head -c 8M /dev/zero | tr \"\\\\0\" x']\n";
  }
  pid_t pid() { return serve.program().pid(); }
  std::uint64_t new_ = 0;
};

class ServeMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  }
};

const Headers kModernCall = {{"Accept", "application/json"},
                             {"MCP-Protocol-Version", kModern},
                             {"Mcp-Method", "tools/call"}};

Headers with_name(const std::string& tool) {
  Headers headers = kModernCall;
  headers.emplace_back("Mcp-Name", tool);
  return headers;
}

// The text of a message whose arguments are that text.
std::string call_text(Json call, const std::string& arguments) {
  call["params"]["arguments"] = "@";
  std::string text = call.dump();
  return text.replace(text.find("\"@\""), 3, arguments);
}

TEST_F(ServeMemory, TheWorstArgumentsOfACall) {
  Measured it;
  for (const auto& [name, text] : worst_texts()) {
    const Answer answer = it.serve.client().ask("POST", "/v1/tools/take/call",
                                                "{\"arguments\":{\"value\":" + text + "}}");
    EXPECT_TRUE(answer.status == 200 || answer.status == 400 || answer.status == 422) << answer;
    it.expect_small(name, kBody);
  }
}

TEST_F(ServeMemory, TheWorstArgumentsOfAJob) {
  Measured it;
  for (const auto& [name, text] : some_worst_texts()) {
    const Answer answer = it.serve.client().ask(
        "POST", "/v1/jobs", R"({"tool":"take","arguments":{"value":)" + text + "}}");
    if (answer.status == 202) {
      const std::string path = "/v1/jobs/" + answer.json().value("id", "");
      EXPECT_EQ(it.serve.get(path + "?wait=60").json()["status"], "done");
    }
    it.expect_small(name, kBody);
  }
}

TEST_F(ServeMemory, TheWorstArgumentsByMcp) {
  Measured it;
  const std::string session = it.serve.client()
                                  .post("/mcp", initialize(1), {{"Accept", "application/json"}})
                                  .header("mcp-session-id");
  for (const auto& [name, text] : some_worst_texts()) {
    const std::string arguments = "{\"value\":" + text + "}";
    EXPECT_NE(
        it.serve.client()
            .ask("POST", "/mcp", call_text(modern(1, "tools/call", call_of("take")), arguments),
                 with_name("take"))
            .status,
        0);
    EXPECT_NE(
        it.serve.client()
            .ask("POST", "/mcp", call_text(message(2, "tools/call", call_of("take")), arguments),
                 {{"Accept", "application/json"}, {"Mcp-Session-Id", session}})
            .status,
        0);
    it.expect_small(name, kBody);
  }
}

TEST_F(ServeMemory, TheWorstThatIsNoRequest) {
  Measured it;
  const auto send = [&](const char* path, const Kind& kind) {
    const Answer answer = it.serve.client().ask("POST", path, kind.text);
    EXPECT_TRUE(answer.status >= 400 && answer.status < 500) << path << kind.name << answer.status;
    it.expect_small(kind.name + std::string(path), kBody);
  };
  const std::vector<Kind> kinds = worst_texts();
  for (const Kind& kind : kinds) send("/v1/run", kind);
  for (const char* path : {"/v1/tools/take/call", "/v1/jobs", "/mcp"}) send(path, kinds[0]);
}

TEST_F(ServeMemory, TheWorstResults) {
  Measured it;
  const std::string session = it.serve.client()
                                  .post("/mcp", initialize(1), {{"Accept", "application/json"}})
                                  .header("mcp-session-id");
  constexpr std::size_t kResult = 2 * kMiB;
  std::size_t largest = 0;
  const auto take = [&](const std::string& what, Client client) {
    const Answer answer = client.read();
    EXPECT_EQ(answer.status, 200) << what << answer.body.substr(0, 200);
    largest = std::max({largest, kResult, answer.body.size()});
    it.expect_small(what, largest);
    return answer;
  };
  const auto ask = [&](const std::string& path, const Json& body, const Headers& headers = {}) {
    Client client = it.serve.client();
    client.request("POST", path, body.dump(), headers);
    return client;
  };
  for (const Json& item :
       {Json::object(), Json{{"", 0}}, Json("sixteen letters!"), Json(std::string(1000, '"'))}) {
    const std::string what = item.dump().substr(0, 20);
    const Json arguments{{"item", item}, {"bytes", kResult}};
    const Json body{{"arguments", arguments}};
    take(what, ask("/v1/tools/give/call", body));
    take(what + " events", ask("/v1/tools/give/call", body, {{"Accept", "text/event-stream"}}));
    take(what + " modern",
         ask("/mcp", modern(1, "tools/call", call_of("give", arguments)), with_name("give")));
    take(what + " legacy", ask("/mcp", message(2, "tools/call", call_of("give", arguments)),
                               {{"Accept", "application/json"}, {"Mcp-Session-Id", session}}));
    const Json job = ask("/v1/jobs", {{"tool", "give"}, {"arguments", arguments}}).read().json();
    Client client = it.serve.client();
    client.request("GET", "/v1/jobs/" + job.value("id", "") + "?wait=60");
    EXPECT_EQ(take(what + " job", std::move(client)).json()["status"], "done");
  }
}

TEST_F(ServeMemory, AFaultBelowALongNameIsToldInShort) {
  Measured it;
  const Json list = Json::array_t(1000, "no number");
  const Answer answer =
      it.serve.post("/v1/tools/take_lists/call",
                    {{"arguments", {{"lists", {{std::string(8 * kMiB, 'n'), list}}}}}});
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(answer.problem(), "invalid-arguments");
  EXPECT_LT(answer.body.size(), 64 * 1024u);
  it.expect_small("name", 8 * kMiB);
}

TEST_F(ServeMemory, ASyntaxErrorIsToldInShort) {
  Measured it;
  const std::string text = "\"" + std::string(8 * kMiB, 'a');
  for (const char* path : {"/v1/run", "/mcp"}) {
    const Answer answer = it.serve.client().ask("POST", path, text);
    EXPECT_EQ(answer.status, 400);
    EXPECT_LT(answer.body.size(), 1000u);
    it.expect_small(path, text.size(), 32 * kMiB);
  }
}

TEST_F(ServeMemory, NothingLongIsSentBackByMcp) {
  Measured it;
  Json meta{{"progressToken", std::string(kBody, 't')}};
  const Answer token = it.serve.client().post(
      "/mcp", modern(1, "tools/call", call_of("chat", {{"count", 3}}), meta), with_name("chat"));
  EXPECT_EQ(error_code(token.json()), -32602) << token;
  const Json list = Json::array_t(100'000, "text");
  const Answer resource =
      it.serve.client().post("/mcp", modern(1, "resources/read", {{"uri", list}}),
                             {{"Accept", "application/json"},
                              {"MCP-Protocol-Version", kModern},
                              {"Mcp-Method", "resources/read"}});
  EXPECT_EQ(error_code(resource.json()), -32602) << resource.body.substr(0, 200);
  EXPECT_LT(resource.body.size(), 1000u);
}

TEST_F(ServeMemory, HeadsAtTheirBound) {
  Measured it;
  constexpr std::size_t kMany = 256, kHead = 16'000;
  const std::string head =
      "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(kHead, 'x');
  std::vector<Client> clients;
  for (std::size_t i = 0; i < kMany; ++i) {
    clients.push_back(it.serve.client());
    clients.back().send(head);
  }
  EXPECT_EQ(it.serve.get("/healthz").status, 200);
  it.expect_small("heads", kMany * kHead, 16 * kMiB);
}

TEST_F(ServeMemory, AWatcherThatDoesNotReadAndWhatIsKeptOfTheOutput) {
  Measured it;
  std::vector<Client> watchers;
  for (int i = 0; i < 8; ++i) {
    watchers.push_back(it.serve.client());
    watchers.back().request("GET", "/events");
    EXPECT_EQ(watchers.back().read_head().status, 200);
  }
  Client slow = it.serve.client();  // of the call itself
  slow.request("POST", "/v1/tools/flood/call", "{}", {{"Accept", "text/event-stream"}});
  const Json result = it.serve.post("/v1/tools/flood/call", Json::object()).json();
  EXPECT_TRUE(contains(result.value("error", ""), "wrote 8 MiB")) << result.dump().substr(0, 300);
  // Each may have a megabyte unsent; what the loop has not heard yet is no more than the calls have written.
  it.expect_small("output", 0, 48 * kMiB);
}

// All that a call may leave and display at once, in the form that takes most.
TEST_F(ServeMemory, TheMostThatCodeCanLeaveAndDisplay) {
  Measured it(Measured::BuiltIns{});
  BRIG_NEEDS(contains(it.serve.get("/v1/tools").body, "run_python"),
             "no Python interpreter that can be used");
  const std::string code =
      "import os\n"
      "for i in range(8):\n"
      "    open(f'{i}.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + os.urandom((4 << 20) - 8))\n"
      "for i in range(6):\n"
      "    open(f'f{i}', 'wb').write(os.urandom(1 << 20))\n"
      "for i in range(16):\n"
      "    display({'text/plain': '\\x01' * (64 << 10)}, raw=True)\n";
  constexpr std::size_t kMost = 18 * kMiB;
  for (int i = 0; i < 3; ++i) {
    const Answer answer =
        it.serve.post("/v1/tools/run_python/call", {{"arguments", {{"code", code}}}});
    EXPECT_EQ(answer.status, 200) << answer.body.substr(0, 300);
    EXPECT_EQ(answer.json()["ok"], true) << answer.body.substr(0, 300);
    EXPECT_GT(answer.body.size(), 10 * kMiB) << "as much as fits";
    EXPECT_LT(answer.body.size(), kMost);
    EXPECT_TRUE(contains(answer.body, "left_out")) << "and the rest is told";
  }
  EXPECT_LT(it.grown(), 4 * kMost + kConstant);
}

TEST_F(ServeMemory, ResultsOfJobsThatAreKept) {
  Measured it;
  constexpr std::size_t kMany = 12, kResult = 4 * kMiB;
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < kMany; ++i)
    ids.push_back(
        it.serve
            .post("/v1/jobs", {{"tool", "give"},
                               {"arguments", {{"item", "sixteen letters!"}, {"bytes", kResult}}}})
            .json()
            .value("id", ""));
  for (const std::string& id : ids) {
    const Answer answer = it.serve.get("/v1/jobs/" + id + "?wait=60");
    EXPECT_GT(answer.body.size(), kResult - 100);
  }
  EXPECT_LT(it.grown(), 2 * kMany * kResult + kConstant);
}

// What follows goes beyond a bound of all callers by twice its size.

TEST_F(ServeMemory, ResourcesThatAreKept) {
  Measured it({.manifest = "[policy]\noutput = '8M'\nresult = '8M'\ntimeout = '100s'\n"
                           "[[command]]\nname = 'fill'\nargv = ['sh', '-c', 'head -c 8000000 "
                           "/dev/zero | tr \"\\0\" x']\n"});
  const Session session(it.serve);
  constexpr std::size_t kMany = 64, kOutput = 8'000'000, kKept = 128 * kMiB;
  std::string first, last;
  for (std::size_t i = 0; i < kMany; ++i) {
    const Json answer = session.ask(message(1, "tools/call", call_of("fill")));
    for (const Json& each : answer.value("/result/content"_json_pointer, Json::array()))
      if (each["type"] == "resource_link") last = each.value("uri", "");
    ASSERT_NE(last, first) << answer.dump().substr(0, 300);
    if (first.empty()) first = last;
  }
  const auto read = [&](const std::string& uri) {
    return session.post(message(2, "resources/read", {{"uri", uri + "?offset=0"}}));
  };
  const Answer part = read(last);
  EXPECT_GT(part.body.size(), 2'000'000u) << part.body.substr(0, 400);
  EXPECT_EQ(error_code(read(first).json()), -32002) << "the oldest went";
  EXPECT_LT(it.grown(), kKept + 4 * kOutput + kConstant);
}

TEST_F(ServeMemory, CallsThatEndedWithTheirArgumentsInFull) {
  Measured it({"--audit-arguments", "full"});
  constexpr std::size_t kMany = 60;
  const std::string body = Json{{"arguments", {{"value", std::string(kBody, 'x')}}}}.dump();
  Client client = it.serve.client();
  for (std::size_t i = 0; i < kMany; ++i)
    ASSERT_EQ(client.ask("POST", "/v1/tools/take/call", body).status, 200);
  EXPECT_LT(client.get("/v1/calls?ended=1000").body.size(), 10 * kMiB);
  it.expect_small("arguments", kBody);
}

TEST_F(ServeMemory, ALineOfStdioWithoutAnEnd) {
  Stdio mcp;
  mcp.open();
  const std::uint64_t before = memory_of(mcp.program().pid(), "VmHWM");
  mcp.send_line(std::string(256 * kMiB, 'x'));
  EXPECT_EQ(error_code(mcp.next()), -32600);
  EXPECT_LT(memory_of(mcp.program().pid(), "VmHWM") - before, 2 * 64 * kMiB + kMiB);
}

TEST_F(ServeMemory, ProgressThatNobodyReadsIsLostButNotTheAnswer) {
  Measured it;
  Client client = it.serve.client();
  Headers headers = with_name("chat");
  headers[0].second = "application/json, text/event-stream";
  client.request(
      "POST", "/mcp",
      modern(7, "tools/call", call_of("chat", {{"count", 20'000}}), {{"progressToken", 1}}).dump(),
      headers);
  EXPECT_TRUE(comes_true([&] { return !it.serve.audit().empty(); }, 4 * kSoon)) << "it ends";
  it.expect_small("progress", 0, 64 * kMiB);
  EXPECT_EQ(client.read_head().status, 200);
  Json last;
  while (const auto event = client.event()) last = event->json();
  EXPECT_EQ(last.value("id", 0), 7) << last.dump().substr(0, 200);
}

TEST_F(ServeMemory, WhatIsFreeIsGivenBack) {
  Measured it;
  const std::string text = many("\"sixteen letters!\"", 15 * kMiB);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(it.serve.client()
                  .ask("POST", "/v1/tools/take/call", "{\"arguments\":{\"value\":" + text + "}}")
                  .status,
              200);
  EXPECT_GT(it.grown(), 40 * kMiB);
  EXPECT_TRUE(comes_true([&] { return it.grown("VmRSS") < 40 * kMiB; })) << it.grown("VmRSS");
}

}  // namespace
