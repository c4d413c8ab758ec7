#include "json/json_plain.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/utf8.h"
#include "json/json_text.h"

namespace brig {
namespace {

// Sets the high bit of each byte that can't be copied as it is: '"', '\\', control characters, and
// bytes that are not ASCII. The lowest such byte is exact; those above it may be wrong because the
// subtractions borrow.
std::uint64_t not_plain(std::uint64_t word) {
  constexpr std::uint64_t kEach = 0x0101010101010101ull;
  return (word | (word - 0x20 * kEach) | ((word ^ '"' * kEach) - kEach) |
          ((word ^ '\\' * kEach) - kEach)) &
         0x80 * kEach;
}

// The same for 16 bytes, a vector that every machine has: are they all plain?
constexpr std::size_t kBlock = 16;
bool is_plain_block(const char* at) {
  using Bytes = std::uint8_t __attribute__((vector_size(kBlock)));
  Bytes bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  const auto found = (bytes < 0x20) | (bytes == '"') | (bytes == '\\') | (bytes >= 0x80);
  std::uint64_t words[kBlock / 8];
  std::memcpy(words, &found, sizeof words);
  return (words[0] | words[1]) == 0;
}

}  // namespace

const char* plain_end(const char* at, const char* const end) {
  for (;;) {
    while (static_cast<std::size_t>(end - at) >= kBlock && is_plain_block(at)) at += kBlock;
    std::uint64_t word;
    while (static_cast<std::size_t>(end - at) >= sizeof word) {
      std::memcpy(&word, at, sizeof word);
      const std::uint64_t found = not_plain(word);
      if (found) {
        if constexpr (std::endian::native == std::endian::little) at += std::countr_zero(found) / 8;
        break;
      }
      at += sizeof word;
    }
    if (at == end) return at;
    const auto byte = static_cast<unsigned char>(*at);
    if (byte < 0x80) {
      if (byte < 0x20 || byte == '"' || byte == '\\') return at;
      ++at;
      continue;
    }
    // Text that has one such character usually has many.
    while (at != end && static_cast<unsigned char>(*at) >= 0x80) {
      const std::size_t length = utf8_length(at, end);
      if (length == 0) return at;
      at += length;
    }
  }
}

std::string too_deep_text() { return fmt::format("{} {}", kTooDeep, kMaxJsonDepth); }

}  // namespace brig
