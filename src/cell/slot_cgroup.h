// The cgroups of one slot: their limits for a call, and what a call used of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "os/cgroup.h"

namespace brig {

struct CgroupUsage {
  std::optional<std::uint64_t> memory_peak;
  // As counted, with brig's own tasks.
  std::optional<std::uint64_t> processes_peak;
  std::uint64_t oom_kills = 0;
  std::uint64_t fork_failures = 0;
};

// The open files of one slot. Call begin() before a cell's one request and end() after it.
class SlotCgroup {
 public:
  SlotCgroup() = default;
  // Throws Error if a file that the layout promises does not exist.
  SlotCgroup(const CgroupLayout& layout, unsigned slot, unsigned generation);

  // `tasks`: brig's own, and the tool's process, which may not be there yet.
  void begin(std::uint64_t tasks);
  // Sets lower limits than the layout's until widen(). `processes` includes brig's own. False on
  // failure; errno is set, and some of the limits may hold.
  bool narrow(std::optional<std::uint64_t> memory, std::optional<std::uint64_t> processes);
  // Restores the layout's limits. False on failure, with errno set: then the slot can't be used any
  // more. Call it before another process is born here or another generation takes its place,
  // because some of its directories stay.
  bool widen();
  CgroupUsage end();
  // CPU time of the slot since begin(), in microseconds.
  std::optional<std::uint64_t> cpu_micros() const;
  bool counts_cpu() const { return static_cast<bool>(cpu_); }
  // Whether the next begin() could not tell new peaks from past ones. Then the slot needs new
  // cgroups.
  bool stale() const { return stale_; }
  // Gives back page cache that past calls left charged here, if it is more than a little.
  void shrink();
  // Removes the slot's directories. False while something still lives there.
  bool remove();
  // Takes over the directories that only earlier generations had.
  void follow(const SlotCgroup& before);
  // Removes those, once the keeper has moved on. A directory that is still in use, by a process
  // that nobody has reaped yet, is tried again the next time.
  void remove_older();

 private:
  bool set_memory(std::uint64_t memory);
  bool set_processes(std::uint64_t processes);

  std::vector<std::string> directories_, older_;
  std::string generation_directory_;
  int version_ = 0;
  std::uint64_t memory_limit_ = 0, pids_limit_ = 0;
  UniqueFd memory_peak_, memory_usage_, memory_events_, memory_reclaim_, pids_peak_, pids_events_,
      cpu_;
  std::uint64_t memory_base_ = 0, oom_base_ = 0, forks_base_ = 0, cpu_base_ = 0, pids_floor_ = 0;
  std::string memory_limit_file_, pids_limit_file_;
  std::string memory_swap_file_, memory_sockets_file_;  // Of version 1.
  std::uint64_t full_memory_ = 0, full_pids_ = 0;       // Before narrow().
  bool peak_resets_ = false;
  bool stale_ = false;
};

}  // namespace brig
