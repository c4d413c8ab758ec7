// The headers that repeat what the body of a modern MCP request says, so that proxies need not read
// the body. They must agree with it.
#pragma once

#include <brig/json.h>
#include <brig/tool.h>

#include <optional>
#include <string>

#include "http/http.h"

namespace brig::serve {

// A sentence about the first header that does not agree, or nothing. `tool`: the tool of a
// tools/call, or null.
std::optional<std::string> header_mismatch(const Request& request, const Json& message,
                                           const Tool* tool);

}  // namespace brig::serve
