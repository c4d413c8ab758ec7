// Files in memory that nobody can change after they are written.
#pragma once

#include <span>
#include <string_view>

#include "base/fd.h"

namespace brig {

// An empty file, close-on-exec, that may be sealed. `flags` are those of memfd_create. On failure
// it holds no descriptor, and errno is set.
UniqueFd make_memfd(const char* name, unsigned flags = 0);

// Writes the pieces in their order, and seals the file against every change. False on failure;
// errno is set.
bool fill_and_seal(int file, std::span<const std::string_view> pieces);
inline bool fill_and_seal(int file, std::string_view bytes) {
  return fill_and_seal(file, {&bytes, 1});
}

// A hint for an error message: which limit refused the memory, judged by errno, or "". A process
// that does not ignore SIGXFSZ dies before it can ask.
const char* file_limit_hint();

}  // namespace brig
