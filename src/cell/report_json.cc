// The only source of brig's core that includes nlohmann/json, which costs seconds of every compile.
#include <brig/capabilities.h>
#include <brig/report.h>

#include "base/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iterator>
#include <utility>

namespace brig {
namespace {

using Json = nlohmann::ordered_json;  // Keys stay in the order in which they are written here.

constexpr int kMaxIndent = 16;

// Text of any bytes: bytes that are not UTF-8 become U+FFFD instead of an exception.
std::string dump(const Json& json, int indent) {
  return json.dump(std::clamp(indent, -1, kMaxIndent), ' ', false, Json::error_handler_t::replace);
}

// Every call in every language asks for its report, so this writes the text directly and makes no
// value first.
class Writer {
 public:
  template <typename T>
  void number(std::string_view key, T value) {
    fmt::format_to(std::back_inserter(text_), "{}\"{}\":{}", comma(), key, value);
  }
  template <typename T>
  void number_or_null(std::string_view key, const std::optional<T>& value) {
    value ? number(key, *value) : number(key, "null");
  }
  void milliseconds(std::string_view key, std::chrono::microseconds value) {
    std::string text = fmt::format("{}.{:03}", value.count() / 1000, value.count() % 1000);
    while (text.ends_with('0') && !text.ends_with(".0")) text.pop_back();
    number(key, text);
  }
  void flag(std::string_view key, bool value) { number(key, value ? "true" : "false"); }
  void string(std::string_view key, const std::string& value) { number(key, quoted(value)); }
  void bytes(const std::string& key, const Output& output) {
    is_valid_utf8(output.bytes) ? string(key, output.bytes)
                                : string(key + "_base64", base64(output.bytes));
  }
  // A value in {} or []. `inner` writes its parts.
  template <typename Inner>
  void group(std::string_view key, const char* brackets, const Inner& inner) {
    number(key, brackets[0]);
    first_ = true;
    inner();
    text_ += brackets[1];
    first_ = false;
  }
  void item(const std::string& value) { text_.append(comma()).append(quoted(value)); }
  // One object of an array.
  template <typename Inner>
  void object(const Inner& inner) {
    text_.append(comma()) += '{';
    first_ = true;
    inner();
    text_ += '}';
    first_ = false;
  }
  std::string take() { return std::move(text_); }

 private:
  const char* comma() {
    const bool first = std::exchange(first_, false);
    return first ? "" : ",";
  }
  static std::string quoted(const std::string& value) {
    const bool plain = std::all_of(value.begin(), value.end(), [](unsigned char c) {
      return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
    });
    return plain ? '"' + value + '"' : dump(value, -1);
  }

  std::string text_;
  bool first_ = true;
};

// "SIGSEGV". Nothing for a number that is not a signal.
std::optional<std::string> signal_name(const std::optional<int>& signal) {
  if (!signal) return std::nullopt;
  if (const char* name = ::sigabbrev_np(*signal)) return fmt::format("\"SIG{}\"", name);
  if (*signal == SIGRTMIN) return "\"SIGRTMIN\"";
  if (*signal > SIGRTMIN && *signal <= SIGRTMAX)
    return fmt::format("\"SIGRTMIN+{}\"", *signal - SIGRTMIN);
  return std::nullopt;
}

void write(Writer& writer, const Violation& violation) {
  writer.object([&] {
    writer.string("code", violation.code);
    writer.string("what", violation.what);
    writer.string("target", violation.target);
    writer.string("rule", violation.rule);
    writer.string("grant", violation.grant);
    writer.string("retry", to_string(violation.retry));
    writer.number("count", violation.count);
    writer.flag("certain", violation.certain);
  });
}

void write(Writer& writer, const Connection& connection) {
  writer.object([&] {
    writer.string("host", connection.host);
    writer.number("port", connection.port);
    writer.string("verdict", to_string(connection.verdict));
    writer.string("rule", connection.rule);
    writer.string("reason", connection.reason);
    writer.string("address", connection.address);
    writer.string("way", connection.way);
    writer.number("sent_bytes", connection.sent);
    writer.number("received_bytes", connection.received);
    writer.milliseconds("begin_ms", connection.begin);
    writer.milliseconds("duration_ms", connection.duration);
  });
}

}  // namespace

std::string to_json(const Violation& violation) {
  Writer writer;
  write(writer, violation);
  return writer.take();
}

std::string to_json(const Report& report, int indent) {
  Writer writer;
  writer.object([&] {
    writer.string("outcome", to_string(report.outcome));
    writer.number_or_null("exit_code", report.exit_code);
    writer.number_or_null("signal", report.signal);
    writer.number_or_null("signal_name", signal_name(report.signal));
    writer.string("message", report.message);
    writer.bytes("stdout", report.out);
    writer.bytes("stderr", report.err);
    writer.number("stdout_bytes", report.out.total);
    writer.number("stderr_bytes", report.err.total);
    writer.flag("stdout_truncated", report.out.truncated);
    writer.flag("stderr_truncated", report.err.truncated);
    // Offsets in bytes: in the UTF-8 text, or in the bytes that the base64 decodes to.
    if (report.out.truncated) writer.number("stdout_cut_at", report.out.cut);
    if (report.err.truncated) writer.number("stderr_cut_at", report.err.cut);
    writer.group("usage", "{}", [&] {
      writer.milliseconds("wall_ms", report.usage.wall);
      writer.milliseconds("cpu_ms", report.usage.cpu);
      writer.number("memory_peak_bytes", report.usage.memory_peak);
      writer.number_or_null("processes_peak", report.usage.processes_peak);
    });
    writer.group("steps", "{}", [&] {
      writer.milliseconds("queue_ms", report.steps.queue);
      writer.milliseconds("dispatch_ms", report.steps.dispatch);
      writer.milliseconds("run_ms", report.steps.run);
      writer.milliseconds("teardown_ms", report.steps.teardown);
    });
    writer.string("room", to_string(report.room));
    writer.group("enforced", "[]", [&] {
      for (const std::string& layer : report.enforced) writer.item(layer);
    });
    writer.group("violations", "[]", [&] {
      for (const Violation& violation : report.violations) write(writer, violation);
    });
    writer.group("connections", "[]", [&] {
      for (const Connection& connection : report.connections) write(writer, connection);
    });
    writer.number("connections_total", report.connections_total);
  });
  std::string text = writer.take();
  return indent < 0 ? text : dump(Json::parse(text), indent);
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
