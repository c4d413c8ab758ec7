// For code that runs in a cell: a tool's own view of its call.
#pragma once

#include <string_view>

namespace brig {

// Tells whoever watches the call how far it is: a fraction of 1, and a line of at most 4 KiB (cut there).
// Never fails and costs little; outside of a tool's call it does nothing.
void progress(double fraction, std::string_view message = {});

}  // namespace brig
