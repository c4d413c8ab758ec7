// What one caller, or a stranger without a token, takes of the server, while another wants to use it.
#include <sys/resource.h>

#include <sstream>

#include "serve_mcp.h"

namespace {

using namespace e2e;

constexpr const char* kVictim = "alice-0123456789abcdef";
constexpr const char* kHog = "mallory-0123456789abcdef";

std::string two_tokens() {
  return std::string("[[token]]\nname = 'alice'\ntoken = '") + kVictim +
         "'\n[[token]]\nname = 'mallory'\ntoken = '" + kHog + "'\n";
}

// As many descriptors as this process may have, for the server too: it is started after this.
std::size_t descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 16'384);
  setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

class ServeShare : public testing::Test {
 protected:
  // More than the server keeps, or as many as can be: then it runs out of descriptors before.
  const std::size_t many_ = std::min<std::size_t>(4200, descriptors() - 100);

  static Answer greet(const Serve& serve, const std::string& padding = "") {
    return serve.client(kVictim).ask("POST", "/v1/tools/greet/call",
                                     R"({"arguments": {"who": "you"}})" + padding);
  }
  static void expect_served(const Serve& serve) {
    EXPECT_EQ(serve.get("/healthz").status, 200);
    const Answer answer = greet(serve);
    EXPECT_EQ(answer.status, 200) << answer;
  }
};

TEST_F(ServeShare, IdleConnectionsWithoutATokenKeepNobodyOut) {
  Serve serve({.tools = true, .token = two_tokens()});
  Client early = serve.client(kVictim);
  ASSERT_EQ(early.get("/v1/tools").status, 200);
  std::vector<Client> idle;
  for (std::size_t i = 0; i < many_; ++i) {
    idle.push_back(serve.client());
    if (i % 3 == 0) idle.back().send("POST /v1/run HTTP/1.1\r\nHost: lo");
  }
  expect_served(serve);
  EXPECT_EQ(early.get("/v1/tools").status, 200) << "a connection with a token stays";
}

TEST_F(ServeShare, BodiesWithoutATokenHoldNoMemory) {
  Serve serve({.tools = true, .token = two_tokens()});
  const std::size_t size = 16 << 20;
  const std::string most(size - 1, ' ');
  std::vector<Client> slow;
  for (int i = 0; i < 16; ++i) {
    slow.push_back(serve.client());
    slow.back().send("POST /v1/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                     std::to_string(size) + "\r\n\r\n");
    const Answer answer = slow.back().read_head();
    EXPECT_EQ(answer.status, 401) << "before a byte of the body has come: " << answer;
    slow.back().send(most);
  }
  EXPECT_EQ(greet(serve, std::string(1 << 20, ' ')).status, 200);
}

TEST_F(ServeShare, OneTokenCantFillTheQueue) {
  Serve serve(
      {.arguments = {"--concurrency", "1", "--queue", "8"}, .tools = true, .token = two_tokens()});
  Client gate = begin_call(serve, "gate", kHog);
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(serve.post("/v1/jobs", {{"tool", "gate"}}, kHog).status, 202);
  Client alice = serve.client(kVictim);
  alice.request("POST", "/v1/tools/greet/call", R"({"arguments": {"who": "you"}})");
  ASSERT_TRUE(comes_true([&] { return serve.calls(kVictim).size() == 1; })) << alice.read();
  open_gate(serve.host);
  EXPECT_EQ(alice.read().json()["output"], "hello you");
}

TEST_F(ServeShare, OneTokenCantHaveAllStreams) {
  Serve serve({.tools = true, .token = two_tokens()});
  std::vector<Client> streams;
  int status = 200;
  for (std::size_t i = 0; i < std::min<std::size_t>(many_, 2048) && status == 200; ++i) {
    streams.push_back(serve.client(kHog));
    streams.back().request("GET", "/events?call_id=x");
    status = streams.back().read_head().status;
  }
  Client alice = serve.client(kVictim);
  alice.request("GET", "/events");
  EXPECT_EQ(alice.read_head().status, 200) << streams.size();
  EXPECT_TRUE(alice.event("status"));
  expect_served(serve);
}

TEST_F(ServeShare, OneTokenCantHaveAllConnections) {
  Serve serve({.tools = true, .token = two_tokens()});
  const Json listen =
      modern(1, "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}});
  std::vector<Client> streams;
  for (std::size_t i = 0; i < many_; ++i) {
    streams.push_back(serve.client(kHog));
    streams.back().request("POST", "/mcp", listen.dump(),
                           {{"Accept", "text/event-stream"},
                            {"MCP-Protocol-Version", kModern},
                            {"Mcp-Method", "subscriptions/listen"}});
    const int status = streams.back().read_head().status;
    if (status == 200) continue;
    EXPECT_EQ(status, 503);
    break;
  }
  expect_served(serve);
}

TEST_F(ServeShare, OneTokenCantHaveAllSessions) {
  Serve serve({.tools = true, .token = two_tokens()});
  const auto open = [](Client& client) {
    return client.post("/mcp", initialize(1), {{"Accept", "application/json"}})
        .header("mcp-session-id");
  };
  const auto status = [](Client& client, const std::string& session) {
    return client
        .post("/mcp", message(2, "tools/call", call_of("greet", {{"who", "you"}})),
              {{"Accept", "application/json"}, {"Mcp-Session-Id", session}})
        .status;
  };
  Client alice = serve.client(kVictim), mallory = serve.client(kHog);
  const std::string early = open(alice), first = open(mallory);
  std::string last;
  for (int i = 0; i < 2000; ++i) {
    last = open(mallory);
    ASSERT_FALSE(last.empty()) << i;
  }
  // One that is gone is a new session when its id comes: only the count shows whose went.
  const auto sessions = [&] {
    return serve.get("/v1/status", kVictim).json().value("sessions", 0);
  };
  EXPECT_EQ(sessions(), 2001) << "2000 of its own, and alice's";
  EXPECT_EQ(status(alice, early), 200);
  EXPECT_EQ(sessions(), 2001) << "it was still there";
  EXPECT_EQ(status(mallory, first), 200)
      << "its own oldest went; an id that is not known is a new session's";
  EXPECT_EQ(status(mallory, last), 200);
  EXPECT_EQ(status(alice, open(alice)), 200);
}

// As many bodies as fill the 256 MiB of all, each but for its last byte.
TEST_F(ServeShare, OneTokenCantHaveAllMemoryOfBodies) {
  Serve serve({.tools = true, .token = two_tokens()});
  const std::size_t size = 15 << 20;
  const std::string most(size - 1, ' ');
  std::vector<Client> slow;
  for (int i = 0; i < 18; ++i) {
    slow.push_back(serve.client(kHog));
    slow.back().send(std::string("POST /v1/tools/greet/call HTTP/1.1\r\nHost: localhost\r\n") +
                     "Authorization: Bearer " + kHog + "\r\nContent-Type: application/json\r\n" +
                     "Content-Length: " + std::to_string(size) + "\r\n\r\n");
    slow.back().send(most);
  }
  const auto begin = Clock::now();
  for (int i = 0; i < 3; ++i) {
    const Answer answer = greet(serve, std::string(8 << 20, ' '));
    EXPECT_EQ(answer.status, 200) << answer;
  }
  EXPECT_LT(since(begin), kSoon);
  // Its own share is smaller than what it asked for.
  int refused = 0;
  for (Client& each : slow) {
    each.send("x");
    refused += each.read_head().status == 503;
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 18);
}

// Time that a process and its threads have had of a processor.
double seconds_of(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// One thread answers all: what costs it most, again and again, makes alice wait, and not for long.
TEST_F(ServeShare, OneTokenCantHaveAllTimeOfTheLoop) {
  Serve serve({.manifest = "[policy]\ntimeout = '60s'\noutput = '8M'\nresult = '8M'\n"
                           "[[command]]\nname = 'fill'\nargv = ['sh', '-c', 'head -c 6000000 "
                           "/dev/zero | tr \"\\\\0\" x']\n"
                           "[[command]]\nname = 'greet'\nargv = ['echo', 'hello {who}']\n"
                           "parameters.who = { type = 'string' }\n",
               .token = two_tokens()});
  const std::string session = serve.client(kHog)
                                  .post("/mcp", initialize(1), {{"Accept", "application/json"}})
                                  .header("mcp-session-id");
  const Headers headers{{"Accept", "application/json"}, {"Mcp-Session-Id", session}};
  Json params = call_of("fill");
  params["task"] = Json::object();
  Client mallory = serve.client(kHog);
  const auto ask = [&](Client& client, const std::string& method, const Json& asked) {
    return client.post("/mcp", message(2, method, asked), headers).json();
  };
  const Json task{
      {"taskId", ask(mallory, "tools/call", params).value("/result/task/taskId"_json_pointer, "")}};
  ASSERT_TRUE(comes_true([&] {
    return ask(mallory, "tasks/get", task).value("/result/status"_json_pointer, "") == "completed";
  }));
  const Json result = ask(mallory, "tasks/result", task);
  std::string uri;
  for (const Json& each : result.value("/result/content"_json_pointer, Json::array()))
    if (each["type"] == "resource_link") uri = each.value("uri", "") + "?offset=0";
  EXPECT_NE(uri, "") << result.dump().substr(0, 1000);
  // A kept result is sent as it is: taking it apart and writing it anew would cost more than all that is done now.
  constexpr int kTimes = 20;
  const double before = seconds_of(serve.program().pid());
  std::string body;
  for (int i = 0; i < kTimes; ++i)
    body = mallory.post("/mcp", message(2, "resources/read", {{"uri", uri}}), headers).body;
  const double sending = seconds_of(serve.program().pid()) - before;
  EXPECT_GT(body.size(), 2'000'000u) << body.substr(0, 400);
  const double begun = seconds_of(getpid());
  for (int i = 0; i < kTimes; ++i) EXPECT_EQ(Json::parse(body).dump().size(), body.size());
  const double anew = seconds_of(getpid()) - begun;
  EXPECT_LT(sending, anew) << "seconds";
  RecordProperty("sending_s", std::to_string(sending));
  RecordProperty("anew_s", std::to_string(anew));
  const auto alone = Clock::now();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(greet(serve).status, 200);
  const auto quiet = since(alone);
  std::atomic<bool> stop{false};
  std::atomic<int> asked{0};
  std::vector<std::thread> attack;
  for (int i = 0; i < 8; ++i)
    attack.emplace_back([&, i] {
      Client client = serve.client(kHog);
      while (!stop) {
        ask(client, i % 2 ? "tasks/result" : "resources/read", i % 2 ? task : Json{{"uri", uri}});
        ++asked;
      }
    });
  EXPECT_TRUE(comes_true([&] { return asked >= 8; }));
  const auto begin = Clock::now();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(greet(serve).status, 200);
  const auto busy = since(begin);
  stop = true;
  for (std::thread& each : attack) each.join();
  EXPECT_LT(busy, kSoon);
  const auto ms = [](Clock::duration time) {
    return std::to_string(std::chrono::duration_cast<milliseconds>(time).count());
  };
  RecordProperty("five_calls_alone_ms", ms(quiet));
  RecordProperty("five_calls_beside_ms", ms(busy));
}

// What is kept of all jobs is 256 MiB; of those of the caller that has most, the oldest go.
TEST_F(ServeShare, OneTokenCantHaveAllResultsThatAreKept) {
  Serve serve({.manifest = "[policy]\ntimeout = '60s'\noutput = '8M'\nresult = '8M'\n"
                           "[[command]]\nname = 'fill'\nargv = ['sh', '-c', 'head -c 8000000 "
                           "/dev/zero | tr \"\\0\" x']\n"
                           "[[command]]\nname = 'greet'\nargv = ['echo', 'hello {who}']\n"
                           "parameters.who = { type = 'string' }\n",
               .token = two_tokens()});
  const auto submit = [&](const Json& job, const std::string& token) {
    const Answer taken = serve.post("/v1/jobs", job, token);
    EXPECT_EQ(taken.status, 202) << taken;
    EXPECT_TRUE(comes_true([&] { return serve.calls(token).empty(); }));
    return taken.header("location");
  };
  const std::string early = submit({{"tool", "greet"}, {"arguments", {{"who", "you"}}}}, kVictim);
  std::string first, last;
  for (int i = 0; i < 40; ++i) {
    last = submit({{"tool", "fill"}}, kHog);
    if (first.empty()) first = last;
  }
  const Answer kept = serve.get(early, kVictim);
  EXPECT_EQ(kept.status, 200);
  EXPECT_EQ(kept.json().value("/result/output"_json_pointer, ""), "hello you") << kept;
  EXPECT_EQ(serve.get(first, kHog).status, 404) << "its own oldest went";
  EXPECT_GT(serve.get(last, kHog).body.size(), 8'000'000u);
}

std::size_t running(const Serve& serve, const std::string& token) {
  std::size_t count = 0;
  for (const Json& each : serve.calls(token)) count += each.value("status", "") == "running";
  return count;
}

TEST_F(ServeShare, OneTokenCantHaveAllCells) {
  Serve serve({.arguments = {"--concurrency", "4"}, .tools = true, .token = two_tokens()});
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(serve.post("/v1/jobs", {{"tool", "gate"}}, kHog).status, 202);
  EXPECT_TRUE(comes_true([&] { return running(serve, kHog) == 3; }));
  expect_served(serve);
  EXPECT_EQ(running(serve, kHog), 3u);
  open_gate(serve.host);
  EXPECT_TRUE(comes_true([&] { return serve.calls(kHog).empty(); }))
      << "those that waited run, too";
}

TEST_F(ServeShare, OneTokenAloneHasAllCells) {
  Serve serve({.arguments = {"--concurrency", "2"}, .tools = true, .token = kVictim});
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(serve.post("/v1/jobs", {{"tool", "gate"}}, kVictim).status, 202);
  EXPECT_TRUE(comes_true([&] { return running(serve, kVictim) == 2; }));
  open_gate(serve.host);
}

// Built-in tools, those of a manifest, and those of the manifest before it count together.
TEST_F(ServeShare, AsManyCallsRunAsConcurrencySaysWhateverTheToolIs) {
  Serve serve(
      {.arguments = {"--concurrency", "2", "--builtins", "--drain", "100ms"}, .tools = true});
  const auto sleeping = [&] { return descendants_named(serve.program().pid(), "sleep").size(); };
  const auto waiting = [&] { return serve.get("/v1/status").json()["waiting"]; };
  const Json nap{{"tool", "nap"}},
      command{{"tool", "run_command"}, {"arguments", {{"argv", {"sleep", "90"}}}}};
  for (const Json& job : {nap, command, nap, command})
    EXPECT_EQ(serve.post("/v1/jobs", job).status, 202);
  EXPECT_TRUE(comes_true([&] { return sleeping() == 2 && waiting() == 2; }));
  write_file(serve.manifest(), tools_manifest(serve.host) + "\n# as it was\n");
  ASSERT_TRUE(serve.program().says("the manifest was reloaded"));
  for (const Json& job : {nap, command}) EXPECT_EQ(serve.post("/v1/jobs", job).status, 202);
  EXPECT_TRUE(comes_true([&] { return waiting() == 4; })) << waiting();
  EXPECT_EQ(sleeping(), 2u);
  EXPECT_EQ(serve.get("/v1/status").json()["running"], 2);
  for (int left = 4; left > 0; --left) {
    for (const Json& each : serve.calls())
      if (each["status"] == "running") {
        serve.client().ask("DELETE", "/v1/calls/" + each["call_id"].get<std::string>());
        break;
      }
    EXPECT_TRUE(comes_true([&] { return waiting() == left - 1 && sleeping() == 2; })) << left;
  }
}

}  // namespace
