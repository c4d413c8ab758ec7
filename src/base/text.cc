#include "base/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/fd.h"
#include "base/utf8.h"

namespace brig {
namespace {

using std::chrono::milliseconds;

// Nobody means a longer number.
constexpr std::size_t kMaxNumber = 64;
constexpr std::size_t kMaxWord = 64;
constexpr std::size_t kMaxQuoted = 200;
constexpr std::uint64_t kMaxMilliseconds = 100ull * 365 * 24 * 3600 * 1000;

// isdigit and tolower read the locale; these do not.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Takes the digits at the front of `text`. nullopt: there are no digits, or too many for 64 bits.
std::optional<std::uint64_t> take_digits(std::string_view& text) {
  std::size_t n = 0;
  std::uint64_t value = 0;
  for (; n < text.size() && is_digit(text[n]); ++n) {
    if (__builtin_mul_overflow(value, std::uint64_t{10}, &value)) return std::nullopt;
    if (__builtin_add_overflow(value, static_cast<std::uint64_t>(text[n] - '0'), &value)) {
      return std::nullopt;
    }
  }
  if (n == 0) return std::nullopt;
  text.remove_prefix(n);
  return value;
}

__extension__ using Wide = unsigned __int128;

struct Fraction {
  // 0.25: digits is 25, one is 100.
  std::uint64_t digits = 0, one = 1;
  bool given = false;
};

// Takes a point and the digits behind it, if there is a point. nullopt: no digits follow, or too
// many to be exact.
std::optional<Fraction> take_fraction(std::string_view& text) {
  constexpr std::size_t kMostDigits = 18;
  Fraction fraction;
  if (text.empty() || text[0] != '.') return fraction;
  text.remove_prefix(1);
  std::size_t count = 0;  // of the digits
  std::size_t last = 0;   // of the digits up to the last one that is not zero
  while (count < text.size() && is_digit(text[count]))
    if (text[count++] != '0') last = count;
  if (count == 0 || last > kMostDigits) return std::nullopt;
  for (std::size_t i = 0; i < last; ++i) {
    fraction.digits = fraction.digits * 10 + static_cast<std::uint64_t>(text[i] - '0');
    fraction.one *= 10;
  }
  text.remove_prefix(count);
  fraction.given = true;
  return fraction;
}

// One space may stand before a unit. A space without a unit is an error.
void take_space(std::string_view& text) {
  if (text.size() > 1 && text[0] == ' ') text.remove_prefix(1);
}

std::optional<std::uint64_t> unit_milliseconds(std::string_view unit) {
  if (unit.empty() || unit == "s") return 1000;
  if (unit == "ms") return 1;
  if (unit == "m" || unit == "min") return 60'000;
  if (unit == "h") return 3'600'000;
  return std::nullopt;
}

unsigned char byte_at(std::string_view bytes, std::size_t i) {
  return static_cast<unsigned char>(bytes[i]);
}

// The value of one code point of valid UTF-8.
std::uint32_t code_point(std::string_view piece) {
  const unsigned char lead = byte_at(piece, 0);
  if (piece.size() == 1) return lead;
  std::uint32_t code = lead & (0x7Fu >> piece.size());
  for (std::size_t i = 1; i < piece.size(); ++i) code = code << 6 | (byte_at(piece, i) & 0x3Fu);
  return code;
}

// C1 controls, which terminals obey as they obey ESC sequences, and characters that make one text
// look like another: marks, embeddings, overrides and isolates of direction, line and paragraph
// separators.
bool misleads(std::uint32_t code) {
  return (code >= 0x80 && code <= 0x9F) || code == 0x061C || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

// Whether bytes 1.. of `piece` may follow its first byte in a code point described by `lead`.
bool continues(std::string_view piece, const Utf8Lead& lead) {
  for (std::size_t i = 1; i < piece.size(); ++i) {
    const unsigned char byte = byte_at(piece, i);
    if (i == 1 ? (byte < lead.low || byte > lead.high) : !is_utf8_continuation(byte)) return false;
  }
  return true;
}

// Optimal string alignment: an insertion, a deletion, a substitution and a swap of neighbours cost
// 1 each. Both words are at most kMaxWord long.
std::size_t edits(std::string_view a, std::string_view b) {
  std::array<std::array<std::size_t, kMaxWord + 1>, 3> rows;
  const auto same = [](char x, char y) {
    const auto plain = [](char c) { return c == '-' ? '_' : lower(c); };
    return plain(x) == plain(y);
  };
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i + 2) % 3];
    const auto& two_above = rows[(i + 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min(
          {above[j] + 1, row[j - 1] + 1, above[j - 1] + (same(a[i - 1], b[j - 1]) ? 0u : 1u)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
        row[j] = std::min(row[j], two_above[j - 2] + 1);
      }
    }
  }
  return rows[a.size() % 3][b.size()];
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) noexcept {
  if (text.size() > kMaxNumber) return std::nullopt;
  const std::optional<std::uint64_t> number = take_digits(text);
  if (!number) return std::nullopt;
  const std::optional<Fraction> fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  take_space(text);
  unsigned shift = 0;
  if (!text.empty() && lower(text[0]) != 'b') {
    constexpr std::string_view kUnits = "kmgtpe";
    const std::size_t unit = kUnits.find(lower(text[0]));
    if (unit == std::string_view::npos) return std::nullopt;
    shift = static_cast<unsigned>(unit + 1) * 10;
    text.remove_prefix(1);
    if (text.size() == 2 && lower(text[0]) == 'i') text.remove_prefix(1);
    if (text.empty()) text = "b";
  }
  if (!text.empty() && (text.size() != 1 || lower(text[0]) != 'b')) return std::nullopt;
  // A byte has no fraction.
  if (fraction->given && shift == 0) return std::nullopt;
  if (*number > (std::numeric_limits<std::uint64_t>::max() >> shift)) return std::nullopt;
  // The factors are below 10^18 and 2^60, so the product fits. It is below one unit, so the sum
  // fits too.
  const Wide part = Wide{fraction->digits} << shift;
  const std::uint64_t bytes = (*number << shift) + static_cast<std::uint64_t>(part / fraction->one);
  if (bytes == 0 && fraction->digits != 0) return std::nullopt;
  return bytes;
}

std::optional<milliseconds> parse_duration(std::string_view text) noexcept {
  if (text.size() > kMaxNumber) return std::nullopt;
  const std::optional<std::uint64_t> whole = take_digits(text);
  if (!whole) return std::nullopt;
  std::uint64_t billionths = 0;
  // Whether a digit after the point is not zero.
  bool fraction = false;
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    if (text.empty() || !is_digit(text[0])) return std::nullopt;
    for (std::uint64_t weight = 100'000'000; !text.empty() && is_digit(text[0]); weight /= 10) {
      billionths += static_cast<std::uint64_t>(text[0] - '0') * weight;
      fraction = fraction || text[0] != '0';
      text.remove_prefix(1);
    }
  }
  take_space(text);
  const std::optional<std::uint64_t> unit = unit_milliseconds(text);
  if (!unit || *whole > kMaxMilliseconds / *unit) return std::nullopt;
  std::uint64_t total = *whole * *unit + (billionths * *unit + 500'000'000) / 1'000'000'000;
  if (total == 0 && fraction) total = 1;
  if (total > kMaxMilliseconds) return std::nullopt;
  return milliseconds(total);
}

std::optional<milliseconds> duration_from_seconds(double seconds) noexcept {
  if (!(seconds >= 0) || seconds * 1000 > static_cast<double>(kMaxMilliseconds)) {
    return std::nullopt;
  }
  const auto total = static_cast<std::int64_t>(std::floor(seconds * 1000 + 0.5));
  return milliseconds(total == 0 && seconds > 0 ? 1 : total);
}

std::optional<std::uint32_t> parse_user(std::string_view text) noexcept {
  if (text == "root") return 0;
  const std::optional<std::uint64_t> number = take_digits(text);
  if (!number || !text.empty() || *number > std::numeric_limits<std::uint32_t>::max())
    return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

std::string format_size(std::uint64_t bytes) {
  constexpr std::array<const char*, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && (bytes >> (10 * (unit + 1))) != 0) ++unit;
  const std::uint64_t one = std::uint64_t{1} << (10 * unit);
  std::uint64_t whole = bytes / one;
  // rest < 2^60, so ten times it and half a unit still fit.
  std::uint64_t tenths = ((bytes % one) * 10 + one / 2) / one;
  if (tenths == 10) {
    ++whole;
    tenths = 0;
  }
  if (whole == 1024 && unit + 1 < kUnits.size()) {
    whole = 1;
    ++unit;
  }
  if (tenths == 0) return fmt::format("{} {}", whole, kUnits[unit]);
  return fmt::format("{}.{} {}", whole, tenths, kUnits[unit]);
}

std::string format_duration(milliseconds duration) {
  const std::int64_t count = duration.count();
  // Negated as unsigned, because the smallest int64 has no positive counterpart.
  const std::uint64_t ms =
      count < 0 ? 0 - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  const char* sign = count < 0 ? "-" : "";
  if (ms < 1000) return fmt::format("{}{} ms", sign, ms);
  if (ms % 3'600'000 == 0) return fmt::format("{}{} h", sign, ms / 3'600'000);
  if (ms % 60'000 == 0) return fmt::format("{}{} min", sign, ms / 60'000);
  if (ms % 1000 == 0) return fmt::format("{}{} s", sign, ms / 1000);
  std::string text = fmt::format("{}{}.{:03}", sign, ms / 1000, ms % 1000);
  text.erase(text.find_last_not_of('0') + 1);
  return text + " s";
}

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates) noexcept {
  if (word.empty() || word.size() > kMaxWord) return std::nullopt;
  std::optional<std::string_view> best;
  // If a third of the letters is wrong, it is still a typing error. More is another word.
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kMaxWord) continue;
    const std::size_t distance = edits(word, candidate);
    // Words of one or two letters may have nothing left in common; that does not make them alike.
    if (distance < least && distance < std::max(word.size(), candidate.size())) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string printable(std::string_view text) {
  const bool utf8 = is_valid_utf8(text);
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const unsigned char byte = byte_at(text, at);
    const std::size_t length = utf8 ? utf8_lead(byte).length : 1;
    if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !utf8))
      line += fmt::format("\\x{:02x}", byte);
    else if (const std::uint32_t code = code_point(text.substr(at, length)); misleads(code))
      line += fmt::format("\\u{:04x}", code);
    else
      line.append(text, at, length);
    at += length;
  }
  return line;
}

