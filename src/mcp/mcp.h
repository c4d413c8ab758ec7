// Mcp: the Model Context Protocol, over any transport. It has two eras: one with a handshake and
// sessions (2024-11-05 to 2025-11-25), and one without state (2026-07-28). A request says itself
// which era it belongs to.
#pragma once

#include <brig/json.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "http/caller.h"
#include "http/loop.h"
#include "service/jobs.h"
#include "service/resources.h"
#include "service/service.h"

namespace brig::serve {

inline constexpr const char* kModern = "2026-07-28";
inline constexpr const char* kLatestLegacy = "2025-11-25";
// The only version with batches.
inline constexpr const char* kWithBatches = "2025-03-26";
bool is_legacy_version(std::string_view version);
// All supported versions, the newest first.
Json spoken_versions();
// A transport decides for each request, once, which era it belongs to.
enum class McpEra { legacy, modern };
// The version that a message names in its _meta, or null. A message that names any is of the modern
// era; over HTTP, a header alone makes it so, too.
const Json* version_in(const Json& message);
inline McpEra era_of(const Json& message) {
  return version_in(message) ? McpEra::modern : McpEra::legacy;
}
// Whether this is a string of at most 1024 bytes, so that it may be kept and sent back.
bool is_short_text(const Json& value);

namespace rpc {
inline constexpr int kParse = -32700, kInvalidRequest = -32600, kUnknownMethod = -32601,
                     kInvalidParams = -32602, kInternal = -32603, kHeaderMismatch = -32020,
                     kMissingCapability = -32021, kUnsupportedVersion = -32022,
                     kNoResource = -32002;
Json error(const Json& id, int code, const std::string& message, Json data = nullptr);
Json result(const Json& id, Json value);
// The same as a line, for a value that is JSON text already: parsing it would take far longer, and
// more memory.
std::string result_line(const Json& id, std::string_view value);
Json notification(const char* method, Json params);
}  // namespace rpc

// The way back to the client that sent a request.
class McpReply {
 public:
  virtual ~McpReply() = default;
  // Drops the message if the client has more than kMostUntaken bytes still to read: a tool can
  // report more than any client reads, and the client must get its answer nevertheless.
  virtual void notify(const Json& message) = 0;
  static constexpr std::size_t kMostUntaken = std::size_t{1} << 20;
  // Sends the answer: once, and last. `status` is that of HTTP.
  void answer(const Json& message, unsigned status = 200);
  // The same, with the line as it goes over the wire. `id`: the request's, or null.
  virtual void answer_text(const Json& id, std::string line, unsigned status = 200) = 0;
  // Whether notify() can reach the client.
  virtual bool can_notify() const { return true; }
  // Ends a request that was cancelled, in place of an answer: nothing follows.
  virtual void close() = 0;
};
using McpReplyPtr = std::shared_ptr<McpReply>;

enum class LogLevel { debug, info, notice, warning, error, critical, alert, emergency };

// A session of the era with a handshake; on stdio, also the running requests of both eras.
struct McpSession {
  std::string id;
  CallerPtr caller;
  std::string version = kLatestLegacy;
  LogLevel log_level = LogLevel::debug;
  // The client has sent notifications/initialized.
  bool ready = false;
  struct Running {
    // Its number; 0: a subscription.
    std::uint64_t call = 0;
    McpReplyPtr reply;
    std::function<void()> stop;
  };
  std::map<std::string, Running> running;  // by the request's id, as JSON
  std::set<std::string> cancelled;         // those of `running` that get no answer
  std::chrono::steady_clock::time_point used;
};
using McpSessionPtr = std::shared_ptr<McpSession>;

// Where a message comes from.
struct McpOrigin {
  CallerPtr caller;
  std::string peer;
  std::string traceparent;
  McpSessionPtr session;  // null: stateless, over HTTP
  FoundTool found;        // of a tools/call, if the transport has looked it up
};

class Mcp {
 public:
  // `jobs` also holds the tasks of MCP.
  Mcp(Loop& loop, Service& service, Jobs& jobs);

  // Handles a request, which has a method and an id. In the legacy era `origin` has a session. The
  // answer may come later. Returns a function that stops it, for transports where a client that
  // leaves cancels; it is empty if there is nothing to stop.
  using Stop = std::function<void()>;
  Stop request(Json message, McpEra era, const McpOrigin& origin, const McpReplyPtr& reply);
  void notification(const Json& message, const McpOrigin& origin);
  // Handles a JSON-RPC batch, in a session of 2025-03-26: the answers come together, as one array.
  // False: there is nothing to answer, and `reply` is not used.
  bool batch(Json messages, const McpOrigin& origin, const McpReplyPtr& reply);
  // Ends everything that runs in a session.
  void end(McpSession& session);

  Service& service() { return service_; }
  Loop& loop() { return loop_; }

 private:
  // A request, taken apart.
  struct Request;
  Stop legacy(Request& request);
  Stop modern(Request& request);
  // The methods that both eras have.
  Stop either(Request& request);
  void initialize(Request& request);
  void discover(Request& request);
  void list_tools(Request& request);
  void set_level(Request& request);
  void list_resources(Request& request);
  void list_templates(Request& request);
  void read_resource(Request& request);
  // A tools/call that has no answer yet, or is a task.
  struct ToolCall;
  using ToolCallPtr = std::shared_ptr<ToolCall>;
  Stop call_tool(Request& request);
  // Sets `found`. Null: this caller has no such tool.
  std::shared_ptr<const Tool> look_up(CallRequest& call, const McpOrigin& origin) const;
  // Reads how the request wants to be answered. False: it is malformed, and has been answered with
  // an error.
  bool prepare(Request& request, ToolCall& call);
  bool prepare_commentary(Request& request, ToolCall& call);
  Stop start_call(Request& request, CallRequest call_request, const ToolCallPtr& call);
  CallObserver observer_of(const ToolCallPtr& call);
  Json result_of(const ToolCall& call, ToolResult result) const;
  // False: there is no room for a task, or the call was cancelled.
  bool become_task(ToolCall& call);
  Stop ask_task(Request& request);
  void cancel_task(Request& request, const std::string& task, const Job& job);
  Stop answer_result(Request& request, const std::string& task);
  Stop listen(Request& request);

  Loop& loop_;
  Service& service_;
  Jobs& jobs_;
  McpResources resources_;
};

// The error for a message that is not JSON-RPC, or whose id can't be used for an answer. Nothing if
// the message is fine.
std::optional<Json> shape_fault(const Json& message);
// The same for a batch as a whole, in that session (or without one).
std::optional<Json> batch_fault(const Json& messages, const McpSession* session);

}  // namespace brig::serve
