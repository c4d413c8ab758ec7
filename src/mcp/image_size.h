// How many pixels an image has, as its first bytes say. It decodes no image.
#pragma once

#include <cstdint>
#include <string_view>

namespace brig::serve {

struct ImageSize {
  std::uint32_t width = 0, height = 0;
  bool operator==(const ImageSize&) const = default;
};

// Of a PNG, JPEG, GIF or WebP. All zero: it is another image, or `head` does not reach far enough.
ImageSize image_size(std::string_view head);

}  // namespace brig::serve
