// The headers that say again what a modern MCP request says in its body, so that those in between need not read it: they must
// agree.
#pragma once

#include <brig/json.h>
#include <brig/tool.h>

#include <optional>
#include <string>

#include "http/http.h"

namespace brig::serve {

// What does not agree, in a sentence; nothing if all does. `tool`: that of tools/call, if there is one.
std::optional<std::string> header_mismatch(const Request& request, const Json& message,
                                           const Tool* tool);

}  // namespace brig::serve
