// What happens after a cell has ended, while nobody waits. The one place of the helper that may
// allocate (opendir does).
#pragma once

namespace brig::helper {

// Removes a directory and everything below it. Iterative and flat, so depth, names and modes do not
// matter.
bool remove_tree(const char* path);
// Kills every descendant of this process with SIGKILL and reaps it. For floors without a pid
// namespace.
void end_descendants();

}  // namespace brig::helper
