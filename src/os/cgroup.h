// cgroups, version 2 or 1, for the slots of one zygote: where they are, what brig writes to them
// and what it reads back. The janitor makes the directories of the slots (see helper/helper.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"

namespace brig {

struct CgroupLimits {
  std::uint64_t memory = 0;
  // Tasks, including brig's own in the slot.
  std::uint64_t processes = 0;
  std::optional<double> cpus;
  // Whether the tree's CPU time must be readable.
  bool count_cpu = false;
  // For a single cell: `base` is that cell's own cgroup, with the settings written, and brig
  // removes no stale cgroups.
  bool single = false;
};

// One hierarchy: the directory that holds the slots, and what each slot's files get.
struct CgroupHierarchy {
  struct Setting {
    std::string file, value;
    bool optional = false;
  };
  std::string base;
  // A process enters by writing "0" to this file.
  const char* entrance = "";
  std::vector<Setting> settings;
  bool has_pids = false;
  bool has_memory = false;
  bool has_cpuacct = false;
};

// Where the cgroups of a zygote's slots are. Owns the `base` directories: the destructor removes
// them, unless release() has left them to the janitor.
class CgroupLayout {
 public:
  CgroupLayout() = default;
  CgroupLayout(CgroupLayout&&) = default;
  CgroupLayout& operator=(CgroupLayout&& other) noexcept;
  ~CgroupLayout();

  CgroupLimits limits;
  // 0: brig can use no cgroups here.
  int version = 0;
  bool memory = false, pids = false, cpu = false, cpuacct = false;
  std::vector<CgroupHierarchy> hierarchies;
  // Whether version 2 has the memory controller on this machine, even if brig could not get it.
  bool unified_memory = false;
  // If version is 0 or a controller is missing: the call that failed, and why.
  std::string why_not;

  void release() { owned_.clear(); }
  // Removes what is left of the bases and their slots. Tries for a second.
  void sweep() const;

 private:
  void remove_owned();
  friend CgroupLayout make_cgroups(const CgroupLimits&);
  friend CgroupLayout make_delegated_cgroups(const CgroupLimits&, const std::string&, pid_t);
  std::vector<std::string> owned_;
};

// Finds where this process may make cgroups, by making them. A controller that it can't get is
// missing in the result; that is not an error.
CgroupLayout make_cgroups(const CgroupLimits& limits);
// The same in `path` of version 2 (as /proc/PID/cgroup has it), which this user may divide and
// which holds no process except `tenant`. Moves `tenant` into a child of its own, because a cgroup
// that holds processes can't be divided.
CgroupLayout make_delegated_cgroups(const CgroupLimits& limits, const std::string& path,
                                    pid_t tenant);

}  // namespace brig
