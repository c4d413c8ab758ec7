#include "mcp/mcp.h"

#include <brig/version.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "json/json_line.h"
#include "mcp/mcp_request.h"
#include "mcp/mcp_tool.h"

namespace brig::serve {
namespace {

constexpr std::size_t kPage = 100;
constexpr int kListLifetime = 5000;  // milliseconds; a reload may come at any time

constexpr const char* kInstructions =
    "Every call runs in a fresh, locked cell: nothing is kept between calls, and what a call may "
    "use "
    "is fixed by the operator.";

Json server_info() { return {{"name", "brig"}, {"title", "brig"}, {"version", BRIG_VERSION}}; }

// Of resources neither changes are told nor subscriptions taken: they come with the results of calls. Tasks are not listed: a server without
// tokens can't tell whose they are.
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

bool is_short_text(const Json& value) {
  return value.is_string() && value.get_ref<const std::string&>().size() <= 1024;
}

namespace {

constexpr std::array<const char*, 4> kLegacy = {kLatestLegacy, "2025-06-18", kWithBatches,
                                                "2024-11-05"};

}  // namespace

bool is_legacy_version(std::string_view version) {
  return std::find(kLegacy.begin(), kLegacy.end(), version) != kLegacy.end();
}

Json spoken_versions() {
  Json all = Json::array({kModern});
  for (const char* each : kLegacy) all.push_back(each);
  return all;
}

namespace rpc {

Json error(const Json& id, int code, const std::string& message, Json data) {
  Json body{{"code", code}, {"message", message}};
  if (!data.is_null()) body["data"] = std::move(data);
  Json answer{{"jsonrpc", "2.0"}, {"error", std::move(body)}};
  if (!id.is_null()) answer["id"] = id;
  return answer;
}

Json result(const Json& id, Json value) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(value)}};
}

std::string result_line(const Json& id, std::string_view value) {
  std::string line = json_line({{"jsonrpc", "2.0"}, {"id", id}});
  line.back() = ',';
  return line.append("\"result\":").append(value).append("}");
}

Json notification(const char* method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

}  // namespace rpc

void McpReply::answer(const Json& message, unsigned status) {
  const bool has_id = message.is_object() && message.contains("id");
  answer_text(has_id ? message["id"] : Json(), json_line(message), status);
}

std::optional<Json> shape_fault(const Json& message) {
  const auto fault = [](const Json& id, const char* why) {
    return rpc::error(id, rpc::kInvalidRequest, why);
  };
  if (message.is_array())
    return fault(nullptr, "Send one message at a time: only sessions of 2025-03-26 have batches.");
  if (!message.is_object()) return fault(nullptr, "a message is an object");
  Json id;
  if (const auto found = message.find("id"); found != message.end()) {
    if (!found->is_string() && !found->is_number_integer())
      return fault(nullptr, "id: a string or an integer");
    id = *found;
    if (id.is_string() && !is_short_text(id)) return fault(nullptr, "id: longer than 1024 bytes");
  }
  const auto version = message.find("jsonrpc");
  if (version == message.end() || *version != "2.0") return fault(id, "jsonrpc: must be \"2.0\"");
  const auto method = message.find("method");
  if (method == message.end()) {
    // An answer; but nothing is ever asked.
    if (message.contains("result") || message.contains("error")) return {};
    return fault(id, "there is no method");
  }
  if (!method->is_string()) return fault(id, "method: a string");
  if (const auto params = message.find("params"); params != message.end() && !params->is_object())
    return rpc::error(id, rpc::kInvalidParams, "params: an object");
  return {};
}

Mcp::Mcp(Loop& loop, Service& service, Jobs& jobs)
    : loop_(loop), service_(service), jobs_(jobs), resources_(loop) {}

