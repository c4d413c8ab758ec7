// A parsed request of MCP. Only mcp*.cc include this.
#pragma once

#include "mcp/mcp.h"
#include "mcp/mcp_tasks.h"

namespace brig::serve {

struct Mcp::Request {
  Json id, params;
  std::string method;
  bool modern = false;
  const McpOrigin& origin;
  McpReplyPtr reply;

  const Caller& caller() const { return *origin.caller; }
  void answer(Json value, unsigned status = 200) const {
    if (modern) value["resultType"] = "complete";
    reply->answer(rpc::result(id, std::move(value)), status);
  }
  // In the modern era `status` is the HTTP status; in the other, an error is sent with status 200.
  void fail(int code, const std::string& message, unsigned status = 400,
            Json data = nullptr) const {
    reply->answer(rpc::error(id, code, message, std::move(data)), modern ? status : 200);
  }
  const Json* meta(const char* key) const {
    const auto meta = params.find("_meta");
    if (meta == params.end() || !meta->is_object()) return nullptr;
    const auto found = meta->find(key);
    return found == meta->end() ? nullptr : &*found;
  }

  // Whether its version has tasks.
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
