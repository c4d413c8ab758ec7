// Files in memory that nobody can change once they are written.
#pragma once

#include <span>
#include <string_view>

#include "base/fd.h"

namespace brig {

// Empty, close-on-exec, may be sealed; `flags` as memfd_create's. Without a descriptor, errno is set.
UniqueFd make_memfd(const char* name, unsigned flags = 0);

// Writes all of that, in its order, and seals the file against every change. False: errno is set.
bool fill_and_seal(int file, std::span<const std::string_view> pieces);
inline bool fill_and_seal(int file, std::string_view bytes) {
  return fill_and_seal(file, {&bytes, 1});
}

// For the message: "", or which limit refused the memory, by errno. A process that does not ignore SIGXFSZ is
// ended before it can ask.
const char* file_limit_hint();

}  // namespace brig
