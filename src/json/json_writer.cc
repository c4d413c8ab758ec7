// Writes a value as JSON text.
#include "json/json_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>

#include "json/json_plain.h"

namespace brig {
namespace {

class Writer {
 public:
  // Runs of at least that many bytes are passed to `on_run` instead of copied.
  explicit Writer(std::size_t long_run = SIZE_MAX,
                  std::function<void(std::size_t at, std::string_view run)> on_run = {})
      : long_run_(long_run), on_run_(std::move(on_run)) {}

  std::string out, fault;

  bool value(const Json& value, unsigned depth) {
    switch (value.type()) {
      case Json::value_t::null: out += "null"; return true;
      case Json::value_t::boolean: out += value.get<bool>() ? "true" : "false"; return true;
      case Json::value_t::string: return string(value.get_ref<const std::string&>());
      case Json::value_t::number_integer: return whole(value.get_ref<const std::int64_t&>());
      case Json::value_t::number_unsigned: return whole(value.get_ref<const std::uint64_t&>());
      case Json::value_t::number_float: return real(value.get_ref<const double&>());
      case Json::value_t::object: return object(value, depth + 1);
      case Json::value_t::array: return array(value, depth + 1);
      default: return refuse("a binary value, which JSON does not have");
    }
  }

 private:
  bool refuse(std::string why) {
    fault = std::move(why);
    return false;
  }

  bool object(const Json& value, unsigned depth) {
    if (depth > kMaxJsonDepth) return refuse("a value that is too deep: " + too_deep_text());
    out += '{';
    for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
      if (out.back() != '{') out += ',';
      if (!string(key)) return false;
      out += ':';
      if (!this->value(member, depth)) return false;
    }
    out += '}';
    return true;
  }

  bool array(const Json& value, unsigned depth) {
    if (depth > kMaxJsonDepth) return refuse("a value that is too deep: " + too_deep_text());
    out += '[';
    for (const Json& each : value) {
      if (out.back() != '[') out += ',';
      if (!this->value(each, depth)) return false;
    }
    out += ']';
    return true;
  }

  bool string(const std::string& text) {
    // Reserve once, with room for what usually follows: growing means copying.
    if (text.size() < long_run_) out.reserve(out.size() + text.size() + 16);
    out += '"';
    const char* at = text.data();
    const char* const end = at + text.size();
    for (;;) {
      const char* const run = at;
      at = plain_end(at, end);
      if (const auto size = static_cast<std::size_t>(at - run); size < long_run_)
        out.append(run, size);
      else
        on_run_(out.size(), {run, size});
      if (at == end) break;
      if (static_cast<unsigned char>(*at) >= 0x80)
        return refuse("text that is not UTF-8 (bytes must go as base64)");
      escape(*at++);
    }
    out += '"';
    return true;
  }

  void escape(char c) {
    const auto with = [&](char letter) {
      const char text[] = {'\\', letter};
      out.append(text, sizeof text);
    };
    switch (c) {
      case '"': return with('"');
      case '\\': return with('\\');
      case '\b': return with('b');
      case '\f': return with('f');
      case '\n': return with('n');
      case '\r': return with('r');
      case '\t': return with('t');
      default: break;
    }
    out += c < 0x10 ? "\\u000" : "\\u001";
    out += "0123456789abcdef"[c & 0xF];
  }

  template <typename T>
  bool whole(T number) {
    char text[24];
    out.append(text, std::to_chars(text, text + sizeof text, number).ptr);
    return true;
  }

  bool real(double number) {
    if (!std::isfinite(number))
      return refuse(fmt::format("a number that JSON does not have: {}",
                                std::isnan(number) ? "NaN" : "infinity"));
    // dump() uses this function; std::to_chars sometimes gives other digits for the same number.
    char text[64];
    out.append(text, nlohmann::detail::to_chars(text, text + sizeof text, number));
    return true;
  }

  const std::size_t long_run_;
  const std::function<void(std::size_t, std::string_view)> on_run_;
};

}  // namespace

std::optional<std::string> json_text(const Json& value, std::string& fault) {
  Writer writer;
  if (writer.value(value, 0)) return std::move(writer.out);
  fault = std::move(writer.fault);
  return std::nullopt;
}

std::optional<JsonPieces> json_pieces(const Json& value, std::string& fault) {
  constexpr std::size_t kLongRun = 16 * 1024;
  JsonPieces pieces;
  Writer writer(kLongRun, [&](std::size_t at, std::string_view run) {
    pieces.runs_.push_back({at, run});
  });
  if (!writer.value(value, 0)) {
    fault = std::move(writer.fault);
    return std::nullopt;
  }
  pieces.text_ = std::move(writer.out);
  return pieces;
}

std::vector<std::string_view> JsonPieces::list() const {
  std::vector<std::string_view> list;
  list.reserve(2 * runs_.size() + 1);
  const std::string_view text = text_;
  std::size_t at = 0;
  for (const Run& run : runs_) {
    list.push_back(text.substr(at, run.at - at));
    list.push_back(run.bytes);
    at = run.at;
  }
  list.push_back(text.substr(at));
  return list;
}

std::string JsonPieces::outline() const {
  std::string outline;
  std::size_t at = 0;
  for (const Run& run : runs_) {
    outline.append(text_, at, run.at - at);
    outline += fmt::format("{}{}{}", kGap, run.bytes.size(), kGap);
    at = run.at;
  }
  return outline.append(text_, at);
}

std::vector<std::string_view> JsonPieces::runs() const {
  std::vector<std::string_view> list;
  for (const Run& run : runs_) list.push_back(run.bytes);
  return list;
}

std::size_t JsonPieces::size() const {
  std::size_t size = text_.size();
  for (const Run& run : runs_) size += run.bytes.size();
  return size;
}

}  // namespace brig
