// Files in memory that nobody can change once they are written.
#pragma once

#include <string_view>

#include "base/fd.h"

namespace brig {

// Empty, close-on-exec, may be sealed; `flags` as memfd_create's. Without a descriptor, errno is set.
UniqueFd make_memfd(const char* name, unsigned flags = 0);

// Writes all of `bytes` and seals the file against every change. False: errno is set.
bool fill_and_seal(int file, std::string_view bytes);

}  // namespace brig
