// One code point of UTF-8, inline: whoever walks over a long text asks for each. Strict (RFC 3629).
#pragma once

#include <cstddef>

namespace brig {

// Length of the code point whose first byte is `lead` and the range its second byte must be in.
// The range is what excludes overlongs (E0, F0), surrogates (ED) and > U+10FFFF (F4). 0: no lead.
struct Utf8Lead {
  std::size_t length;
  unsigned char low, high;
};
inline Utf8Lead utf8_lead(unsigned char lead) noexcept {
  if (lead < 0x80) return {1, 0, 0};
  if (lead < 0xC2) return {0, 0, 0};
  if (lead < 0xE0) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (lead < 0xF0) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead < 0xF4) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

inline bool is_utf8_continuation(unsigned char byte) noexcept { return (byte & 0xC0) == 0x80; }

// How long the code point is that `at` begins with; 0 if none does, or `end` cuts it off.
inline std::size_t utf8_length(const char* at, const char* end) noexcept {
  if (at == end) return 0;
  const auto byte = [at](std::size_t i) { return static_cast<unsigned char>(at[i]); };
  const Utf8Lead lead = utf8_lead(byte(0));
  if (lead.length < 2) return lead.length;
  if (static_cast<std::size_t>(end - at) < lead.length) return 0;
  if (byte(1) < lead.low || byte(1) > lead.high) return 0;
  if (lead.length > 2 && !is_utf8_continuation(byte(2))) return 0;
  if (lead.length > 3 && !is_utf8_continuation(byte(3))) return 0;
  return lead.length;
}

}  // namespace brig
