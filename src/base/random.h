// Random text, for names that nobody may guess.
#pragma once

#include <cstddef>
#include <string>

namespace brig {

// That many random bytes, 64 at most, as lower-case hex digits: two per byte. Straight from the kernel, so that copies of a
// process do not draw the same. Throws Error if the kernel gives none.
std::string random_hex(std::size_t bytes);

}  // namespace brig
