// One code point of UTF-8. Inline, because loops over long texts call this for each one. Strict, by
// RFC 3629.
#pragma once

#include <cstddef>

namespace brig {

// The length of the code point whose first byte is `lead`, and the range of its second byte. The
// range excludes overlong forms (E0, F0), surrogates (ED) and code points above U+10FFFF (F4).
// Length 0: no code point starts with that byte.
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

// The length of the code point at `at`. 0 if there is no valid one, or if `end` cuts it off.
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
