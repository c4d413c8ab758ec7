// One call gives the same JSON through C, HTTP, a stream of events, /events, the audit log and the
// command line: one set of functions writes it (decision 047).
#include <brig/c.h>

#include <set>

#include "serve_program.h"

namespace {

using namespace e2e;

using Names = std::set<std::string>;

// The names of all members, those of objects within as "usage.cpu_ms". `leave`: names to leave out,
// with what is in them.
void add_names(const Json& json, const std::string& before, const Names& leave, Names& names) {
  for (const auto& [name, value] : json.items()) {
    if (leave.contains(before + name)) continue;
    names.insert(before + name);
    if (value.is_object()) add_names(value, before + name + ".", leave, names);
    if (value.is_array() && !value.empty() && value[0].is_object())
      add_names(value[0], before + name + "[].", leave, names);
  }
}

Names names_of(const Json& json, const Names& leave = {}) {
  Names names;
  add_names(json, "", leave, names);
  return names;
}

// Old names, which stand beside the new ones until 0.3.
const Names kOldOfC{"text", "read_only", "destructive", "idempotent", "open_world"};
const Names kOldOfServer{"base64", "usage.memory_peak"};

Names both(Names all, const Names& more) {
  all.insert(more.begin(), more.end());
  return all;
}

std::string taken(char* text) {
  std::string copy = text ? text : "";
  brig_c_free(text);
  return copy;
}

// A sandbox of C with the tools of a manifest, and a watch of its events.
class InC {
 public:
  explicit InC(const std::string& manifest) {
    const std::string config = Json{{"manifest", manifest}}.dump();
    char* error = nullptr;
    box_ = brig_c_sandbox_new(config.data(), config.size(), &error);
    EXPECT_TRUE(box_) << taken(error);
    watch_ = brig_c_sandbox_watch(box_, 100, nullptr);
  }
  ~InC() {
    brig_c_watch_free(watch_);
    brig_c_sandbox_free(box_);
  }
  InC(const InC&) = delete;
  InC& operator=(const InC&) = delete;

