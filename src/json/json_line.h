// JSON as one line of text.
#pragma once

#include <brig/json.h>

#include <string>

namespace brig::serve {

// What is not UTF-8 becomes U+FFFD: a name that a client made up must not be what ends the server.
inline std::string json_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace brig::serve
