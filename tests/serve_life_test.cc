// A server's life: started by a service manager, reloaded, drained, ended.
#include <sys/un.h>

#include "serve_program.h"

namespace {

using namespace e2e;

// --- its end ---

TEST(ServeDrain, ARunningCallEndsAndIsAnswered) {
  Serve serve({.tools = true});
  Client gate = serve.client();
  gate.request("POST", "/v1/tools/gate/call", "{}");
  ASSERT_TRUE(serve.runs(1));
  Client idle = serve.client();
  EXPECT_EQ(idle.get("/healthz").status, 200);
  serve.program().signal(SIGTERM);
  ASSERT_TRUE(serve.program().says("stopping"));
  EXPECT_TRUE(comes_true([&] { return !serve.client().connected(); })) << "the port is closed";
  EXPECT_TRUE(idle.at_end()) << "who waits for nothing is let go";
  EXPECT_TRUE(serve.program().running());
  open_gate(serve.host);
  const Answer answer = gate.read();
  EXPECT_EQ(answer.status, 200) << answer;
  EXPECT_EQ(answer.json()["output"], "waiting\nthrough");
  EXPECT_EQ(serve.stop(), 0) << serve.program().said();
  EXPECT_EQ(serve.audit().size(), 1u);
}

TEST(ServeDrain, NewCallsOnOpenConnectionsAreRefused) {
  Serve serve({.tools = true});
  Client gate = serve.client(), busy = serve.client();
  gate.request("POST", "/v1/tools/gate/call", "{}");
  ASSERT_TRUE(serve.runs(1));
  // This one is not idle: it waits for an answer, and has asked for more.
  busy.request("POST", "/v1/tools/gate/call", "{}");
  ASSERT_TRUE(serve.runs(2));
  busy.request("POST", "/v1/tools/greet/call", R"({"arguments": {"who": "you"}})");
  serve.program().signal(SIGTERM);
  ASSERT_TRUE(serve.program().says("stopping"));
  open_gate(serve.host);
  EXPECT_EQ(busy.read().json()["ok"], true);
  const int second = busy.read().status;
  EXPECT_TRUE(second == 503 || second == 0) << second;
  EXPECT_EQ(gate.read().json()["ok"], true);
  EXPECT_EQ(serve.stop(), 0);
}

// The call in `client` was ended by the server: it is answered, and in the audit log.
void expect_cancelled(Serve& serve, Client& client) {
  const auto result = client.event("result");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->json()["report"]["outcome"], "cancelled");
  EXPECT_EQ(serve.program().wait(kSoon), 0) << serve.program().said();
  ASSERT_EQ(serve.audit().size(), 1u);
  EXPECT_EQ(serve.audit()[0]["outcome"], "cancelled");
}

TEST(ServeDrain, TakesNoLongerThanItMay) {
  Serve serve({.arguments = {"--drain", "300ms"}, .tools = true});
  Client nap = begin_call(serve, "nap");
  serve.program().signal(SIGTERM);
  expect_cancelled(serve, nap);
}

TEST(ServeDrain, ASecondSignalEndsItAtOnce) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Serve serve({.tools = true});
    Client nap = begin_call(serve, "nap");
    serve.program().signal(signal);
    ASSERT_TRUE(serve.program().says("stopping"));
    serve.program().signal(signal);
    expect_cancelled(serve, nap);
  }
}

TEST(ServeDrain, StreamsOfEventsDoNotKeepItUp) {
  Serve serve({.tools = true});
  Client events = serve.client();
  events.request("GET", "/events");
  EXPECT_EQ(events.read_head().status, 200);
  ASSERT_TRUE(events.event("status"));
  serve.program().signal(SIGTERM);
  EXPECT_EQ(serve.program().wait(kSoon), 0) << serve.program().said();
}

TEST(ServeDrain, AServerThatIsKilledLeavesNothing) {
  Serve serve({.tools = true});
  serve.expected_code = 128 + SIGKILL;
  const std::string marker = unique_marker("killed");
  Client client = serve.client();
  client.request("POST", "/v1/tools/shell/call",
                 Json{{"arguments", {{"line", "while :; do sleep 1; done; : " + marker}}}}.dump());
  ASSERT_TRUE(serve.runs(1));
  ASSERT_TRUE(comes_true([&] { return !processes_with(marker).empty(); }));
  serve.program().signal(SIGKILL);
  serve.program().wait(kSoon);
  EXPECT_TRUE(comes_true([&] { return processes_with(marker).empty(); }));
}

// --- a manifest that changes ---

