// The one writer of reports. Everything that shows a report, or a part of one, calls it: C++, C,
// Python, the command line, the server's results, events and audit log.
#include "cell/report_json.h"

#include <brig/capabilities.h>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "json/json_line.h"

namespace brig {
namespace {

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
    return plain ? '"' + value + '"' : json_line(value);
  }

  std::string text_;
  bool first_ = true;
};

// Makes a value of what a Writer would write as text.
class ValueMaker {
 public:
  template <typename T>
  void number(const char* key, T value) {
    json_[key] = value;
  }
  template <typename T>
  void number_or_null(const char* key, const std::optional<T>& value) {
    json_[key] = value ? Json(*value) : Json();
  }
  void milliseconds(const char* key, std::chrono::microseconds value) {
    json_[key] = milliseconds_of(value);
  }
  void flag(const char* key, bool value) { json_[key] = value; }
  void string(const char* key, const std::string& value) { json_[key] = value; }
  Json take() { return std::move(json_); }

 private:
  Json json_ = Json::object();
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

// The members of an object, for a Writer or a ValueMaker.
template <typename Out>
void write_members(Out& out, const Violation& violation) {
  out.string("code", violation.code);
  out.string("what", violation.what);
  out.string("target", violation.target);
  out.string("rule", violation.rule);
  out.string("grant", violation.grant);
  out.string("retry", to_string(violation.retry));
  out.number("count", violation.count);
  out.flag("certain", violation.certain);
}

template <typename Out>
void write_members(Out& out, const Usage& usage) {
  out.milliseconds("wall_ms", usage.wall);
  out.milliseconds("cpu_ms", usage.cpu);
  out.number("memory_peak_bytes", usage.memory_peak);
  out.number_or_null("processes_peak", usage.processes_peak);
}

template <typename Out>
void write_members(Out& out, const Steps& steps) {
  out.milliseconds("queue_ms", steps.queue);
  out.milliseconds("dispatch_ms", steps.dispatch);
  out.milliseconds("run_ms", steps.run);
  out.milliseconds("teardown_ms", steps.teardown);
}

template <typename Part>
Json value_of(const Part& part) {
  ValueMaker maker;
  write_members(maker, part);
  return maker.take();
}

void write(Writer& writer, const Violation& violation) {
  writer.object([&] { write_members(writer, violation); });
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

double milliseconds_of(std::chrono::microseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

Json json_of(const Usage& usage) { return value_of(usage); }
Json json_of(const Steps& steps) { return value_of(steps); }

Json json_of(const std::vector<Violation>& violations) {
  Json list = Json::array();
  for (const Violation& each : violations) list.push_back(value_of(each));
  return list;
}

void add_bytes(Json& object, const std::string& name, const std::string& bytes) {
  if (is_valid_utf8(bytes))
    object[name] = bytes;
  else
    object[name + "_base64"] = base64(bytes);
}

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
    writer.group("usage", "{}", [&] { write_members(writer, report.usage); });
    writer.group("steps", "{}", [&] { write_members(writer, report.steps); });
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
