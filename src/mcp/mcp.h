// Mcp: the Model Context Protocol, whatever carries it. Two eras of it: with a handshake and sessions (2024-11-05 to 2025-11-25),
// and stateless (2026-07-28). A request says itself which one it is of.
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
inline constexpr const char* kWithBatches = "2025-03-26";  // the one version that has them
bool is_legacy_version(std::string_view version);
// All versions that this server speaks, the newest first.
Json spoken_versions();
// A string that may be kept and sent back: up to 1024 bytes.
bool is_short_text(const Json& value);

namespace rpc {
inline constexpr int kParse = -32700, kInvalidRequest = -32600, kUnknownMethod = -32601,
                     kInvalidParams = -32602, kInternal = -32603, kHeaderMismatch = -32020,
                     kMissingCapability = -32021, kUnsupportedVersion = -32022,
                     kNoResource = -32002;
Json error(const Json& id, int code, const std::string& message, Json data = nullptr);
Json result(const Json& id, Json value);
// The same as a line, of a value that is JSON text already: to read it into values takes far longer, and more memory.
std::string result_line(const Json& id, std::string_view value);
Json notification(const char* method, Json params);
}  // namespace rpc

// The way back to who sent a request.
class McpReply {
 public:
  virtual ~McpReply() = default;
  // Not if the client has left kMostUntaken untaken: a tool can tell more than any client takes, who is to have the answer
  // nevertheless.
  virtual void notify(const Json& message) = 0;
  static constexpr std::size_t kMostUntaken = std::size_t{1} << 20;
  // Once, and last. `status`: of HTTP.
  void answer(const Json& message, unsigned status = 200);
  // The same, as the line that it is on the wire. `id`: the request's, or null.
  virtual void answer_text(const Json& id, std::string line, unsigned status = 200) = 0;
  // Whether notify() can reach anybody.
  virtual bool can_notify() const { return true; }
  // In place of an answer, if the request was cancelled: nothing follows.
  virtual void close() = 0;
};
using McpReplyPtr = std::shared_ptr<McpReply>;

enum class LogLevel { debug, info, notice, warning, error, critical, alert, emergency };

// Of the era with a handshake; and, on stdio, what runs for either.
struct McpSession {
  std::string id;
  CallerPtr caller;
  std::string version = kLatestLegacy;
  LogLevel log_level = LogLevel::debug;
  bool ready = false;  // the client has sent notifications/initialized
  struct Running {
    std::uint64_t call = 0;  // its number; 0: a subscription
    McpReplyPtr reply;
    std::function<void()> stop;
  };
  std::map<std::string, Running> running;  // by the request's id, as JSON
  std::set<std::string> cancelled;         // of those: they get no answer
  std::chrono::steady_clock::time_point used;
};
using McpSessionPtr = std::shared_ptr<McpSession>;

// Where a message comes from.
struct McpOrigin {
  CallerPtr caller;
  std::string peer;
  std::string traceparent;
  McpSessionPtr session;  // null: stateless, over HTTP
};

class Mcp {
 public:
  // `jobs`: its tasks are among them.
  Mcp(Loop& loop, Service& service, Jobs& jobs);

  // A request: it has a method and an id. The answer may come later. Returns a handle to stop it, where leaving means that
  // (or nothing to stop).
  using Stop = std::function<void()>;
  Stop request(Json message, const McpOrigin& origin, const McpReplyPtr& reply);
  void notification(const Json& message, const McpOrigin& origin);
  // A JSON-RPC batch, in a session of 2025-03-26: the answers come together, as one array. False: there is nothing to answer, and
  // `reply` is not used.
  bool batch(Json messages, const McpOrigin& origin, const McpReplyPtr& reply);
  // What ends with its session.
  void end(McpSession& session);

  Service& service() { return service_; }
  Loop& loop() { return loop_; }

 private:
  struct Request;  // a request, taken apart
  Stop legacy(Request& request);
  Stop modern(Request& request);
  Stop either(Request& request);  // the methods that both eras have
  void initialize(Request& request);
  void discover(Request& request);
  void list_tools(Request& request);
  void set_level(Request& request);
  void list_resources(Request& request);
  void list_templates(Request& request);
  void read_resource(Request& request);
  struct ToolCall;  // a tools/call that has no answer yet, or is a task
  using ToolCallPtr = std::shared_ptr<ToolCall>;
  Stop call_tool(Request& request);
  // What the request says of how it is to be answered. False: it is malformed, and has been told so.
  bool prepare(Request& request, ToolCall& call);
  bool prepare_commentary(Request& request, ToolCall& call);
  Stop start_call(Request& request, CallRequest call_request, const ToolCallPtr& call);
  CallObserver observer_of(const ToolCallPtr& call);
  Json result_of(const ToolCall& call, ToolResult result) const;
  // False: there is no room, or nobody wants it any more.
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

// A fault in the shape of a message: not JSON-RPC, or no id that can be answered to. Nothing if there is none.
std::optional<Json> shape_fault(const Json& message);
// The same of a batch as a whole, in a session (or none) of that version.
std::optional<Json> batch_fault(const Json& messages, const McpSession* session);

}  // namespace brig::serve
