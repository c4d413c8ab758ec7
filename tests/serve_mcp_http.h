// MCP over HTTP, as a client has it.
#pragma once

#include "serve_mcp.h"

namespace e2e {

inline constexpr const char* kBoth = "application/json, text/event-stream";

inline Headers modern_headers(const Json& message) {
  Headers headers = {{"Accept", kBoth},
                     {"MCP-Protocol-Version", kModern},
                     {"Mcp-Method", message.value("method", "")}};
  if (message["params"].contains("name"))
    headers.push_back({"Mcp-Name", message["params"].value("name", "")});
  if (message["params"].contains("taskId"))
    headers.push_back({"Mcp-Name", message["params"].value("taskId", "")});
  return headers;
}

inline void request_modern(Client& client, const Json& message) {
  client.request("POST", "/mcp", message.dump(), modern_headers(message));
}

// The messages of an answer, whether JSON or events; the last is the answer itself.
inline std::vector<Json> messages(Client& client) {
  Answer answer = client.read_head();
  std::vector<Json> all;
  if (answer.header("content-type").starts_with("text/event-stream")) {
    while (const auto event = client.event())
      if (!event->data.empty()) all.push_back(event->json());  // one that is empty only has an id
  } else {
    client.read_body(answer);
    all.push_back(answer.json());
  }
  return all;
}

inline Answer ask_modern(const Serve& serve, const Json& message) {
  Client client = serve.client();
  return client.ask("POST", "/mcp", message.dump(), modern_headers(message));
}

// A session of the era that has them.
class Session {
 public:
  explicit Session(const Serve& serve, const std::string& token = "",
                   const std::string& version_ = kLegacy)
      : version(version_), serve_(serve), token_(token) {
    const Answer answer = post(initialize(0, version));
    id = answer.header("mcp-session-id");
    EXPECT_NE(id, "") << answer;
    EXPECT_EQ(post(notice("notifications/initialized")).status, 202);
  }
  Headers headers() const {
    Headers list = {{"Accept", kBoth}};
    if (id.empty()) return list;
    list.push_back({"Mcp-Session-Id", id});
    list.push_back({"MCP-Protocol-Version", version});
    return list;
  }
  void request(Client& client, const Json& message) const {
    client.request("POST", "/mcp", message.dump(), headers());
  }
  Answer post(const Json& message) const {
    Client client = serve_.client(token_);
    request(client, message);
    return client.read();
  }
  Json ask(const Json& message) const { return post(message).json(); }
  int remove() const { return serve_.client(token_).ask("DELETE", "/mcp", "", headers()).status; }
  // The stream of what is told unasked, or, with the id of an event, what came after it.
  Client listen(const std::string& last_event = "") const {
    Client client = serve_.client(token_);
    Headers list = headers();
    if (!last_event.empty()) list.push_back({"Last-Event-ID", last_event});
    client.request("GET", "/mcp", "", list);
    const Answer head = client.read_head();
    EXPECT_EQ(head.status, 200) << head;
    EXPECT_TRUE(head.header("content-type").starts_with("text/event-stream")) << head;
    if (!last_event.empty() || version < kLegacy) return client;
    const auto first = client.event();  // with an id to come back with, and nothing else
    EXPECT_TRUE(first && first->data.empty() && !first->id.empty());
    if (first) list_id = first->id;
    return client;
  }
  mutable std::string list_id;
  std::string id;
  const std::string version;

 private:
  const Serve& serve_;
  const std::string token_;
};

}  // namespace e2e
