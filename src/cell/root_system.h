// What a jail's root has of the system, and of /dev. Only for root_*.cc.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "cell/root_layout.h"

namespace brig {

// The host's system directories, or those of another root.
void add_host_system(RootLayout& layout, const Policy& policy, const std::string& home,
                     const std::vector<ListedEntry>& entries, bool as_root);
void add_root_directory(RootLayout& layout, const std::string& root);
void add_devices(RootLayout& layout);

// Opens a listed path as the mount will: a symlink on the way is an error, not another place.
UniqueFd open_listed(const std::string& path, int flags, const char* field);

}  // namespace brig
