// The part of a jail's root that comes from the system, and /dev. Only for root_*.cc.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "cell/root_layout.h"

namespace brig {

// Whether the cell's /var/tmp is a link to its /tmp. With the host's system it is one, unless
// something is listed at or below it: mounts do not follow links.
bool var_tmp_is_a_link(const Policy& policy, const std::vector<ListedEntry>& entries);

// Adds the host's system directories, or those of another root.
void add_host_system(RootLayout& layout, const Policy& policy, const std::string& home,
                     const std::vector<ListedEntry>& entries, bool as_root);
void add_root_directory(RootLayout& layout, const std::string& root);
void add_devices(RootLayout& layout);

// Opens a listed path as the mount will: a symlink on the way is an error and is not followed.
UniqueFd open_listed(const std::string& path, int flags, const char* field);

}  // namespace brig
