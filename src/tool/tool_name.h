// The names that tools may have: MCP's rule in its stricter form.
#pragma once

#include <string>

namespace brig {

inline constexpr const char* kToolNameRule =
    "a name has 1 to 64 characters of A-Z, a-z, 0-9, '_', '-' and '.'";
bool is_tool_name(const std::string& name);

}  // namespace brig
