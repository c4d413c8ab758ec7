// What a tool may be called: MCP's rule, at its stricter.
#pragma once

#include <string>

namespace brig {

inline constexpr const char* kToolNameRule =
    "a name has 1 to 64 characters of A-Z, a-z, 0-9, '_', '-' and '.'";
bool is_tool_name(const std::string& name);

}  // namespace brig
