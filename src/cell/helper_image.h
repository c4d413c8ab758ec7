// Programs that are carried inside the library.
#pragma once

#include <string_view>

#include "base/fd.h"

namespace brig {

// A descriptor to execute `image` from. Throws Error if memfds may not be executed here.
UniqueFd executable(const char* name, std::string_view image);

// brig-helper.
UniqueFd helper_image();

}  // namespace brig
