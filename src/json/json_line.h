// JSON as one line of text.
#pragma once

#include <brig/json.h>

#include <string>

namespace brig {

// Bytes that are not UTF-8 become U+FFFD, so that a name from a client or a tool ends no process.
inline std::string json_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace brig
