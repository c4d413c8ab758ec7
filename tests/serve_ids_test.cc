// Ids that callers choose or guess: none touches, blocks or shows what another caller has.
#include <openssl/sha.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "serve_mcp.h"

namespace {

using namespace e2e;

constexpr unsigned kCallsAtOnce = 4;  // calls of one token

std::string token_of(const std::string& name) { return name + "-0123456789abcdef"; }

std::string four_tokens() {
  std::string text;
  for (const char* name : {"alice", "mallory", "eve", "root"})
    text += std::string("[[token]]\nname = '") + name + "'\ntoken = '" + token_of(name) + "'\n" +
            (name == std::string("root") ? "admin = true\n" : "") +
            (name == std::string("mallory") ? "tools = ['shell', 'greet', 'walk']\n" : "") +
            "concurrency = " + std::to_string(kCallsAtOnce) + "\n";
  return text;
}

// The id that a server which counts would make next.
std::string next_of(std::string id) {
  const std::size_t digits = id.find_last_not_of("0123456789") + 1;
  if (digits < id.size() && id.size() - digits < 10)
    return id.substr(0, digits) + std::to_string(std::stoul(id.substr(digits)) + 1);
  if (!id.empty()) id.back() = id.back() == 'f' ? '0' : static_cast<char>(id.back() + 1);
  return id;
}

Json who_is(const std::string& who) { return {{"who", who}}; }

// Who calls says that it is a part of that, and so say all.
constexpr const char* kTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr const char* kProgress = "p";

Headers mcp_headers(const Json& message) {
  return {{"Accept", "application/json, text/event-stream"},
          {"traceparent", kTrace},
          {"MCP-Protocol-Version", kModern},
          {"Mcp-Method", message.value("method", "")},
          {"Mcp-Name", message["params"].value("name", "")}};
}

class ServeIds : public testing::Test {
 protected:
  // A line for the tool shell: says who it is for, when the test lets it.
  std::string line_of(const std::string& name) const {
    return "echo waiting; while ! test -e '" + (serve_.host / "gate/") + name +
           "'; do sleep 0.02; done; echo answer of " + name;
  }
  void let(const std::string& name) const { write_file(serve_.host / ("gate/" + name), ""); }

  // A call of a token's that waits until it is let, and is running.
  Client begin(const std::string& name, const std::string& call_id) const {
    Client client = serve_.client(token_of(name));
    const Json body{{"arguments", {{"line", line_of(name)}}}, {"call_id", call_id}};
    client.request("POST", "/v1/tools/shell/call", body.dump(), {{"Accept", "text/event-stream"}});
    const Answer head = client.read_head();
    EXPECT_EQ(head.status, 200) << head;
    EXPECT_TRUE(client.event("output")) << "it does not run";
    return client;
  }
  static std::string result_of(Client& client) {
    const auto event = client.event("result");
    return event ? event->data : "none";
  }
  std::size_t calls_of(const std::string& name) const {
    return serve_.calls(token_of(name)).size();
  }

  // Mallory has learnt the id of a call, and waits under the one that would come next for alice to call.
  // `ask` asks for alice's line; `answer` is the text that she got.
  void steal(const std::function<void(Client&)>& ask,
             const std::function<std::string(Client&)>& answer) {
    const Answer seen =
        serve_.post("/v1/tools/greet/call", {{"arguments", who_is("m")}}, token_of("mallory"));
    const std::string id = seen.json().value("call_id", "");
    ASSERT_NE(id, "") << seen;
    Client thief = begin("mallory", next_of(id));
    Client victim = serve_.client(token_of("alice"));
    ask(victim);
    ASSERT_TRUE(comes_true([&] { return calls_of("alice") == 1; }));
    let("mallory");
    EXPECT_TRUE(contains(result_of(thief), "answer of mallory"));
    EXPECT_TRUE(comes_true([&] { return calls_of("mallory") == 0; }));
    EXPECT_EQ(calls_of("alice"), 1u) << "her call goes on";
    let("alice");
    const std::string text = answer(victim);
    EXPECT_TRUE(contains(text, "answer of alice")) << text;
    EXPECT_FALSE(contains(text, "answer of mallory")) << text;
    std::vector<std::string> callers;
    for (const Json& line : serve_.audit()) callers.push_back(line.value("caller", ""));
    EXPECT_EQ(callers, (std::vector<std::string>{"mallory", "mallory", "alice"}));
  }

