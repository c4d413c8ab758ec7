#include "tool/json_text.h"

#include <fmt/format.h>

namespace brig {
namespace {

// Counts brackets outside of strings. On what is not JSON it may be wrong; the parser says so then.
bool is_too_deep(std::string_view text) {
  unsigned depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace

std::optional<Json> json_from(std::string_view text, std::string& fault) {
  if (is_too_deep(text)) {
    fault = fmt::format("it is nested deeper than {}", kMaxJsonDepth);
    return std::nullopt;
  }
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::string_view what = error.what();
    fault = what.substr(what.find("] ") == std::string_view::npos ? 0 : what.find("] ") + 2);
    return std::nullopt;
  }
}

}  // namespace brig
