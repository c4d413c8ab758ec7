// Text in and out: sizes, durations, UTF-8, base64, and words for error messages.
// Pure functions for any thread. They do not read the locale and throw nothing but std::bad_alloc.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace brig {

// A number of bytes: digits, at most one space, and an optional unit. The units are B, and K M G T
// P E alone or as KB or KiB, in upper or lower case. All are 1024-based: "1MB" is 1 MiB, because a
// limit that is a little too large surprises less than two meanings of M. Before a unit of K and up
// there may be a fraction, "1.5G", of at most 18 digits without zeros at its end, and with a digit
// on either side of the point. A part of a byte is dropped, but only zero becomes 0. Anything else,
// also a sign, an exponent or an overflow: nullopt.
std::optional<std::uint64_t> parse_size(std::string_view text) noexcept;

// A duration: digits with an optional fraction, at most one space, and an optional unit ms, s, m
// (or min) or h. A plain number is seconds. Rounds to the nearest millisecond, but only zero
// becomes 0. Anything else, also a sign, an exponent or "nan": nullopt. So is more than 100 years,
// so that a result can be added to any clock.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) noexcept;
// The same for a number of seconds. Negative, NaN, infinite or above 100 years: nullopt.
std::optional<std::chrono::milliseconds> duration_from_seconds(double seconds) noexcept;

// A user id: "root", or digits that fit into 32 bits. Anything else: nullopt.
std::optional<std::uint32_t> parse_user(std::string_view text) noexcept;

// "512 MiB", "1.5 KiB", "0 B": one decimal at most, rounded.
std::string format_size(std::uint64_t bytes);
// "500 ms", "1.5 s", "90 s", "2 min", "24 h". Exact; uses minutes and hours only for whole ones.
std::string format_duration(std::chrono::milliseconds duration);

// The candidate that needs the fewest edits from `word`, if they are so few that a typing error
// explains them. A swap of neighbours is one edit; upper or lower case, and '-' for '_', count as
// no edit. The view is into the candidate. No such candidate: nullopt.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates) noexcept;

// The text for a terminal. Characters that the terminal would obey (control characters, including
// C1) and characters that would change the order or the lines of the text (directional controls,
// line separators) become \xNN or \uNNNN. Bytes that are not UTF-8 become \xNN.
std::string printable(std::string_view text);
// The same for JSON text, where \uNNNN stands for the character: the JSON value does not change.
// Line breaks stay as they are.
std::string printable_json(std::string_view json);

// The text in single quotes for a message: printable, and cut with "..." after 200 bytes.
std::string in_quotes(std::string_view text);

// Strict, by RFC 3629: no overlong form, no surrogate, nothing above U+10FFFF. NUL is valid.
bool is_valid_utf8(std::string_view bytes) noexcept;
// How many bytes at the end, 0 to 3, begin a code point that is cut off there.
std::size_t utf8_cut_at_end(std::string_view bytes) noexcept;
// How many bytes at the start, 0 to 3, can be the rest of a code point that was cut off before
// them. 0 if there are more continuation bytes than a code point can have.
std::size_t utf8_cut_at_start(std::string_view bytes) noexcept;

// Base64 of RFC 4648, with padding and without line breaks.
std::string base64(std::string_view bytes);
// The decoded bytes. Nothing if the text is not base64 with its padding.
std::optional<std::string> base64_decoded(std::string_view text);

// The content of a small file, such as those of /proc. "" if it can't be read.
std::string read_text(const std::string& path);

}  // namespace brig
