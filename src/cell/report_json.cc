// The only source of brig's core that includes nlohmann/json: it costs seconds of every compile.
#include <brig/capabilities.h>
#include <brig/report.h>

#include "base/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstring>

namespace brig {
namespace {

using Json = nlohmann::ordered_json;  // keys in the order they are written here

constexpr int kMaxIndent = 16;

// Text of any bytes: what is not UTF-8 becomes U+FFFD instead of an exception.
std::string dump(const Json& json, int indent) {
  return json.dump(std::clamp(indent, -1, kMaxIndent), ' ', false, Json::error_handler_t::replace);
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// "SIGSEGV"; null for a number that is no signal.
Json signal_name(const std::optional<int>& signal) {
  if (!signal) return nullptr;
  if (const char* name = ::sigabbrev_np(*signal)) return fmt::format("SIG{}", name);
  if (*signal == SIGRTMIN) return "SIGRTMIN";
  if (*signal > SIGRTMIN && *signal <= SIGRTMAX) {
    return fmt::format("SIGRTMIN+{}", *signal - SIGRTMIN);
  }
  return nullptr;
}

Json milliseconds(std::chrono::microseconds duration) {
  return static_cast<double>(duration.count()) / 1000.0;
}

void add_bytes(Json& json, const std::string& name, const Output& output) {
  if (is_valid_utf8(output.bytes)) {
    json[name] = output.bytes;
  } else {
    json[name + "_base64"] = base64(output.bytes);
  }
}

}  // namespace

std::string to_json(const Report& report, int indent) {
  Json json;
  json["outcome"] = to_string(report.outcome);
  json["exit_code"] = or_null(report.exit_code);
  json["signal"] = or_null(report.signal);
  json["signal_name"] = signal_name(report.signal);
  json["message"] = report.message;
  add_bytes(json, "stdout", report.out);
  add_bytes(json, "stderr", report.err);
  json["stdout_bytes"] = report.out.total;
  json["stderr_bytes"] = report.err.total;
  json["stdout_truncated"] = report.out.truncated;
  json["stderr_truncated"] = report.err.truncated;
  // Offsets in bytes: into the UTF-8, or into what the base64 decodes to.
  if (report.out.truncated) json["stdout_cut_at"] = report.out.cut;
  if (report.err.truncated) json["stderr_cut_at"] = report.err.cut;
  json["usage"] = {{"wall_ms", milliseconds(report.usage.wall)},
                   {"cpu_ms", milliseconds(report.usage.cpu)},
                   {"memory_peak_bytes", report.usage.memory_peak},
                   {"processes_peak", or_null(report.usage.processes_peak)}};
  json["steps"] = {{"queue_ms", milliseconds(report.steps.queue)},
                   {"dispatch_ms", milliseconds(report.steps.dispatch)},
                   {"run_ms", milliseconds(report.steps.run)},
                   {"teardown_ms", milliseconds(report.steps.teardown)}};
  json["enforced"] = report.enforced;
  Json& violations = json["violations"] = Json::array();
  for (const Violation& violation : report.violations) {
    violations.push_back(
        {{"layer", violation.layer}, {"what", violation.what}, {"count", violation.count}});
  }
  return dump(json, indent);
}

std::string to_json(const Capabilities& capabilities, int indent) {
  Json json;
  json["backend"] = capabilities.backend;
  json["available"] = capabilities.available;
  json["isolation_level"] = capabilities.isolation_level;
  json["filesystem_isolation"] = capabilities.filesystem_isolation;
  json["network_isolation"] = capabilities.network_isolation;
  json["memory_limit_mb"] = capabilities.memory_limit_mb;
  json["timeout"] = capabilities.timeout;
  json["floors"] = {{"jail", capabilities.jail},
                    {"landlock", capabilities.landlock},
                    {"process", capabilities.process}};
  Json& layers = json["layers"] = Json::array();
  for (const Layer& layer : capabilities.layers) {
    layers.push_back({{"name", layer.name},
                      {"present", layer.present},
                      {"detail", layer.detail},
                      {"fix", layer.fix},
                      {"required", layer.required}});
  }
  return dump(json, indent);
}

}  // namespace brig
