// cgroups, version 2 or 1, for the slots of one zygote: where they are, what is written to them, and
// what is read back. The directories of the slots are made by the janitor (see cell/helper.h).
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
  std::uint64_t processes = 0;  // tasks, brig's own in the slot included
  std::optional<double> cpus;
  bool count_cpu = false;  // the tree's CPU time must be readable
  // For one cell only: `base` is its own cgroup, with the settings written; nothing is swept.
  bool single = false;
};

// One hierarchy: the directory that holds the slots, and what each slot's files get.
struct CgroupHierarchy {
  struct Setting {
    std::string file, value;
    bool optional = false;
  };
  std::string base;
  const char* entrance = "";  // the file to which a process writes "0" to enter
  std::vector<Setting> settings;
  bool has_pids = false;
  bool has_memory = false;
  bool has_cpuacct = false;
};

// Owns the `base` directories: removes them when it goes, unless release()d to the janitor.
class CgroupLayout {
 public:
  CgroupLayout() = default;
  CgroupLayout(CgroupLayout&&) = default;
  CgroupLayout& operator=(CgroupLayout&& other) noexcept;
  ~CgroupLayout();

  CgroupLimits limits;
  int version = 0;  // 0: none usable
  bool memory = false, pids = false, cpu = false, cpuacct = false;
  std::vector<CgroupHierarchy> hierarchies;
  bool unified_memory =
      false;            // version 2 has the memory controller here, whether or not it was to be had
  std::string why_not;  // if version is 0, or a controller is missing: the call that failed

  void release() { owned_.clear(); }
  // Removes what is still there of it, slots included, trying for a second.
  void sweep() const;

 private:
  void remove_owned();
  friend CgroupLayout make_cgroups(const CgroupLimits&);
  friend CgroupLayout make_delegated_cgroups(const CgroupLimits&, const std::string&, pid_t);
  std::vector<std::string> owned_;
};

// Finds where this process may make cgroups, by making them. What can't be had is absent in the
// result, never an error.
CgroupLayout make_cgroups(const CgroupLimits& limits);
// The same in `path` of version 2 (as /proc/PID/cgroup has it), which is this user's to divide and holds no process
// but `tenant`. That one is moved into a child of its own: a cgroup that holds processes can't be divided.
CgroupLayout make_delegated_cgroups(const CgroupLimits& limits, const std::string& path,
                                    pid_t tenant);

}  // namespace brig
