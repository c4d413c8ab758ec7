#include "mcp/image_size.h"

#include <cstddef>

namespace brig::serve {
namespace {

std::uint32_t big(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

std::uint32_t little(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  while (count-- > 0) value = value << 8 | static_cast<unsigned char>(bytes[at + count]);
  return value;
}

// The size stands in the frame header, behind segments of any number and length.
ImageSize size_of_jpeg(std::string_view head) {
  std::size_t at = 2;
  while (at + 9 <= head.size() && head[at] == '\xff') {
    const auto mark = static_cast<unsigned char>(head[at + 1]);
    if (mark >= 0xc0 && mark <= 0xcf && mark != 0xc4 && mark != 0xc8 && mark != 0xcc)
      return {big(head, at + 7, 2), big(head, at + 5, 2)};
    at += mark == 0xff ? 1 : 2 + big(head, at + 2, 2);
  }
  return {};
}

ImageSize size_of_webp(std::string_view head) {
  const std::string_view chunk = head.substr(12, 4);
  if (chunk == "VP8X") return {little(head, 24, 3) + 1, little(head, 27, 3) + 1};
  if (chunk == "VP8 ") return {little(head, 26, 2) & 0x3fff, little(head, 28, 2) & 0x3fff};
  if (chunk != "VP8L") return {};
  const std::uint32_t both = little(head, 21, 4);
  return {(both & 0x3fff) + 1, (both >> 14 & 0x3fff) + 1};
}

}  // namespace

ImageSize image_size(std::string_view head) {
  if (head.starts_with("\x89PNG\r\n\x1a\n") && head.size() >= 24)
    return {big(head, 16, 4), big(head, 20, 4)};
  if (head.starts_with("\xff\xd8")) return size_of_jpeg(head);
  if (head.starts_with("GIF8") && head.size() >= 10)
    return {little(head, 6, 2), little(head, 8, 2)};
  if (head.starts_with("RIFF") && head.size() >= 30 && head.substr(8, 4) == "WEBP")
    return size_of_webp(head);
  return {};
}

}  // namespace brig::serve
