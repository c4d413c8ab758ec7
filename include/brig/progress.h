// For code that runs in a cell: a tool reports how far its call is.
#pragma once

#include <string_view>

namespace brig {

// Reports progress to every watcher of the call: a fraction from 0 to 1, and a line of text. A line
// longer than 4 KiB is cut. Never fails, never throws and costs little. Does nothing outside of a
// tool's call.
void progress(double fraction, std::string_view message = {});

}  // namespace brig
