// The size limit of an output of run_command or run_python, measured as JSON text, with escapes and
// base64. The policy limits the value and the streams; what is shown beside them gets the rest.
#pragma once

#include <brig/json.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace brig::serve {

inline constexpr std::size_t kMostOutputText = std::size_t{16} << 20;

inline std::size_t text_size(std::string_view text) {
  std::size_t size = text.size() + 2;
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '\b' || c == '\f' || c == '\n' || c == '\r' || c == '\t')
      size += 1;
    else if (static_cast<unsigned char>(c) < 0x20)
      size += 5;  // \u0001
  }
  return size;
}

// Bytes (Json::binary) are not counted: they have no text.
inline std::size_t text_size(const Json& value) {
  std::size_t size = 2;
  switch (value.type()) {
    case Json::value_t::object:
      for (const auto& [name, member] : value.items())
        size += text_size(std::string_view(name)) + text_size(member) + 2;
      return size;
    case Json::value_t::array:
      for (const Json& item : value) size += text_size(item) + 1;
      return size;
    case Json::value_t::string:
      return text_size(std::string_view(value.get_ref<const std::string&>()));
    case Json::value_t::binary: return size;
    default: return value.dump().size();
  }
}

inline std::size_t base64_size(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

// What is left of that limit.
inline std::size_t room_in(const Json& output) {
  return kMostOutputText - std::min(kMostOutputText, text_size(output));
}

}  // namespace brig::serve
