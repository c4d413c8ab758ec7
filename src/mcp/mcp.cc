#include "mcp/mcp.h"

#include <brig/version.h>
#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "mcp/mcp_request.h"
#include "mcp/mcp_tool.h"

namespace brig::serve {
namespace {

constexpr const char* kInstructions =
    "Every call runs in a fresh, locked cell: nothing is kept between calls, and the operator "
    "decides what a call may use.";

Json server_info() { return {{"name", "brig"}, {"title", "brig"}, {"version", BRIG_VERSION}}; }

// Resources have no notifications of changes and no subscriptions: they come with the results of
// calls. Tasks are not listed, because a server without tokens can't tell whose they are.
Json capabilities_of(std::string_view version) {
  Json all{{"tools", {{"listChanged", true}}},
           {"logging", Json::object()},
           {"resources", Json::object()}};
  if (version == kModern)
    all["extensions"] = {{kTasksExtension, Json::object()}};
  else if (version == kLatestLegacy)
    all["tasks"] = {{"cancel", Json::object()},
                    {"requests", {{"tools", {{"call", Json::object()}}}}}};
  return all;
}

}  // namespace

Mcp::Mcp(Loop& loop, Service& service, Jobs& jobs)
    : loop_(loop), service_(service), jobs_(jobs), resources_(loop) {}

Mcp::Stop Mcp::request(Json message, McpEra era, const McpOrigin& origin,
                       const McpReplyPtr& reply) {
  Request request{std::move(message["id"]), Json::object(), {},
                  era == McpEra::modern,    origin,         reply};
  request.method = message["method"].get<std::string>();
  if (const auto params = message.find("params"); params != message.end())
    request.params = std::move(*params);
  if (origin.session) {
    origin.session->used = std::chrono::steady_clock::now();
    if (origin.session->running.contains(request.id.dump())) {
      request.fail(rpc::kInvalidRequest, "id: a request with that id is still running");
      return {};
    }
  }
  const std::string id = request.id.dump();
  Stop stop = request.modern ? modern(request) : legacy(request);
  if (stop && origin.session) {
    const auto running = origin.session->running.find(id);
    if (running != origin.session->running.end()) running->second.stop = stop;
  }
  return stop;
}

Mcp::Stop Mcp::either(Request& request) {
  const std::string& method = request.method;
  if (method == "tools/list") {
    list_tools(request);
  } else if (method == "tools/call") {
    return call_tool(request);
  } else if (method == "resources/list") {
    list_resources(request);
  } else if (method == "resources/templates/list") {
    list_templates(request);
  } else if (method == "resources/read") {
    read_resource(request);
  } else if (method.starts_with("tasks/")) {
    return ask_task(request);
  } else {
    request.fail(rpc::kUnknownMethod, fmt::format("unknown method: {}", in_quotes(method)), 404);
  }
  return {};
}

Mcp::Stop Mcp::legacy(Request& request) {
  const std::string& method = request.method;
  if (method == "initialize") {
    initialize(request);
  } else if (method == "ping") {
    request.answer(Json::object());
  } else if (method == "logging/setLevel") {
    set_level(request);
  } else if (method == "server/discover") {
    // A client of the other era that does not know yet that it has to say so.
    request.fail(rpc::kInvalidParams,
                 "params._meta: io.modelcontextprotocol/protocolVersion is missing");
  } else {
    return either(request);
  }
  return {};
}

Mcp::Stop Mcp::modern(Request& request) {
  const Json* version = request.meta("io.modelcontextprotocol/protocolVersion");
  const Json* client = request.meta("io.modelcontextprotocol/clientCapabilities");
  const std::string& method = request.method;
  if (!version || !version->is_string()) {
    request.fail(rpc::kInvalidParams,
                 "params._meta: io.modelcontextprotocol/protocolVersion is missing");
  } else if (!client || !client->is_object()) {
    request.fail(rpc::kInvalidParams,
                 "params._meta: io.modelcontextprotocol/clientCapabilities is missing");
  } else if (*version != kModern) {
    request.fail(
        rpc::kUnsupportedVersion, "Unsupported protocol version.", 400,
        {{"supported", {kModern}}, {"requested", is_short_text(*version) ? *version : Json()}});
  } else if (method == "server/discover") {
    discover(request);
  } else if (method == "subscriptions/listen") {
    return listen(request);
  } else {
    return either(request);
  }
  return {};
}

void Mcp::initialize(Request& request) {
  const auto version = request.params.find("protocolVersion");
  if (version == request.params.end() || !version->is_string())
    return request.fail(rpc::kInvalidParams, "protocolVersion is missing");
  McpSession& session = *request.origin.session;
  session.version = is_legacy_version(version->get_ref<const std::string&>())
                        ? version->get<std::string>()
                        : kLatestLegacy;
  request.answer({{"protocolVersion", session.version},
                  {"capabilities", capabilities_of(session.version)},
                  {"serverInfo", server_info()},
                  {"instructions", kInstructions}});
}

void Mcp::discover(Request& request) {
  request.answer({{"supportedVersions", {kModern}},
                  {"capabilities", capabilities_of(kModern)},
                  {"instructions", kInstructions},
                  {"ttlMs", kListLifetime},
                  {"cacheScope", "private"},
                  {"_meta", {{"io.modelcontextprotocol/serverInfo", server_info()}}}});
}

std::optional<LogLevel> log_level_of(const Json& name) {
  static constexpr std::array<const char*, 8> kNames = {"debug", "info",     "notice", "warning",
                                                        "error", "critical", "alert",  "emergency"};
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) return static_cast<LogLevel>(i);
  return {};
}

