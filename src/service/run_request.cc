#include "service/run_request.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "base/text.h"
#include "cell/call_limits.h"

namespace brig::serve {
namespace {

void read_limit(const Json& value, std::optional<std::chrono::milliseconds>& limit) {
  if (value.is_string()) limit = parse_duration(value.get_ref<const std::string&>());
  if (value.is_number()) limit = duration_from_seconds(value.get<double>());
}

void read_limit(const Json& value, std::optional<std::uint64_t>& limit) {
  if (value.is_string()) limit = parse_size(value.get_ref<const std::string&>());
  if (value.is_number_unsigned()) limit = value.get<std::uint64_t>();
}

void read_limit(const Json& value, std::optional<std::uint32_t>& limit) {
  if (value.is_number_unsigned() && value <= UINT32_MAX) limit = value.get<std::uint32_t>();
}

// What each type of limit takes, for a message.
const char* expected(const std::optional<std::chrono::milliseconds>&) {
  return "a number of seconds, or a duration such as \"500ms\"";
}
const char* expected(const std::optional<std::uint64_t>&) {
  return "a number of bytes, or a size such as \"64M\"";
}
const char* expected(const std::optional<std::uint32_t>&) { return "a whole number"; }

// "timeout, cpu_time and memory"
std::string limit_names() {
  std::vector<std::string_view> all;
  for_each_call_limit([&](const auto& each) { all.emplace_back(each.name); });
  const std::string_view last = all.back();
  all.pop_back();
  return fmt::format("{} and {}", fmt::join(all, ", "), last);
}

}  // namespace

std::string read_limits(const Json& json, CallLimits& limits) {
  if (json.is_null()) return "";
  for (const auto& member : json.items()) {
    const std::string& key = member.key();
    const Json& value = member.value();
    bool good = false;
    const char* wanted = nullptr;
    for_each_call_limit([&](const auto& each) {
      if (key != each.name) return;
      auto& limit = limits.*each.own;
      wanted = expected(limit);
      limit.reset();
      read_limit(value, limit);
      good = limit.has_value();
    });
    if (!wanted)
      return fmt::format("limits: {} is unknown; the limits of a request are {}", in_quotes(key),
                         limit_names());
    if (!good) return fmt::format("limits.{} must be {}", key, wanted);
  }
  return "";
}

std::string read_network(const Json& json, std::optional<Network>& network) {
  if (json.is_null()) return "";
  if (json.is_string() && json == to_string(Network::none)) {
    network = Network::none;
    return "";
  }
  const auto allow = json.is_object() ? json.find("allow") : json.end();
  if (!json.is_object() || allow == json.end())
    return "network must be \"none\", or hosts such as {\"allow\": [\"api.github.com:443\"]}";
  for (const auto& member : json.items())
    if (member.key() != "allow")
      return fmt::format("network: {} is unknown; a request has only \"allow\"",
                         in_quotes(member.key()));
  if (!allow->is_array()) return "network.allow must be a list of hosts";
  std::vector<std::string> hosts;
  for (const Json& each : *allow) {
    if (!each.is_string()) return "network.allow must be a list of hosts";
    hosts.push_back(each.get<std::string>());
  }
  network = Network::to(std::move(hosts));
  return "";
}

}  // namespace brig::serve
