// JSON from where it can't be trusted.
#pragma once

#include <brig/json.h>

#include <optional>
#include <string>
#include <string_view>

namespace brig {

inline constexpr unsigned kMaxJsonDepth = 128;

// Nothing, and why not in `fault`, for what is not JSON or is nested deeper than kMaxJsonDepth.
std::optional<Json> json_from(std::string_view text, std::string& fault);

}  // namespace brig