void Mcp::set_level(Request& request) {
  const auto level = request.params.find("level");
  const auto known = level == request.params.end() ? std::nullopt : log_level_of(*level);
  if (!known)
    return request.fail(rpc::kInvalidParams,
                        "level must be a severity of RFC 5424, such as warning");
  request.origin.session->log_level = *known;
  request.answer(Json::object());
}

// Sends notifications of changes until it is stopped.
Mcp::Stop Mcp::listen(Request& request) {
  const auto wanted = request.params.find("notifications");
  if (wanted == request.params.end() || !wanted->is_object()) {
    request.fail(rpc::kInvalidParams, "notifications must be an object");
    return {};
  }
  // The server sends no notifications of tasks unasked. A client that does not declare tasks may
  // not ask for them either.
  if (wanted->contains("taskIds") && !request.declares_tasks()) {
    request.fail_without_tasks();
    return {};
  }
  if (!request.reply->can_notify()) {
    request.fail(rpc::kInvalidRequest, "this answer is a text/event-stream; accept that type", 406);
    return {};
  }
  const bool tools = wanted->value("toolsListChanged", Json(false)) == true;
  const Json meta{{"io.modelcontextprotocol/subscriptionId", request.id}};
  Json accepted = Json::object();
  if (tools) accepted["toolsListChanged"] = true;
  request.reply->notify(rpc::notification("notifications/subscriptions/acknowledged",
                                          {{"notifications", accepted}, {"_meta", meta}}));
  const auto held = std::make_shared<std::shared_ptr<void>>();
  if (tools)
    *held = service_.on_tools_changed([reply = request.reply, meta] {
      reply->notify(rpc::notification("notifications/tools/list_changed", {{"_meta", meta}}));
    });
  if (request.origin.session) {
    const std::string id = request.id.dump();
    request.origin.session->running[id] = {0, request.reply, {}};
  }
  return [held, reply = request.reply] { held->reset(); };
}

void Mcp::notification(const Json& message, const McpOrigin& origin) {
  if (!origin.session) return;
  if (message["method"] == "notifications/initialized") origin.session->ready = true;
  if (message["method"] != "notifications/cancelled") return;
  const auto params = message.find("params");
  if (params == message.end() || !params->contains("requestId")) return;
  McpSession& session = *origin.session;
  const auto found = session.running.find((*params)["requestId"].dump());
  if (found == session.running.end()) return;
  if (found->second.call == 0) {
    const McpSession::Running ended = std::move(found->second);
    session.running.erase(found);
    if (ended.stop) ended.stop();
    return ended.reply->close();
  }
  session.cancelled.insert(found->first);
  service_.cancel(found->second.call);
}

void Mcp::end(McpSession& session) {
  const auto running = session.running;
  for (const auto& [id, each] : running) {
    if (each.call == 0) {
      if (each.stop) each.stop();
      each.reply->close();
      continue;
    }
    session.cancelled.insert(id);
    service_.cancel(each.call, true);
  }
}

}  // namespace brig::serve
