// A parsed request of MCP. Only mcp*.cc include this.
#pragma once

#include "base/text.h"
#include "mcp/mcp.h"
#include "mcp/mcp_tasks.h"

namespace brig::serve {

// How long a client may keep a list, in milliseconds: a reload may come at any time.
inline constexpr int kListLifetime = 5000;

struct Mcp::Request {
  Json id, params;
  std::string method;
  bool modern = false;
  const McpOrigin& origin;
  McpReplyPtr reply;

  const Caller& caller() const { return *origin.caller; }
  // A call by this request, or what the audit log says of it if it is refused; no tool yet.
  CallRequest call_request() const {
    CallRequest made;
    made.caller = origin.caller;
    made.peer = origin.peer;
    made.via = "mcp";
    if (origin.session) made.session = origin.session->id;
    return made;
  }
  void answer(Json value, unsigned status = 200) const {
    if (modern) value["resultType"] = "complete";
    reply->answer(rpc::result(id, std::move(value)), status);
  }
  // Answers with a list, which a client of the modern era may keep for a while.
  void answer_list(Json value) const {
    if (modern) {
      value["ttlMs"] = kListLifetime;
      value["cacheScope"] = "private";
    }
    answer(std::move(value));
  }
  // In the modern era `status` is the HTTP status; in the other, an error is sent with status 200.
  void fail(int code, const std::string& message, unsigned status = 400,
            Json data = nullptr) const {
    reply->answer(rpc::error(id, code, message, std::move(data)), modern ? status : 200);
  }
  // Returns what the cursor stands for, the last entry that was given, or "" without a cursor.
  // Returns nothing if the cursor is malformed, after telling the client.
  std::optional<std::string> cursor() const {
    const auto found = params.find("cursor");
    if (found == params.end()) return "";
    auto entry = found->is_string() ? base64_decoded(found->get<std::string>()) : std::nullopt;
    if (entry && !entry->empty()) return entry;
    fail(rpc::kInvalidParams, "cursor is not one of this server's");
    return {};
  }
  const Json* meta(const char* key) const {
    const auto meta = params.find("_meta");
    if (meta == params.end() || !meta->is_object()) return nullptr;
    const auto found = meta->find(key);
    return found == meta->end() ? nullptr : &*found;
  }

  // Returns whether the request's version has tasks.
  bool has_tasks() const { return modern || origin.session->version == kLatestLegacy; }
  JobKind task_kind() const { return modern ? JobKind::task : JobKind::legacy_task; }
  bool declares_tasks() const {
    return modern && serve::declares_tasks(meta("io.modelcontextprotocol/clientCapabilities"));
  }
  void fail_without_tasks() const {
    fail(rpc::kMissingCapability, "The client does not declare io.modelcontextprotocol/tasks.", 400,
         {{"requiredCapabilities", {{"extensions", {{kTasksExtension, Json::object()}}}}}});
  }
};

}  // namespace brig::serve
