// Messages of MCP as JSON-RPC has them: versions, answers, faults in their shape.
#include <algorithm>
#include <array>

#include "json/json_line.h"
#include "mcp/mcp.h"

namespace brig::serve {

bool is_short_text(const Json& value) {
  return value.is_string() && value.get_ref<const std::string&>().size() <= 1024;
}

const Json* version_in(const Json& message) {
  const auto params = message.find("params");
  if (params == message.end() || !params->is_object()) return nullptr;
  const auto meta = params->find("_meta");
  if (meta == params->end() || !meta->is_object()) return nullptr;
  const auto found = meta->find("io.modelcontextprotocol/protocolVersion");
  return found == meta->end() ? nullptr : &*found;
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
  if (!message.is_object()) return fault(nullptr, "a message must be an object");
  Json id;
  if (const auto found = message.find("id"); found != message.end()) {
    if (!found->is_string() && !found->is_number_integer())
      return fault(nullptr, "id must be a string or an integer");
    id = *found;
    if (id.is_string() && !is_short_text(id))
      return fault(nullptr, "id must not be longer than 1024 bytes");
  }
  const auto version = message.find("jsonrpc");
  if (version == message.end() || *version != "2.0") return fault(id, "jsonrpc must be \"2.0\"");
  const auto method = message.find("method");
  if (method == message.end()) {
    // This is an answer, but the server never asks anything.
    if (message.contains("result") || message.contains("error")) return {};
    return fault(id, "method is missing");
  }
  if (!method->is_string()) return fault(id, "method must be a string");
  if (const auto params = message.find("params"); params != message.end() && !params->is_object())
    return rpc::error(id, rpc::kInvalidParams, "params must be an object");
  return {};
}

}  // namespace brig::serve
