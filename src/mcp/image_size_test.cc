#include "mcp/image_size.h"

#include <gtest/gtest.h>

#include <string>

namespace brig::serve {
namespace {

using namespace std::literals;

const std::string kPngHead = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x1f\x41\0\0\0\x20"s;
const std::string kJpegFrame = "\xff\xc2\x00\x11\x08\x00\x20\x1f\x41\x03"s + std::string(9, '\0');

TEST(ImageSize, OfEachKind) {
  const ImageSize size{8001, 32};
  EXPECT_EQ(image_size(kPngHead), size);
  EXPECT_EQ(image_size("\xff\xd8\xff\xe0\x00\x04xy"s + kJpegFrame), size);
  EXPECT_EQ(image_size("\xff\xd8\xff\xc4\x00\x02\xff"s + kJpegFrame), size) << "after a table";
  EXPECT_EQ(image_size("GIF89a\x41\x1f\x20\0"s), size);
  const std::string webp = "RIFF\0\0\0\0WEBP"s;
  EXPECT_EQ(image_size(webp + "VP8X\x0a\0\0\0\0\0\0\0\x40\x1f\0\x1f\0\0"s), size);
  EXPECT_EQ(image_size(webp + "VP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x41\x1f\x20\0"s), size);
  EXPECT_EQ(image_size(webp + "VP8L\0\0\0\0\x2f\x40\xdf\x07\0\0\0\0\0\0"s), size);
}

TEST(ImageSize, OfAnyBeginningIsTheSizeOrZero) {
  for (const std::string& all :
       {kPngHead, "\xff\xd8\xff\xe0\x00\x04xy"s + kJpegFrame, "GIF89a\x41\x1f\x20\0"s,
        "RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x40\x1f\0\x1f\0\0"s,
        "\xff\xd8\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s, "\xff\xd8\xff\xe0\0\0\xff\xe0\0\0\0"s,
        "\xff\xd8\xff\xe0\xff\xff\xff\xe0\0\0\0\0\0"s, "RIFF\0\0\0\0WEBPother chunk, long enough"s})
    for (std::size_t most = 0; most <= all.size(); ++most) {
      // Its own memory, so that a sanitizer sees a read beyond it.
      const std::string head = all.substr(0, most);
      const ImageSize found = image_size(head);
      EXPECT_TRUE(found == ImageSize{} || found == (ImageSize{8001, 32})) << found.width;
    }
}

}  // namespace
}  // namespace brig::serve