  // As to_json(result) has it: the report is in the result.
  Json call(const Json& request) {
    const std::string text = request.dump();
    const std::string lines = taken(brig_c_sandbox_call(box_, text.data(), text.size(), nullptr, 0,
                                                        nullptr, nullptr));
    const std::size_t end = lines.find('\n');
    Json result = Json::parse(lines.substr(0, end));
    result["report"] = Json::parse(lines.substr(end + 1));
    return result;
  }
  Json tools() { return Json::parse(taken(brig_c_sandbox_tools(box_, nullptr))); }
  // The last event of each kind, until a call has ended.
  std::map<std::string, Json> events() {
    std::map<std::string, Json> all;
    while (!all.contains("finished")) {
      const std::string text = taken(brig_c_watch_next(watch_, 15'000, nullptr));
      if (text.empty()) break;
      const Json event = Json::parse(text);
      all[event["kind"].get<std::string>()] = event;
    }
    return all;
  }

 private:
  brig_c_sandbox* box_ = nullptr;
  brig_c_watch* watch_ = nullptr;
};

// It writes text to one stream and other bytes to the other, and is refused something.
const Json kArguments{{"line", "echo out; printf '\\377' >&2; cat /srv/no/such; exit 3"}};

std::map<std::string, Json> events_of(Client& client, const std::string& last) {
  std::map<std::string, Json> all;
  while (!all.contains(last)) {
    const auto event = client.event();
    if (!event) break;
    all[event->name] = event->json();
  }
  return all;
}

Client streaming(const Serve& serve, const std::string& method, const std::string& path,
                 const std::string& body = "") {
  Client client = serve.client();
  client.request(method, path, body,
                 {{"Accept", "text/event-stream"}});
  EXPECT_EQ(client.read_head().status, 200);
  return client;
}

TEST(SameJson, AResultHasTheSameNamesEverywhere) {
  Serve serve({.tools = true});
  InC c(serve.manifest());
  const Json body{{"arguments", kArguments}};
  const Json in_c = c.call({{"tool", "shell"}, {"arguments", kArguments}});
  const Json by_http = serve.post("/v1/tools/shell/call", body).json();
  Client stream = streaming(serve, "POST", "/v1/tools/shell/call", body.dump());
  const Json by_stream = events_of(stream, "result")["result"];
  const Result cli = brig_program(
      {"call", "--manifest", serve.manifest(), "--json", "shell", kArguments.dump()});
  EXPECT_EQ(in_c["report"]["outcome"], "exit") << in_c;
  EXPECT_TRUE(in_c["report"].contains("stderr_base64")) << in_c;
  EXPECT_FALSE(in_c["report"]["violations"].empty()) << in_c;
  for (const Json& other : {by_http, by_stream, Json::parse(cli.out)})
    EXPECT_EQ(names_of(other), names_of(in_c)) << other;
}

TEST(SameJson, AnEventHasTheSameNamesEverywhere) {
  Serve serve({.tools = true});
  InC c(serve.manifest());
  const Json body{{"arguments", {{"line", "echo out; exit 3"}}}};
  c.call({{"tool", "shell"}, {"arguments", body["arguments"]}});
  const auto in_c = c.events();
  Client stream = streaming(serve, "POST", "/v1/tools/shell/call", body.dump());
  const auto by_stream = events_of(stream, "result");
  Client watch = streaming(serve, "GET", "/events");
  const Json by_http = serve.post("/v1/tools/shell/call", body).json();
  const auto watched = events_of(watch, "finished");
  for (const char* kind : {"queued", "started", "output"}) {
    ASSERT_TRUE(in_c.contains(kind) && by_stream.contains(kind) && watched.contains(kind)) << kind;
    // The text of every event is an old name in C, but that of output is not.
    Names old = kOldOfC;
    if (in_c.at(kind).contains("stream")) old.erase("text");
    EXPECT_EQ(names_of(by_stream.at(kind), kOldOfServer), names_of(in_c.at(kind), old)) << kind;
    EXPECT_EQ(names_of(watched.at(kind), both(kOldOfServer, {"caller"})),
              names_of(in_c.at(kind), old))
        << kind;
  }
  // The end of a call in /events says more than an event in C: what the result and its report say,
  // under their names.
  const Names end = names_of(watched.at("finished"), both(kOldOfServer, {"caller"}));
  const Names in_report = names_of(by_http["report"]), in_result = names_of(by_http);
  const Names in_event = names_of(in_c.at("finished"), kOldOfC);
  for (const std::string& name : in_event) EXPECT_TRUE(end.contains(name)) << name;
  for (const std::string& name : end)
    EXPECT_TRUE(in_event.contains(name) || in_report.contains(name) || in_result.contains(name))
        << name;
  const Json line = serve.audit().back();
  for (const char* part : {"usage", "steps"})
    EXPECT_EQ(names_of(line[part], {"memory_peak", "stdout_bytes", "stderr_bytes"}),
              names_of(by_http["report"][part]))
        << part;
  EXPECT_EQ(line["stdout_bytes"], by_http["report"]["stdout_bytes"]);
}

TEST(SameJson, AToolHasTheSameNamesEverywhere) {
  Serve serve({.tools = true});
  InC c(serve.manifest());
  const Json in_c = c.tools();
  const Json by_http = serve.get("/v1/tools").json()["tools"];
  const Json cli = Json::parse(
      brig_program({"tools", "--manifest", serve.manifest(), "--format", "json"}).out);
  ASSERT_FALSE(in_c.empty());
  ASSERT_EQ(by_http.size(), in_c.size());
  for (std::size_t i = 0; i < in_c.size(); ++i) {
    EXPECT_EQ(names_of(by_http[i]), names_of(in_c[i], kOldOfC));
    EXPECT_EQ(cli[i], by_http[i]);
  }
}

TEST(SameJson, OldNamesStandBesideTheNewOnesUntil03) {
  Serve serve({.tools = true});
  InC c(serve.manifest());
  const Json tool = c.tools()[0];
  for (const auto& [name, value] : tool["annotations"].items()) EXPECT_EQ(tool[name], value);
  Client watch = streaming(serve, "GET", "/events");
  serve.post("/v1/tools/shell/call", {{"arguments", {{"line", "printf '\\377'"}}}});
  const auto watched = events_of(watch, "finished");
  EXPECT_EQ(watched.at("output")["text_base64"], "/w==");
  EXPECT_EQ(watched.at("output")["base64"], "/w==");
  const Json& usage = watched.at("finished")["usage"];
  EXPECT_EQ(usage["memory_peak"], usage["memory_peak_bytes"]);
  const Json line = serve.audit().back();
  EXPECT_EQ(line["usage"]["stdout_bytes"], 1);
  EXPECT_EQ(line["span"]["run_ms"], line["steps"]["run_ms"]);
}

}  // namespace