Mcp::Stop Mcp::request(Json message, const McpOrigin& origin, const McpReplyPtr& reply) {
  Request request{std::move(message["id"]), Json::object(), {}, false, origin, reply};
  request.method = message["method"].get<std::string>();
  if (const auto params = message.find("params"); params != message.end())
    request.params = std::move(*params);
  request.modern =
      !origin.session || request.meta("io.modelcontextprotocol/protocolVersion") != nullptr;
  if (origin.session) {
    origin.session->used = std::chrono::steady_clock::now();
    if (origin.session->running.contains(request.id.dump())) {
      request.fail(rpc::kInvalidRequest, "id: a request of that id is running");
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

Mcp::Stop Mcp::legacy(Request& request) {
  const std::string& method = request.method;
  if (method == "initialize") {
    initialize(request);
  } else if (method == "ping") {
    request.answer(Json::object());
  } else if (method == "tools/list") {
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
  } else if (method == "logging/setLevel") {
    set_level(request);
  } else if (method == "server/discover") {
    // Of the other era, from who does not know yet that it has to say so.
    request.fail(rpc::kInvalidParams,
                 "params._meta: io.modelcontextprotocol/protocolVersion is missing");
  } else {
    request.fail(rpc::kUnknownMethod, fmt::format("no such method: {}", in_quotes(method)));
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
  } else if (method == "tools/list") {
    list_tools(request);
  } else if (method == "tools/call") {
    return call_tool(request);
  } else if (method == "subscriptions/listen") {
    return listen(request);
  } else if (method.starts_with("tasks/")) {
    return ask_task(request);
  } else if (method == "resources/list") {
    list_resources(request);
  } else if (method == "resources/templates/list") {
    list_templates(request);
  } else if (method == "resources/read") {
    read_resource(request);
  } else {
    request.fail(rpc::kUnknownMethod, fmt::format("no such method: {}", in_quotes(method)), 404);
  }
  return {};
}

void Mcp::initialize(Request& request) {
  const auto version = request.params.find("protocolVersion");
  if (version == request.params.end() || !version->is_string())
    return request.fail(rpc::kInvalidParams, "protocolVersion: is missing");
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

void Mcp::list_tools(Request& request) {
  const auto tools = service_.tools(request.caller());
  std::size_t first = 0;
  if (const auto cursor = request.params.find("cursor"); cursor != request.params.end()) {
    // The name of the last that was given: it stays true when tools come and go.
    const auto name =
        cursor->is_string() ? base64_decoded(cursor->get<std::string>()) : std::nullopt;
    if (!name || name->empty())
      return request.fail(rpc::kInvalidParams, "cursor: not one of this server's");
    first = static_cast<std::size_t>(
        std::find_if(tools.begin(), tools.end(),
                     [&](const auto& tool) { return tool->name > *name; }) -
        tools.begin());
  }
  const std::size_t end = std::min(first + kPage, tools.size());
  Json list = Json::array();
  for (std::size_t i = first; i < end; ++i) {
    const Tool& tool = *tools[i];
    list.push_back(
        mcp_tool(tool, service_.policy_of(tool), request.modern, service_.is_own(tool.name)));
    // Before 2025-06-18 there were neither output schemas nor what they are of.
    if (!request.modern && request.origin.session->version < "2025-06-18")
      list.back().erase("outputSchema");
    if (!request.modern && request.has_tasks())
      list.back()["execution"] = {{"taskSupport", "optional"}};
  }
  Json result{{"tools", std::move(list)}};
  if (end < tools.size()) result["nextCursor"] = base64(tools[end - 1]->name);
  if (request.modern) {
    result["ttlMs"] = kListLifetime;
    result["cacheScope"] = "private";
  }
  request.answer(std::move(result));
}

void Mcp::list_resources(Request& request) {
  std::string after;
  if (const auto cursor = request.params.find("cursor"); cursor != request.params.end()) {
    const auto uri =
        cursor->is_string() ? base64_decoded(cursor->get<std::string>()) : std::nullopt;
    if (!uri || uri->empty())
      return request.fail(rpc::kInvalidParams, "cursor: not one of this server's");
    after = *uri;
  }
  bool more = false;
  auto list = resources_.list(request.origin.caller, after, more);
  if (!list)
    return request.fail(rpc::kInvalidParams,
                        "cursor: what it stands for is not kept any more; begin anew");
  Json result{{"resources", std::move(*list)}};
  if (more) result["nextCursor"] = base64(result["resources"].back()["uri"].get<std::string>());
  if (request.modern) {
    result["ttlMs"] = kListLifetime;
    result["cacheScope"] = "private";
  }
  request.answer(std::move(result));
}

void Mcp::list_templates(Request& request) {
  Json result{{"resourceTemplates", Json::array()}};
  if (request.modern) {
    result["ttlMs"] = kListLifetime;
    result["cacheScope"] = "private";
  }
  request.answer(std::move(result));
}

void Mcp::read_resource(Request& request) {
  const auto uri = request.params.find("uri");
  if (uri == request.params.end() || !uri->is_string())
    return request.fail(rpc::kInvalidParams, "uri: a string");
  std::string fault;
  auto result = is_short_text(*uri) ? resources_.read(request.origin.caller,
                                                      uri->get_ref<const std::string&>(), fault)
                                    : std::nullopt;
  if (!result) {
    if (fault.empty()) fault = "There is no such resource: its uri is too long.";
    return request.fail(request.modern ? rpc::kInvalidParams : rpc::kNoResource, fault, 200,
                        {{"uri", is_short_text(*uri) ? *uri : Json()}});
  }
  if (request.modern) {
    (*result)["ttlMs"] = kListLifetime;
    (*result)["cacheScope"] = "private";
  }
  request.answer(std::move(*result));
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
  if (!known) return request.fail(rpc::kInvalidParams, "level: not one of RFC 5424's");
  request.origin.session->log_level = *known;
  request.answer(Json::object());
}

// Tells of changes until it is stopped.
Mcp::Stop Mcp::listen(Request& request) {
  const auto wanted = request.params.find("notifications");
  if (wanted == request.params.end() || !wanted->is_object()) {
    request.fail(rpc::kInvalidParams, "notifications: an object");
    return {};
  }
  // No task is told of unasked; but who does not declare them may not ask for it either.
  if (wanted->contains("taskIds") && !request.declares_tasks()) {
    request.fail_without_tasks();
    return {};
  }
  if (!request.reply->can_notify()) {
    request.fail(rpc::kInvalidRequest, "what is heard here comes as a text/event-stream: accept it",
                 406);
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
