#include "mcp/mcp_headers.h"

#include <fmt/format.h>

#include "base/text.h"

namespace brig::serve {
namespace {

// A value that no header can hold comes as "=?base64?...?=". Returns nothing if such a value is
// malformed.
std::optional<std::string> value_of(std::string_view header) {
  header = trimmed(header);
  constexpr std::string_view kBegin = "=?base64?", kEnd = "?=";
  if (!header.starts_with(kBegin) || !header.ends_with(kEnd) ||
      header.size() < kBegin.size() + kEnd.size())
    return std::string(header);
  header.remove_prefix(kBegin.size());
  header.remove_suffix(kEnd.size());
  return base64_decoded(header);
}

// The value of a header that must be there once.
std::optional<std::string> one(const Request& request, const std::string& name) {
  if (request.count(name) != 1) return {};
  return value_of(*request.header(name));
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::optional<std::string> parameter_mismatch(const Request& request, const Json& params,
                                              const Tool& tool) {
  const auto properties = tool.input_schema.find("properties");
  if (properties == tool.input_schema.end() || !properties->is_object()) return {};
  const auto arguments = params.find("arguments");
  for (const auto& [name, schema] : properties->items()) {
    if (!schema.is_object()) continue;
    const auto header = schema.find("x-mcp-header");
    if (header == schema.end() || !header->is_string()) continue;
    const std::string field = lower_case("mcp-param-" + header->get<std::string>());
    const bool given = arguments != params.end() && arguments->is_object() &&
                       arguments->contains(name) && !(*arguments)[name].is_null();
    if (!given && request.count(field) == 0) continue;
    const auto value = one(request, field);
    if (!given || !value || *value != text_of((*arguments)[name]))
      return fmt::format("{} does not match arguments.{}", field, name);
  }
  return {};
}

}  // namespace

std::optional<std::string> header_mismatch(const Request& request, const Json& message,
                                           const Tool* tool) {
  const std::string method = message["method"].get<std::string>();
  if (one(request, "mcp-method") != method) return "Mcp-Method does not match the body's method";
  const auto params = message.find("params");
  if (params == message.end()) return {};
  const char* key = method == "tools/call" || method == "prompts/get" ? "name"
                    : method == "resources/read"                      ? "uri"
                    : method == "tasks/get" || method == "tasks/update" || method == "tasks/cancel"
                        ? "taskId"
                        : nullptr;
  if (key && params->contains(key) && (*params)[key].is_string() &&
      one(request, "mcp-name") != (*params)[key].get<std::string>())
    return fmt::format("Mcp-Name does not match the body's params.{}", key);
  return tool ? parameter_mismatch(request, *params, *tool) : std::nullopt;
}

}  // namespace brig::serve