class ServeReload : public testing::Test {
 protected:
  void add_tool(const std::string& name, const std::string& more = "") {
    write_file(serve_.manifest(), tools_manifest(serve_.host) + "\n[[command]]\nname = '" + name +
                                      "'\nargv = ['echo', 'new']\n" + more);
  }
  bool has(const std::string& name) const {
    const auto tools = serve_.tools();
    return std::find(tools.begin(), tools.end(), name) != tools.end();
  }
  Serve serve_{{.tools = true}};
};

TEST_F(ServeReload, ItIsReadAgainWhenItChanges) {
  Client events = serve_.client();
  events.request("GET", "/events");
  ASSERT_EQ(events.read_head().status, 200);
  ASSERT_TRUE(events.event("status"));
  add_tool("fresh");
  const auto added = events.event("tool_added");
  ASSERT_TRUE(added) << serve_.program().said();
  EXPECT_EQ(added->json()["tool"], "fresh");
  EXPECT_TRUE(has("fresh"));
  EXPECT_EQ(serve_.post("/v1/tools/fresh/call", Json::object()).json()["output"], "new");
  add_tool("fresh", "description = 'Is new.'\n");
  EXPECT_EQ(events.event("tool_updated")->json()["tool"], "fresh");
  // As editors do: a new file in the old one's place.
  write_file(serve_.host / "next", tools_manifest(serve_.host));
  rename((serve_.host / "next").c_str(), serve_.manifest().c_str());
  EXPECT_EQ(events.event("tool_removed")->json()["tool"], "fresh");
  EXPECT_EQ(serve_.post("/v1/tools/fresh/call", Json::object()).status, 404);
}

TEST_F(ServeReload, ARunningCallIsNotDisturbed) {
  Client gate = begin_call(serve_, "gate");
  write_file(serve_.manifest(), "[[command]]\nname = 'only'\nargv = ['true']\n");
  EXPECT_TRUE(comes_true([&] { return has("only") && !has("gate"); }));
  EXPECT_EQ(serve_.calls().size(), 1u);
  open_gate(serve_.host);
  const auto result = gate.event("result");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->json()["output"], "waiting\nthrough");
}

TEST_F(ServeReload, ACallOfAToolThatIsGoneCanBeCancelled) {
  Client nap = begin_call(serve_, "nap");
  write_file(serve_.manifest(), "[[command]]\nname = 'only'\nargv = ['true']\n");
  ASSERT_TRUE(comes_true([&] { return has("only"); }));
  const std::string id = serve_.calls()[0].value("call_id", "");
  EXPECT_EQ(serve_.client().ask("DELETE", "/v1/calls/" + id).status, 202);
  EXPECT_EQ(nap.event("result")->json()["report"]["outcome"], "cancelled");
}

TEST_F(ServeReload, ABrokenManifestKeepsTheOldTools) {
  const auto before = serve_.tools();
  write_file(serve_.manifest(), "[[command]]\nname = 'broken'\n");
  ASSERT_TRUE(serve_.program().says("the manifest stays as it was")) << serve_.program().said();
  EXPECT_EQ(serve_.tools(), before);
  EXPECT_EQ(serve_.post("/v1/tools/greet/call", {{"arguments", {{"who", "x"}}}}).status, 200);
  unlink(serve_.manifest().c_str());
  serve_.program().signal(SIGHUP);
  EXPECT_TRUE(comes_true([&] {
    const std::string said = serve_.program().said(), stays = "the manifest stays as it was";
    return said.find(stays) != said.rfind(stays);
  })) << serve_.program().said();
  EXPECT_EQ(serve_.tools(), before);
  add_tool("repaired");
  EXPECT_TRUE(comes_true([&] { return has("repaired"); })) << serve_.program().said();
}

TEST_F(ServeReload, AHangupReadsItAgain) {
  Client gate = begin_call(serve_, "gate");
  serve_.program().signal(SIGHUP);
  EXPECT_TRUE(serve_.program().says("the manifest was reloaded")) << serve_.program().said();
  EXPECT_EQ(serve_.calls().size(), 1u);
  open_gate(serve_.host);
  EXPECT_EQ(gate.event("result")->json()["ok"], true);
}

TEST_F(ServeReload, AChangedAnnotationIsAChange) {
  add_tool("fresh");
  ASSERT_TRUE(comes_true([&] { return has("fresh"); }));
  Client events = serve_.client();
  events.request("GET", "/events");
  ASSERT_EQ(events.read_head().status, 200);
  ASSERT_TRUE(events.event("status"));
  add_tool("fresh", "read_only = true\n");
  const auto updated = events.event("tool_updated");
  ASSERT_TRUE(updated);
  EXPECT_EQ(updated->json()["tool"], "fresh");
}

