// The programs that the library carries.
#pragma once

#include <string_view>

#include "base/fd.h"

namespace brig {

// A descriptor to execute `image` from. Throws Error if memfds may not be executed here.
UniqueFd executable(const char* name, std::string_view image);

// The descriptor of brig-helper.
UniqueFd helper_image();

}  // namespace brig
