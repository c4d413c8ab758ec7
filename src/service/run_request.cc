#include "service/run_request.h"

#include <fmt/format.h>

#include "base/text.h"

namespace brig::serve {
namespace {

std::optional<std::chrono::milliseconds> time_of(const Json& value) {
  if (value.is_string()) return parse_duration(value.get_ref<const std::string&>());
  if (value.is_number()) return duration_from_seconds(value.get<double>());
  return {};
}

std::optional<std::uint64_t> size_of(const Json& value) {
  if (value.is_string()) return parse_size(value.get_ref<const std::string&>());
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  return {};
}

}  // namespace

std::string read_limits(const Json& json, CallLimits& limits) {
  if (json.is_null()) return "";
  for (const auto& [key, value] : json.items()) {
    const auto set = [](auto& limit, const auto& given) {
      limit = given;
      return given.has_value();
    };
    bool good = false;
    if (key == "timeout")
      good = set(limits.wall_time, time_of(value));
    else if (key == "cpu_time")
      good = set(limits.cpu_time, time_of(value));
    else if (key == "memory")
      good = set(limits.memory, size_of(value));
    else if (key == "output")
      good = set(limits.output, size_of(value));
    else if (key == "output_total")
      good = set(limits.output_total, size_of(value));
    else if (key == "processes" && value.is_number_unsigned() && value <= UINT32_MAX)
      good = set(limits.processes, std::optional(value.get<std::uint32_t>()));
    else if (key != "processes")
      return fmt::format(
          "limits: {}: there are timeout, cpu_time, memory, processes, output and output_total",
          in_quotes(key));
    if (!good) return fmt::format("limits.{}: not a value that it can have", key);
  }
  return "";
}

}  // namespace brig::serve