  Serve serve_{{.arguments = {"--concurrency", "24"},
                .tools = true,
                .library = true,
                .token = four_tokens()}};
};

// --- the next caller's id ---

TEST_F(ServeIds, ATokenCantTakeTheNextCallersId) {
  steal(
      [&](Client& client) {
        client.request("POST", "/v1/tools/shell/call",
                       Json{{"arguments", {{"line", line_of("alice")}}}}.dump());
      },
      [](Client& client) { return client.read().body; });
}

TEST_F(ServeIds, ATokenCantTakeTheNextCallersIdOverMcp) {
  steal(
      [&](Client& client) {
        const Json call = modern(1, "tools/call", call_of("shell", {{"line", line_of("alice")}}));
        client.request("POST", "/mcp", call.dump(), mcp_headers(call));
      },
      [](Client& client) { return client.read().body; });
}

TEST_F(ServeIds, ATokenCantTakeTheNextCallersIdInASession) {
  steal(
      [&](Client& client) {
        const std::string session =
            client.ask("POST", "/mcp", initialize(0).dump()).header("mcp-session-id");
        const Json call = message(1, "tools/call", call_of("shell", {{"line", line_of("alice")}}));
        client.request("POST", "/mcp", call.dump(),
                       {{"Accept", "application/json, text/event-stream"},
                        {"Mcp-Session-Id", session},
                        {"MCP-Protocol-Version", kLegacy}});
      },
      [](Client& client) { return client.read().body; });
}

TEST_F(ServeIds, ATokenCantTakeTheNextCallersIdOfAJob) {
  std::string job;
  steal(
      [&](Client& client) {
        job =
            client
                .post("/v1/jobs", {{"tool", "shell"}, {"arguments", {{"line", line_of("alice")}}}})
                .header("location");
      },
      [&](Client& client) {
        EXPECT_EQ(serve_.get(job, token_of("mallory")).status, 404);
        return client.get(job + "?wait=15").body;
      });
}

TEST_F(ServeIds, IdsOfTheServerHaveNothingInCommon) {
  std::set<std::string> beginnings;
  Client client = serve_.client(token_of("alice"));
  for (int i = 0; i < 20; ++i) {
    const std::string id =
        client.post("/v1/tools/greet/call", {{"arguments", who_is("x")}}).json()["call_id"];
    EXPECT_EQ(id.size(), 33u) << id;
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef", 1), std::string::npos) << id;
    EXPECT_TRUE(beginnings.insert(id.substr(0, 17)).second) << id;
  }
}

// --- the same id ---

TEST_F(ServeIds, AnotherCallersIdIsFreeAndNothingShowsThatItIsTaken) {
  Client alice = begin("alice", "x");
  Client mallory = serve_.client(token_of("mallory"));
  EXPECT_EQ(mallory.ask("DELETE", "/v1/calls/x").status, 404) << "she has no such call";
  EXPECT_EQ(mallory.ask("DELETE", "/v1/calls/x?caller=alice").status, 404) << "she is no admin";
  Client own = begin("mallory", "x");
  EXPECT_EQ(serve_.calls(token_of("mallory")).size(), 1u);
  EXPECT_EQ(serve_.calls(token_of("root")).size(), 2u);
  EXPECT_EQ(mallory.ask("DELETE", "/v1/calls/x").status, 202);
  EXPECT_TRUE(contains(result_of(own), "cancelled"));
  EXPECT_EQ(mallory.ask("DELETE", "/v1/calls/x").status, 404);
  EXPECT_EQ(calls_of("alice"), 1u);
  let("alice");
  EXPECT_TRUE(contains(result_of(alice), "answer of alice"));
}

TEST_F(ServeIds, ACallersOwnIdIsRefusedUntilItsCallHasEnded) {
  Client alice = begin("alice", "x");
  const Json again{{"arguments", who_is("me")}, {"call_id", "x"}};
  const Answer refused = serve_.post("/v1/tools/greet/call", again, token_of("alice"));
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.problem(), "call-exists") << refused;
  let("alice");
  EXPECT_TRUE(contains(result_of(alice), "answer of alice"));
  EXPECT_EQ(serve_.post("/v1/tools/greet/call", again, token_of("alice")).status, 200);
}

