// Which descriptors of the host may become a tool's stdin.
#pragma once

#include <string>

namespace brig {

// Why this one can't, in words, or "".
std::string stdin_defect(int fd);

// Whether a single cell can have a view of it (helper.h: view_of): a file or a FIFO that is open
// for reading.
bool may_be_viewed(int fd);

}  // namespace brig
