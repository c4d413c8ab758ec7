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
    bool known = false, good = false;
    for_each_call_limit([&](const auto& each) {
      if (key != each.name) return;
      known = true;
      auto& limit = limits.*each.own;
      limit.reset();
      read_limit(value, limit);
      good = limit.has_value();
    });
    if (!known) return fmt::format("limits: {}: there are {}", in_quotes(key), limit_names());
    if (!good) return fmt::format("limits.{}: not a value that it can have", key);
  }
  return "";
}

}  // namespace brig::serve