TEST_F(ServeIds, AnAdminSaysWhoseCallOfAnIdIsMeant) {
  Client alice = begin("alice", "x"), mallory = begin("mallory", "x");
  Client root = serve_.client(token_of("root"));
  const Answer which = root.ask("DELETE", "/v1/calls/x");
  EXPECT_EQ(which.status, 409);
  EXPECT_EQ(which.problem(), "several-calls") << which;
  EXPECT_EQ(root.ask("DELETE", "/v1/calls/x?caller=nobody").status, 404);
  EXPECT_EQ(root.ask("DELETE", "/v1/calls/x?caller=mallory").status, 202);
  EXPECT_TRUE(contains(result_of(mallory), "cancelled"));
  EXPECT_EQ(calls_of("alice"), 1u);
  EXPECT_EQ(root.ask("DELETE", "/v1/calls/x").status, 202) << "now there is one";
  EXPECT_TRUE(contains(result_of(alice), "cancelled"));
}

TEST_F(ServeIds, AnAdminThatLeavesEndsItsOwnCallAlone) {
  Client alice = begin("alice", "x"), root = begin("root", "x");
  root.close();
  EXPECT_TRUE(comes_true([&] { return calls_of("root") == 1; }));
  EXPECT_EQ(calls_of("alice"), 1u);
  let("alice");
  EXPECT_TRUE(contains(result_of(alice), "answer of alice"));
}

// --- thousands ---

// What the lanes of one number share: ids that the callers have used or seen. All of them choose from it.
class Board {
 public:
  void note(const std::string& id) {
    const std::lock_guard lock(mutex_);
    if (ids_.size() < 64)
      ids_.push_back(id);
    else
      ids_[next_++ % ids_.size()] = id;
  }
  std::string any(std::mt19937& random) {
    const std::lock_guard lock(mutex_);
    return ids_.empty() ? "" : ids_[random() % ids_.size()];
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> ids_;
  std::size_t next_ = 0;
};
struct Boards {
  std::string name;
  Board calls, jobs, sessions;
  Board tasks, resources, streams;  // "caller id"
};

// What one caller is shown of what goes on: nothing of another's.
class Watcher {
 public:
  Watcher(const Serve& serve, std::string caller)
      : caller_(std::move(caller)), client_(serve.client(token_of(caller_))) {
    client_.request("GET", "/events");
    EXPECT_EQ(client_.read_head().status, 200);
    thread_ = std::thread([this] { watch(); });
  }
  ~Watcher() {
    if (thread_.joinable()) thread_.join();
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Ends when its caller has called greet with that.
  static constexpr const char* kEnd = "the watcher's end";
  void join() {
    thread_.join();
    EXPECT_EQ(foreign_, "") << "shown to " << caller_;
    EXPECT_GT(own_, 10) << "shown to " << caller_;
  }

 private:
  void watch() {
    while (const auto event = client_.event()) {
      if (contains(event->data, kEnd)) return;
      own_ += contains(event->data, caller_ + "-");
      for (const char* other : {"alice-", "mallory-", "eve-"})
        if (other != caller_ + "-" && contains(event->data, other)) foreign_ = event->data;
    }
  }

  const std::string caller_;
  Client client_;
  std::thread thread_;
  int own_ = 0;
  std::string foreign_;
};

// A call that was answered as one, as the audit log has it.
std::string line_for(const std::string& caller, const std::string& id, const Json& arguments) {
  const std::string text = arguments.dump();
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  std::string line = caller + " " + id + " ";
  for (const unsigned char byte : digest) {
    char hex[3];
    snprintf(hex, sizeof hex, "%02x", byte);
    line += hex;
  }
  return line;
}

// One connection of a caller's. Lanes of the same caller have different numbers, and so never the same id at once: whatever
// disturbs a lane is another caller's doing.
class Lane {
 public:
  Lane(const Serve& serve, const std::string& caller, Boards& boards, unsigned long seed)
      : serve_(serve),
        caller_(caller),
        boards_(boards),
        random_(static_cast<std::mt19937::result_type>(seed)),
        client_(serve.client(token_of(caller))) {
    session_ = client_.ask("POST", "/mcp", initialize(0).dump()).header("mcp-session-id");
    boards_.sessions.note(session_);
    // What is told unasked, and how to come back for it.
    Client stream = serve.client(token_of(caller_));
    stream.request("GET", "/mcp", "", session_headers());
    EXPECT_EQ(stream.read_head().status, 200);
    if (const auto first = stream.event()) event_ = first->id;
    EXPECT_NE(event_, "");
    // The same subscription as everybody else's.
    subscription_ = serve.client(token_of(caller_));
    const Json listen = modern(kSubscription, "subscriptions/listen",
                               {{"notifications", {{"toolsListChanged", true}}}});
    subscription_->request("POST", "/mcp", listen.dump(), mcp_headers(listen));
    EXPECT_EQ(subscription_->read_head().status, 200);
    EXPECT_TRUE(subscription_->event());
  }

