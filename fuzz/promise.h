// What all fuzz targets share: LLVMFuzzerTestOneInput ends by abort() when brig broke a promise.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace brig::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void promise(bool kept, const char* what, std::string_view about = "") {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n%.*s\n", what, static_cast<int>(about.size()),
               about.data());
  std::abort();
}

// Calls look() with beginnings of the bytes, the shortest first: all of them, or of many bytes, some.
template <typename Look>
void for_beginnings(std::string_view bytes, Look look) {
  const std::size_t step = bytes.size() / 128 + 1;
  for (std::size_t size = 0; size < bytes.size(); size += step) look(bytes.substr(0, size));
}

}  // namespace brig::fuzz
