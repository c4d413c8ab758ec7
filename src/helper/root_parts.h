// The parts of building a root. Only for root_*.cc. All report failures by errno, or in `failure`.
#pragma once

#include <sys/types.h>

#include "helper/helper.h"

namespace brig::helper {

// brig's own empty file, which covers files.
constexpr const char* kEmptyFile = ".brig-empty";

// In root_nodes.cc: directories, files and links of the new root. `device` is that of the root
// tmpfs.

// Opens `path` below `root`, never through a symlink: a component that somebody replaced by one is
// an error and is not followed.
int open_below(int root, const char* path, int flags);
// Opens the directory that holds the last component of `path`. Makes missing directories, but only
// on the root tmpfs itself: below a bind this would change the host's own tree. `*last` is set to
// the component.
int open_parent(int root, dev_t root_device, const char* path, const char** last);
// Returns whether the step is brig's own. Those come before every path of the policy's and so can't
// meet a host's tree on the way: they take whole paths where others walk.
bool is_own(const RootStep& step);
bool make_node(int root, dev_t device, const RootStep& step, const Plan& plan, bool directory);
// Copies a small file of the host. Does nothing if it does not exist.
bool copy_file(int old_root, int root, dev_t device, const RootStep& step, const Plan& plan);

// In root_mounts.cc: what the new root shows of other file systems.

int new_mount(const char* type, const char* size, unsigned attributes);
bool attach(int tree, int root, const char* target, bool own);
bool write_held(int root, dev_t device, const RootStep& step, const Plan& plan);
bool bind(const Plan& plan, const RootStep& step, unsigned index, int old_root, int root,
          dev_t device, const int* id_map_fds, Failure& failure);
// Opens what is at the target by one descriptor and mounts it onto itself: it keeps the owner map
// and the attributes of the mount that it is part of. A symlink at the end stays a link.
bool onto_itself(const Plan& plan, const RootStep& step, unsigned index, int root,
                 Failure& failure);
// Hides whatever is at the target.
bool cover(const Plan& plan, const RootStep& step, unsigned index, int root, Failure& failure);

}  // namespace brig::helper