  void play(int count) {
    for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
      marker_ = caller_ + "-" + std::to_string(random_()) + "-" + std::to_string(i);
      switch (random_() % 11) {
        case 0:
        case 1:
        case 2: call(); break;
        case 3: call_with_odd_id(); break;
        case 4: call_over_mcp(); break;
        case 5: call_in_session(); break;
        case 6: run_job(); break;
        case 7: run_task(); break;
        case 8: call_for_a_resource(); break;
        case 9: walk_with_progress(); break;
        default: meddle();
      }
    }
  }
  const std::vector<std::string>& lines() const { return lines_; }
  const std::string& caller() const { return caller_; }
  std::optional<Client>& subscription() { return subscription_; }
  // Its own stream of events, from what it saw last.
  int status_of_own_stream(Client client) const {
    Headers headers = session_headers();
    headers.push_back({"Last-Event-ID", event_});
    client.request("GET", "/mcp", "", headers);
    return client.read_head().status;
  }

 private:
  static constexpr const char* kSubscription = "same";

  std::string chosen() {
    const std::string id = boards_.calls.any(random_);
    switch (random_() % 4) {
      case 0: return next_of(id.empty() ? boards_.name : id);
      case 1: return boards_.name + std::to_string(random_() % 4);
      default: return id.empty() ? boards_.name : id;
    }
  }
  void took(const std::string& id, const Json& output) {
    EXPECT_EQ(output, "hello " + marker_) << "of " << caller_;
    note_call(id, who_is(marker_));
  }
  void note_call(const std::string& id, const Json& arguments) {
    boards_.calls.note(id);
    lines_.push_back(line_for(caller_, id, arguments));
  }

