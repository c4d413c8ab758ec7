// Clients that come and go at any moment, while tools change: nothing of them may stay.
#include <algorithm>
#include <filesystem>
#include <random>

#include "serve_mcp.h"

namespace {

using namespace e2e;

// BRIG_STORM_SEED: another row of events than the usual one.
std::mt19937::result_type seed() {
  const char* given = getenv("BRIG_STORM_SEED");
  return given ? strtoul(given, nullptr, 10) : 20261116;
}

// What is open, but for files of cgroups: a pool that has been busy keeps up to three slots more, each with a dozen.
std::vector<std::string> open_files(const std::string& pid) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator("/proc/" + pid + "/fd", error)) {
    const std::string target = std::filesystem::read_symlink(each.path(), error);
    if (!target.starts_with("/sys/fs/cgroup/")) files.push_back(target);
  }
  std::sort(files.begin(), files.end());
  return files;
}

class ServeStorm : public testing::Test {
 protected:
  // Begins something on a connection of its own, which is left alone after that.
  Client begin(std::size_t what) {
    Client client = serve_.client();
    const Headers events = {{"Accept", "text/event-stream"}};
    const Json modern_call = modern(1, "tools/call", call_of("nap"));
    switch (what) {
      case 0: client.request("POST", "/v1/tools/nap/call", "{}"); break;
      case 1: client.request("POST", "/v1/tools/nap/call", "{}", events); break;
      case 2: client.request("GET", "/events"); break;
      case 3: {
        const std::string job = client.post("/v1/jobs", {{"tool", "nap"}}).header("location");
        client.request("GET", job + "?wait=60");
        jobs_.push_back(job);
        break;
      }
      case 4:
        client.request("POST", "/mcp", modern_call.dump(),
                       {{"Accept", "application/json, text/event-stream"},
                        {"MCP-Protocol-Version", kModern},
                        {"Mcp-Method", "tools/call"},
                        {"Mcp-Name", "nap"}});
        break;
      case 5: {
        const Answer opened = client.ask("POST", "/mcp", initialize(0).dump());
        sessions_.push_back(opened.header("mcp-session-id"));
        client.request("GET", "/mcp", "", {{"Mcp-Session-Id", sessions_.back()}, events[0]});
        break;
      }
      case 6: {
        const Json listen =
            modern(1, "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}});
        client.request(
            "POST", "/mcp", listen.dump(),
            {events[0], {"MCP-Protocol-Version", kModern}, {"Mcp-Method", "subscriptions/listen"}});
        break;
      }
      case 7:
        client.send("POST /v1/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{");
        break;
      case 8:
        for (int i = 0; i < 5; ++i)
          client.request("POST", "/v1/tools/shell/call",
                         R"({"arguments": {"line": "echo x; sleep 0.05"}})");
        break;
      default:
        client.request("POST", "/v1/tools/shell/call",
                       R"({"arguments": {"line": "head -c 300000 /dev/zero | tr '\\0' x"}})",
                       events);
    }
    return client;
  }
  void change(std::size_t what) {
    if (what == 0) serve_.program().signal(SIGHUP);
    if (what == 1) {  // in one step: a reload may come at any moment
      write_file(serve_.host / "next",
                 tools_manifest(serve_.host) + many_tools(static_cast<int>(random_() % 4)));
      rename((serve_.host / "next").c_str(), serve_.manifest().c_str());
    }
    if (what == 2 && !sessions_.empty()) {
      serve_.client().ask("DELETE", "/mcp", "", {{"Mcp-Session-Id", sessions_.back()}});
      sessions_.pop_back();
    }
    if (what == 3 && !jobs_.empty()) {
      serve_.client().ask("DELETE", jobs_.back());
      jobs_.pop_back();
    }
  }
  // Leaves up to a dozen connections behind.
  std::vector<Client> storm(int count) {
    std::vector<Client> clients;
    for (int i = 0; i < count; ++i) {
      clients.push_back(begin(random_() % 10));
      if (random_() % 3 == 0) change(random_() % 6);
      if (random_() % 4 == 0) usleep(static_cast<useconds_t>(random_() % 20'000));
      while (clients.size() > 12 || (clients.size() > 1 && random_() % 3 == 0)) {
        std::swap(clients[random_() % clients.size()], clients.back());
        clients.pop_back();
      }
    }
    return clients;
  }
  bool is_quiet() {
    for (const std::string& each : jobs_) serve_.client().ask("DELETE", each);
    for (const std::string& each : sessions_)
      serve_.client().ask("DELETE", "/mcp", "", {{"Mcp-Session-Id", each}});
    jobs_.clear();
    sessions_.clear();
    return serve_.runs(0) && comes_true([&] {
             const Json status = serve_.get("/v1/status").json();
             return status["connections"] == 1 && status["sessions"] == 0 && status["running"] == 0;
           });
  }
  std::string pid() { return std::to_string(serve_.program().pid()); }

  Serve serve_{{.arguments = {"--drain", "10s"}, .tools = true}};
  std::vector<std::string> jobs_, sessions_;
  std::mt19937 random_{seed()};
};

TEST_F(ServeStorm, NothingStaysOfClientsThatComeAndGo) {
  storm(20);
  ASSERT_TRUE(is_quiet()) << serve_.get("/v1/status") << serve_.calls();
  const auto before = open_files(pid());
  storm(80);
  ASSERT_TRUE(is_quiet()) << serve_.get("/v1/status") << serve_.calls();
  EXPECT_TRUE(comes_true([&] { return open_files(pid()).size() <= before.size() + 8; }))
      << testing::PrintToString(before) << " have become "
      << testing::PrintToString(open_files(pid()));
  const Answer greeted = serve_.post("/v1/tools/greet/call", {{"arguments", {{"who", "you"}}}});
  EXPECT_EQ(greeted.json()["output"], "hello you") << greeted << serve_.program().said();
  EXPECT_TRUE(contains(serve_.get("/metrics").body, "\nbrig_http_event_streams 0\n"));
}

TEST_F(ServeStorm, ItCanBeEndedInTheMiddle) {
  const std::vector<Client> clients = storm(30);
  serve_.program().signal(SIGTERM);
  usleep(20'000);  // whether it has seen the first one by then or not
  serve_.program().signal(SIGTERM);
  EXPECT_EQ(serve_.program().wait(2 * kSoon), 0) << serve_.program().said();
}

}  // namespace
