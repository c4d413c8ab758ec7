// What reading and writing JSON text have in common. Only for json_*.cc.
#pragma once

#include <string>
#include <string_view>

namespace brig {

// Returns where the text stops being the same inside and outside of JSON: at a '"', a '\\', a
// control character, or something that is not UTF-8; or `end`.
const char* plain_end(const char* at, const char* end);

// What is wrong with a value of more than kMaxJsonDepth levels.
inline constexpr std::string_view kTooDeep = "it is nested deeper than";
std::string too_deep_text();

// In an outline this stands on both sides of a gap's size. JSON text can't contain it: there it is
// \u0001.
inline constexpr char kGap = '\x01';

}  // namespace brig