TEST_F(ServeReload, AChangedPolicyIsAChange) {
  add_tool("fresh", "[command.policy]\nmemory = '96M'\n");
  ASSERT_TRUE(comes_true([&] { return has("fresh"); }));
  Client events = serve_.client();
  events.request("GET", "/events");
  ASSERT_EQ(events.read_head().status, 200);
  ASSERT_TRUE(events.event("status"));
  add_tool("fresh", "[command.policy]\nmemory = '80M'\n");
  const auto updated = events.event("tool_updated");
  ASSERT_TRUE(updated);
  EXPECT_EQ(updated->json()["tool"], "fresh");
}

TEST_F(ServeReload, ManyChangesInARowEndWithTheLast) {
  for (int i = 0; i < 30; ++i) {
    add_tool("tool_" + std::to_string(i));
    if (i % 7 == 0) serve_.program().signal(SIGHUP);
    usleep(20'000);  // so that some are read one by one
  }
  // One reload at a time, each with zygotes of its own: beside other work that takes long.
  EXPECT_TRUE(comes_true([&] { return has("tool_29") && !has("tool_28"); }, 4 * kSoon));
}

TEST_F(ServeReload, ItsEndWhileItReloads) {
  // Until the reload has begun: a moment after the last change.
  for (int i = 0; i < 3; ++i) {
    add_tool("tool_" + std::to_string(i));
    serve_.program().signal(SIGHUP);
  }
  usleep(1000);
  EXPECT_EQ(serve_.stop(), 0) << serve_.program().said();
}

// --- a service manager ---

int listening(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  EXPECT_EQ(listen(fd, 16), 0);
  return fd;
}

// As systemd starts it: the socket is descriptor 3, and LISTEN_PID is the program's own.
pid_t activated(int socket, const HostDirectory& host) {
  const pid_t child = fork();
  if (child != 0) return child;
  dup2(socket, 3);
  fcntl(3, F_SETFD, 0);
  setenv("LISTEN_FDS", "1", 1);
  setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
  const int log = open((host / "log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  dup2(log, 2);
  execl(program().c_str(), "brig", "serve", "--audit", "none", "--listen", "0.0.0.0:1", nullptr);
  _exit(98);
}

int end(pid_t child) {
  kill(child, SIGTERM);
  int status = 0;
  for (const auto begin = Clock::now(); since(begin) < kSoon; usleep(2000))
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return -1;
}

TEST(ServeManager, ASocketThatIsGivenIsServed) {
  const HostDirectory host;
  const std::string path = host / "s";
  const int fd = listening(path);
  Client early(Where{.path = path});  // before there is anyone to answer
  early.request("GET", "/healthz");
  const pid_t child = activated(fd, host);
  EXPECT_EQ(early.read().status, 200) << read_file(host / "log");
  const Answer run =
      Client(Where{.path = path}).post("/v1/run", {{"command", "env; ls /proc/self/fd | wc -l"}});
  const std::string seen = run.json().value("/output/stdout"_json_pointer, "");
  EXPECT_FALSE(contains(seen, "LISTEN")) << seen;
  EXPECT_TRUE(seen.ends_with("\n4\n")) << "three, and that of ls itself: " << seen;
  EXPECT_EQ(end(child), 0) << read_file(host / "log");
  close(fd);
}

TEST(ServeManager, ASocketThatWasGivenStaysWhenTheServerEnds) {
  const HostDirectory host;
  const std::string path = host / "s";
  const int fd = listening(path);
  const pid_t child = activated(fd, host);
  Client client(Where{.path = path});
  EXPECT_EQ(client.get("/healthz").status, 200);
  EXPECT_EQ(end(child), 0) << read_file(host / "log");
  EXPECT_TRUE(exists(path)) << "it is the manager's, who listens on";
  const pid_t next = activated(fd, host);
  EXPECT_EQ(Client(Where{.path = path}).get("/healthz").status, 200);
  EXPECT_EQ(end(next), 0);
  close(fd);
}

TEST(ServeManager, IsToldWhenItIsReadyAndWhenItStops) {
  const HostDirectory host;
  const std::string path = host / "notify";
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  const timeval patience{kSoon.count(), 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const auto told = [&] {
    char buffer[200];
    const ssize_t size = recv(fd, buffer, sizeof buffer, 0);
    return std::string(buffer, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  };
  {
    Serve serve({.tools = true, .variables = {"NOTIFY_SOCKET=" + path}});
    EXPECT_TRUE(contains(told(), "READY=1"));
    EXPECT_EQ(serve.get("/healthz").status, 200);
    EXPECT_EQ(serve.stop(), 0);
    EXPECT_TRUE(contains(told(), "STOPPING=1"));
  }
  close(fd);
}

}  // namespace
