// The parts of building a root. Only for root_*.cc. All tell failures by errno, or in `failure`.
#pragma once

#include <sys/types.h>

#include "helper/helper.h"

namespace brig::helper {

// Of brig's own: what covers a file.
constexpr const char* kEmptyFile = ".brig-empty";

// root_nodes.cc: directories, files and links of the new root. `device`: of the root tmpfs.

// Opens `path` below `root`, never through a symlink: a component that someone swapped for one is
// an error, not another place.
int open_below(int root, const char* path, int flags);
// Opens the directory that holds the last component of `path`, making missing ones, but only on the
// root tmpfs itself: below a bind the host's own tree would be changed. `*last` is the component.
int open_parent(int root, dev_t root_device, const char* path, const char** last);
// brig's own steps come before any path of the policy's, so they can't meet a host's tree on the way:
// they take paths whole where others walk.
bool is_own(const RootStep& step);
bool make_node(int root, dev_t device, const RootStep& step, const Plan& plan, bool directory);
// Copies a small host file. Not there: nothing to copy.
bool copy_file(int old_root, int root, dev_t device, const RootStep& step, const Plan& plan);

// root_mounts.cc: what the new root shows of other file systems.

int new_mount(const char* type, const char* size, unsigned attributes);
bool attach(int tree, int root, const char* target, bool own);
bool write_held(int root, dev_t device, const RootStep& step, const Plan& plan);
bool bind(const Plan& plan, const RootStep& step, unsigned index, int old_root, int root,
          dev_t device, const int* id_map_fds, Failure& failure);
// What is there is taken by one descriptor, and put on itself: it has the owner map and the attributes of the mount that it
// is part of. A symlink at the end is kept as a link.
bool onto_itself(const Plan& plan, const RootStep& step, unsigned index, int root,
                 Failure& failure);
// Hides what is at target, whatever it is.
bool cover(const Plan& plan, const RootStep& step, unsigned index, int root, Failure& failure);

}  // namespace brig::helper
