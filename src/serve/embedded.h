// Files that the program carries.
#pragma once

#include <span>
#include <string_view>

namespace brig::serve {

std::string_view openapi_text();

struct EmbeddedFile {
  // `packed` is the file in gzip format.
  std::string_view name, type, bytes, packed;
};
// The files of the console, by name; "index.html" is its page.
std::span<const EmbeddedFile> console_files();

}  // namespace brig::serve