std::string printable_json(std::string_view json) {
  if (!is_valid_utf8(json)) return printable(json);
  std::string text;
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t length = utf8_lead(byte_at(json, at)).length;
    const std::uint32_t code = code_point(json.substr(at, length));
    if (misleads(code) || code == 0x7F)
      text += fmt::format("\\u{:04x}", code);
    else
      text.append(json, at, length);
    at += length;
  }
  return text;
}

std::string in_quotes(std::string_view text) {
  std::string_view shown = text.substr(0, kMaxQuoted);
  if (shown.size() < text.size()) shown.remove_suffix(utf8_cut_at_end(shown));
  std::string result = "'" + printable(shown);
  if (shown.size() < text.size()) result += "...";
  return result + "'";
}

bool is_valid_utf8(std::string_view bytes) noexcept {
  std::size_t i = 0;
  while (i < bytes.size()) {
    // Output is mostly ASCII: take it a word at a time.
    std::uint64_t word;
    if (bytes.size() - i >= sizeof word) {
      std::memcpy(&word, bytes.data() + i, sizeof word);
      if ((word & 0x8080808080808080ull) == 0) {
        i += sizeof word;
        continue;
      }
    }
    const std::size_t length = utf8_length(bytes.data() + i, bytes.data() + bytes.size());
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::size_t utf8_cut_at_end(std::string_view bytes) noexcept {
  for (std::size_t n = 1; n <= 3 && n <= bytes.size(); ++n) {
    const std::string_view piece = bytes.substr(bytes.size() - n);
    if (is_utf8_continuation(byte_at(piece, 0))) continue;
    const Utf8Lead lead = utf8_lead(byte_at(piece, 0));
    return lead.length > n && continues(piece, lead) ? n : 0;
  }
  return 0;
}

std::size_t utf8_cut_at_start(std::string_view bytes) noexcept {
  std::size_t n = 0;
  while (n < bytes.size() && n < 4 && is_utf8_continuation(byte_at(bytes, n))) ++n;
  return n < 4 ? n : 0;
}

namespace {
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

std::string base64(std::string_view bytes) {
  std::string result;
  result.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < n ? byte_at(bytes, i + k) : 0u);
    result += kDigits[group >> 18];
    result += kDigits[group >> 12 & 63];
    result += n > 1 ? kDigits[group >> 6 & 63] : '=';
    result += n > 2 ? kDigits[group & 63] : '=';
  }
  return result;
}

std::optional<std::string> base64_decoded(std::string_view text) {
  if (text.size() % 4) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string result;
  result.reserve(text.size() / 4 * 3);
  unsigned group = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool pad = i >= text.size() - padding;
    const std::size_t digit = pad ? 0 : kDigits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    group = group << 6 | static_cast<unsigned>(digit);
    if (i % 4 != 3) continue;
    for (int shift = 16; shift >= 0; shift -= 8)
      result.push_back(static_cast<char>(group >> shift & 0xff));
    group = 0;
  }
  result.resize(result.size() - padding);
  return result;
}

std::string read_text(const std::string& path) {
  std::string text;
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return text;
  char buffer[8192];
  for (ssize_t size; (size = read(file.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(size));
  return text;
}

}  // namespace brig