  void call() {
    Json body{{"arguments", who_is(marker_)}};
    const std::string id = random_() % 4 == 0 ? "" : chosen();
    if (!id.empty() || random_() % 2 == 0) body["call_id"] = id;
    const Answer answer = client_.post("/v1/tools/greet/call", body, {{"traceparent", kTrace}});
    ASSERT_EQ(answer.status, 200) << caller_ << " with " << id << ": " << answer;
    const std::string given = answer.json().value("call_id", "");
    EXPECT_TRUE(id.empty() || given == id) << given << " is not " << id;
    took(given, answer.json()["output"]);
  }
  void call_with_odd_id() {
    const std::string odd[] = {std::string(129, 'x'),
                               std::string(70'000, 'y'),
                               std::string("a\0b", 3),
                               "\x1b[2J",
                               "a b",
                               "\xc3\xbc",
                               "\n",
                               "\x7f"};
    const std::string& id = odd[random_() % std::size(odd)];
    const Answer answer =
        client_.post("/v1/tools/greet/call", {{"arguments", who_is(marker_)}, {"call_id", id}});
    EXPECT_EQ(answer.status, 422) << caller_ << ": " << answer;
  }
  void took_over_mcp(const Json& id, const Answer& answer) {
    const Json json = answer.json();
    ASSERT_EQ(answer.status, 200) << caller_ << ": " << answer;
    EXPECT_EQ(json["id"], id) << answer;
    took(json.value("/result/_meta/brig~1call_id"_json_pointer, ""),
         json.value("/result/structuredContent/result"_json_pointer,
                    json.value("/result/structuredContent"_json_pointer, Json())));
  }
  void call_over_mcp() {
    const Json id = chosen();
    const Json call =
        modern(id, "tools/call", call_of("greet", who_is(marker_)), {{"progressToken", kProgress}});
    took_over_mcp(id, client_.ask("POST", "/mcp", call.dump(), mcp_headers(call)));
  }
  Answer ask_in(const std::string& session, const Json& message) {
    return client_.ask("POST", "/mcp", message.dump(), session_headers(session));
  }
  Headers session_headers() const { return session_headers(session_); }
  static Headers session_headers(const std::string& session) {
    return {{"Accept", "application/json, text/event-stream"},
            {"traceparent", kTrace},
            {"Mcp-Session-Id", session},
            {"MCP-Protocol-Version", kLegacy}};
  }
  void call_in_session() {
    const Json id = random_() % 2 == 0 ? Json(chosen()) : Json(random_() % 3);
    took_over_mcp(id,
                  ask_in(session_, message(id, "tools/call", call_of("greet", who_is(marker_)))));
  }
  // Its progress comes four times, under the token that all calls have: one of another's would be too many.
  void walk_with_progress() {
    const Json id = chosen();
    Json params = walk();
    const Json arguments = params["arguments"];
    params["_meta"] = {{"progressToken", kProgress}};
    const bool in_session = random_() % 2 == 0;
    const Json call = in_session ? message(id, "tools/call", params)
                                 : modern(id, "tools/call", params, {{"progressToken", kProgress}});
    Client client = serve_.client(token_of(caller_));
    client.request("POST", "/mcp", call.dump(), in_session ? session_headers() : mcp_headers(call));
    ASSERT_EQ(client.read_head().status, 200) << caller_;
    std::vector<Json> all;
    while (const auto event = client.event()) {
      if (!event->data.empty()) all.push_back(event->json());
      if (in_session) boards_.streams.note(caller_ + " " + event->id);
    }
    ASSERT_EQ(all.size(), 5u) << Json(all);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(all[i].value("/params/progressToken"_json_pointer, ""), kProgress) << all[i];
      EXPECT_EQ(all[i].value("/params/progress"_json_pointer, 0.0), static_cast<double>(i + 1) / 4);
    }
    EXPECT_EQ(all[4]["id"], id) << all[4];
    note_call(all[4].value("/result/_meta/brig~1call_id"_json_pointer, ""), arguments);
  }
  void run_task() {
    Json params = call_of("greet", who_is(marker_));
    params["task"] = Json::object();
    params["_meta"] = {{"progressToken", kProgress}};
    const Json made = ask_in(session_, message(chosen(), "tools/call", params)).json();
    const std::string task = made.value("/result/task/taskId"_json_pointer, "");
    ASSERT_NE(task, "") << made;
    boards_.tasks.note(caller_ + " " + task);
    const Json of_task{{"taskId", task}};
    EXPECT_TRUE(comes_true([&] {
      return ask_in(session_, message(1, "tasks/get", of_task))
                 .json()
                 .value("/result/status"_json_pointer, "") == "completed";
    })) << task;
    took_over_mcp(1, ask_in(session_, message(1, "tasks/result", of_task)));
  }
  // What is too long for a model is kept for its caller.
  void call_for_a_resource() {
    const Json arguments{{"line", "head -c 60000 /dev/zero | tr '\\0' x; echo " + marker_}};
    const Json answer =
        ask_in(session_, message(1, "tools/call", call_of("shell", arguments))).json();
    std::string uri;
    for (const Json& each : answer.value("/result/content"_json_pointer, Json::array()))
      if (each["type"] == "resource_link") uri = each.value("uri", "");
    ASSERT_NE(uri, "") << answer.dump().substr(0, 1000);
    note_call(answer.value("/result/_meta/brig~1call_id"_json_pointer, ""), arguments);
    boards_.resources.note(caller_ + " " + uri);
    const Json read = ask_in(session_, message(2, "resources/read", {{"uri", uri}})).json();
    EXPECT_TRUE(contains(read.dump(), "x" + marker_)) << read.dump().substr(0, 1000);
  }
  // Another caller's of a board that says whose its things are; "": none.
  std::string of_another(Board& board) {
    const std::string noted = board.any(random_);
    const std::size_t space = noted.find(' ');
    return space == std::string::npos || noted.substr(0, space) == caller_
               ? ""
               : noted.substr(space + 1);
  }
  void meddle_in_session() {
    if (const std::string task = of_another(boards_.tasks); !task.empty()) {
      for (const char* method : {"tasks/get", "tasks/cancel", "tasks/result"})
        EXPECT_EQ(error_code(ask_in(session_, message(3, method, {{"taskId", task}})).json()),
                  -32602)
            << method;
    }
    if (const std::string uri = of_another(boards_.resources); !uri.empty()) {
      EXPECT_EQ(error_code(ask_in(session_, message(4, "resources/read", {{"uri", uri}})).json()),
                -32002);
    }
    if (const std::string event = of_another(boards_.streams); !event.empty()) {
      Headers headers = session_headers();
      headers.push_back({"Last-Event-ID", event});
      EXPECT_EQ(client_.ask("GET", "/mcp", "", headers).status, 404) << caller_ << ": " << event;
    }
  }
  void run_job() {
    const Answer taken =
        client_.post("/v1/jobs", {{"tool", "greet"}, {"arguments", who_is(marker_)}});
    ASSERT_EQ(taken.status, 202) << taken;
    const std::string path = taken.header("location");
    boards_.jobs.note(path);
    const Json job = client_.get(path + "?wait=15").json();
    EXPECT_EQ(job.value("status", ""), "done") << job;
    took(job.value("call_id", ""), job.value("/result/output"_json_pointer, Json()));
    EXPECT_EQ(client_.ask("DELETE", path).status, 204);
  }
  // Nothing of this lane's runs: whatever it finds is another's.
  void meddle() {
    const std::string id = chosen(), job = boards_.jobs.any(random_);
    EXPECT_EQ(client_.ask("DELETE", "/v1/calls/" + id).status, 404) << caller_ << ": " << id;
    const std::string calls = client_.get("/v1/calls?ended=100").body;
    for (const char* other : {"alice", "mallory", "eve"}) {
      if (other == caller_) continue;
      EXPECT_EQ(client_.ask("DELETE", "/v1/calls/" + id + "?caller=" + other).status, 404);
      EXPECT_FALSE(contains(calls, other + std::string("-"))) << "shown to " << caller_;
    }
    if (job.starts_with('/')) {
      EXPECT_EQ(client_.get(job).status, 404);
      EXPECT_EQ(client_.ask("DELETE", job).status, 404);
    }
    meddle_in_session();
    const std::string session = boards_.sessions.any(random_);
    if (session == session_) return;
    // Of this lane it is another session, in which nothing runs: the other's calls go on, and are counted below.
    EXPECT_EQ(ask_in(session, message(1, "tools/list")).status, 200);
    EXPECT_EQ(ask_in(session, notice("notifications/cancelled", {{"requestId", chosen()}})).status,
              202);
  }

