// Text in and out: sizes, durations, UTF-8, base64, and words for error messages.
// Pure functions, any thread. Nothing here reads the locale; nothing throws but std::bad_alloc.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace brig {

// Bytes: digits, then an optional unit K M G T P E, alone or as KB or KiB, in either case, after at
// most one space; "B" alone is bytes. Every unit is 1024-based: "1MB" is 1 MiB, because a limit a
// little too large surprises less than two meanings of M. Before a unit of K and up there may be a
// fraction, "1.5G", of at most 18 digits without zeros at its end; a part of a byte is dropped, but what is not zero
// never becomes 0. No sign, no exponent, no digit missing on either side of the point. Overflow: nullopt.
std::optional<std::uint64_t> parse_size(std::string_view text) noexcept;

// Digits with an optional fraction, then an optional unit ms, s, m (or min), h, after at most one
// space; a plain number is seconds. Rounds to the nearest millisecond, but only zero becomes 0.
// A sign, an exponent, "nan" and anything above 100 years (so that a result can be added to any
// clock): nullopt.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) noexcept;
// The same for a number of seconds: negative, NaN, infinite, above 100 years are nullopt.
std::optional<std::chrono::milliseconds> duration_from_seconds(double seconds) noexcept;

// "root", or digits that fit: a user's number.
std::optional<std::uint32_t> parse_user(std::string_view text) noexcept;

// "512 MiB", "1.5 KiB", "0 B": one decimal at most, rounded.
std::string format_size(std::uint64_t bytes);
// "500 ms", "1.5 s", "90 s", "2 min", "24 h": exact; minutes and hours only where they are whole.
std::string format_duration(std::chrono::milliseconds duration);

// The candidate with the least edits from `word` (a swap of neighbours is one edit; case and '-'
// for '_' are none), if so few that a typing error explains them. The view is the candidate's.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates) noexcept;

// For a terminal: what it would obey (control characters, C1 too), and what would change the order or the
// lines of a text (directional controls, line separators), as \xNN or \uNNNN; what is not UTF-8 as \xNN.
std::string printable(std::string_view text);
// The same for JSON, where \uNNNN means the character: its value stays the same. Line breaks stay too.
std::string printable_json(std::string_view json);

// 'text' for a message: printable; cut with "..." when long.
std::string in_quotes(std::string_view text);

// Strict (RFC 3629): no overlong form, no surrogate, nothing above U+10FFFF. NUL is valid.
bool is_valid_utf8(std::string_view bytes) noexcept;
// How many bytes at the end (0 to 3) begin a code point that the end cuts off.
std::size_t utf8_cut_at_end(std::string_view bytes) noexcept;
// How many bytes at the start (0 to 3) can be the rest of a code point that was cut off; 0 if there
// are more continuation bytes than any code point has.
std::size_t utf8_cut_at_start(std::string_view bytes) noexcept;

// RFC 4648 with padding, no line breaks.
std::string base64(std::string_view bytes);
// The bytes; nothing if it isn't base64, with its padding.
std::optional<std::string> base64_decoded(std::string_view text);

// All of a small file, such as those of /proc; "" if it can't be read.
std::string read_text(const std::string& path);

}  // namespace brig
