// The helper program that is carried inside the library.
#pragma once

#include "base/fd.h"

namespace brig {

// A descriptor to execute it from. Throws Error if memfds may not be executed here.
UniqueFd helper_image();

}  // namespace brig