  const Serve& serve_;
  const std::string caller_;
  Boards& boards_;
  std::mt19937 random_;
  Client client_;
  std::string session_, event_, marker_;
  std::optional<Client> subscription_;
  std::vector<std::string> lines_;
};

TEST_F(ServeIds, HostileCallersNeverMeetAnothersCalls) {
  const char* given = getenv("BRIG_IDS_SEED");
  const unsigned long seed = given ? strtoul(given, nullptr, 10) : std::random_device()();
  std::cout << "BRIG_IDS_SEED=" << seed << std::endl;
  constexpr int kLanes = 2, kTurns = kSanitized ? 40 : 500;
  std::vector<Boards> boards(kLanes);
  for (Boards& each : boards) each.name = "lane" + std::to_string(&each - boards.data()) + "-";
  std::vector<std::unique_ptr<Lane>> lanes;
  for (const char* caller : {"alice", "mallory", "eve"})
    for (int i = 0; i < kLanes; ++i)
      lanes.push_back(std::make_unique<Lane>(serve_, caller, boards[static_cast<std::size_t>(i)],
                                             seed + lanes.size()));
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (const char* caller : {"alice", "mallory", "eve"})
    watchers.push_back(std::make_unique<Watcher>(serve_, caller));
  std::vector<std::thread> threads;
  for (const auto& lane : lanes) threads.emplace_back([&] { lane->play(kTurns); });
  for (std::thread& each : threads) each.join();

  EXPECT_TRUE(comes_true([&] { return calls_of("root") == 0; })) << serve_.calls(token_of("root"));
  std::vector<std::string> expected, logged;
  for (const auto& lane : lanes)
    expected.insert(expected.end(), lane->lines().begin(), lane->lines().end());
  for (const Json& line : serve_.audit())
    logged.push_back(line.value("caller", "") + " " + line.value("call_id", "") + " " +
                     line.value("arguments_sha256", ""));
  std::sort(expected.begin(), expected.end());
  std::sort(logged.begin(), logged.end());
  EXPECT_GT(expected.size(), lanes.size() * kTurns / 2);
  EXPECT_EQ(logged, expected) << "every call has its line, and no line is of another";
  // All that they may have at once is free again.
  std::vector<Client> running;
  for (const char* caller : {"alice", "mallory", "eve"}) {
    for (unsigned i = 0; i < kCallsAtOnce; ++i) running.push_back(begin(caller, std::to_string(i)));
    EXPECT_EQ(serve_.post("/v1/tools/greet/call", {{"arguments", who_is("x")}}, token_of(caller))
                  .problem(),
              "too-many-calls");
    let(caller);
  }
  for (Client& each : running) EXPECT_TRUE(contains(result_of(each), "answer of"));
  for (const char* caller : {"alice", "mallory", "eve"}) {
    EXPECT_TRUE(comes_true([&] { return calls_of(caller) == 0; }));
    EXPECT_EQ(
        serve_
            .post("/v1/tools/greet/call", {{"arguments", who_is(Watcher::kEnd)}}, token_of(caller))
            .status,
        200);
  }
  for (const auto& each : watchers) each->join();
  for (const auto& lane : lanes)
    EXPECT_EQ(lane->status_of_own_stream(serve_.client(token_of(lane->caller()))), 200);
  const Json status = serve_.get("/v1/status", token_of("root")).json();
  EXPECT_EQ(status["running"], 0) << status;
  // Those of the others end, and alice's go on.
  for (const auto& lane : lanes)
    if (lane->caller() != "alice") lane->subscription()->close();
  write_file(serve_.manifest(), many_tools(2));
  for (const auto& lane : lanes)
    if (lane->caller() == "alice") {
      const auto told = lane->subscription()->event();
      EXPECT_TRUE(told && contains(told->data, "list_changed")) << (told ? told->data : "nothing");
    }
}

}  // namespace
