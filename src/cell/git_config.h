// The /etc/gitconfig that cells of root's have. Only for root_*.cc.
#pragma once

#include <string>
#include <vector>

#include "policy/listed_path.h"

namespace brig {

// Tells git, and libraries like it, which repositories may be read although they belong to another
// id than the tool's: all. Looks at the disk, and throws Error if it can't.
std::string git_config(const Files& files, const std::vector<ListedEntry>& entries);

}  // namespace brig
