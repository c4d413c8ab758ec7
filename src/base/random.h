// Random text, for names that nobody can guess.
#pragma once

#include <cstddef>
#include <string>

namespace brig {

// Returns `bytes` random bytes, at most 64, as lower-case hex digits, two per byte. They come
// straight from the kernel, so that copies of a process get different ones. Throws Error if the
// kernel gives none.
std::string random_hex(std::size_t bytes);

}  // namespace brig
