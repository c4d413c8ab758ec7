// Removes what was left: processes, directories, cgroups. This reads directories, so it is the one
// file of the helper that allocates (opendir does). A cell never runs it before its tool has ended.
// In the jail no call waits for it; without a pid namespace a call waits until its processes are
// ended. Without mounts, zygote and keeper remove what killed ones of their place have left.
#pragma once

namespace brig::helper {

// Removes a directory and everything below it. Iterative and flat, so depth, names and modes do not
// matter.
bool remove_tree(const char* path);
// Removes every cgroup in the cgroup `base`, then `base`. A cgroup stays busy for a moment after its
// last process is gone, so this tries for two seconds.
bool remove_cgroups(const char* base);
// Kills every descendant of this process with SIGKILL and reaps it. For floors without a pid
// namespace.
void end_descendants();

}  // namespace brig::helper
