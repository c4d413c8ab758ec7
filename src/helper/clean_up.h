// What is done when a cell has ended, and nobody waits: the one place of the helper that may allocate (opendir does).
#pragma once

namespace brig::helper {

// Removes a directory and all below it. Iterative and flat: depth, names and modes don't matter.
bool remove_tree(const char* path);
// SIGKILLs every descendant of this process and reaps them, for floors without a pid namespace.
void end_descendants();

}  // namespace brig::helper
