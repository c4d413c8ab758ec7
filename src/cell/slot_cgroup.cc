#include "cell/slot_cgroup.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace brig {
namespace {

// Files of a cgroup are small, so one read gives all of one.
std::string read_all(const UniqueFd& file) {
  char buffer[4096];
  if (!file) return "";
  const ssize_t size = pread(file.get(), buffer, sizeof buffer, 0);
  return size > 0 ? std::string(buffer, static_cast<std::size_t>(size)) : "";
}

std::uint64_t number_of(const UniqueFd& file) {
  return strtoull(read_all(file).c_str(), nullptr, 10);
}

// The number behind `key` in lines of "key value".
std::uint64_t field_of(const UniqueFd& file, const char* key) {
  const std::string text = "\n" + read_all(file);
  const std::size_t at = text.find(std::string("\n") + key + " ");
  return at == std::string::npos ? 0 : strtoull(text.c_str() + at + strlen(key) + 2, nullptr, 10);
}

// `must`: the file exists. A kernel may have been built without the others, or no longer have them;
// those need no value.
bool write_number(const std::string& path, std::uint64_t value, bool must) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return !must && errno == ENOENT;
  const std::string text = std::to_string(value);
  return pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

constexpr std::uint64_t kLittle = 8 << 20;
constexpr std::uint64_t kBatch = 4 << 20;

}  // namespace

SlotCgroup::SlotCgroup(const CgroupLayout& layout, unsigned slot, unsigned generation)
    : version_(layout.version),
      memory_limit_(layout.limits.memory),
      pids_limit_(layout.limits.processes),
      full_memory_(memory_limit_),
      full_pids_(pids_limit_) {
  const auto must = [](const std::string& path, int flags) {
    UniqueFd file(open(path.c_str(), flags | O_CLOEXEC));
    if (!file) throw_sys("opening '{}'", path);
    return file;
  };
  const auto may = [](const std::string& path, int flags) {
    return UniqueFd(open(path.c_str(), flags | O_CLOEXEC));
  };
  for (const CgroupHierarchy& tree : layout.hierarchies) {
    std::string at = tree.base + "/";
    if (!layout.limits.single)
      at += std::to_string(slot) +
            (tree.has_pids && generation ? "." + std::to_string(generation) : "") + "/";
    directories_.push_back(at);
    if (tree.has_pids) generation_directory_ = at;
    if (tree.has_memory) {
      const bool v2 = version_ == 2;
      memory_limit_file_ = at + (v2 ? "memory.max" : "memory.limit_in_bytes");
      memory_swap_file_ = at + "memory.memsw.limit_in_bytes";
      memory_sockets_file_ = at + "memory.kmem.tcp.limit_in_bytes";
      memory_usage_ = must(at + (v2 ? "memory.current" : "memory.usage_in_bytes"), O_RDONLY);
      memory_events_ = must(at + (v2 ? "memory.events" : "memory.oom_control"), O_RDONLY);
      // Version 2 has a peak since Linux 5.19, and can reset it since 6.12.
      memory_peak_ = may(at + (v2 ? "memory.peak" : "memory.max_usage_in_bytes"), O_RDWR);
      // Root can open any file for writing, so only a write shows whether it works.
      peak_resets_ = memory_peak_ && pwrite(memory_peak_.get(), "0", 1, 0) == 1;
      if (!memory_peak_) memory_peak_ = may(at + "memory.peak", O_RDONLY);
      memory_reclaim_ = may(at + (v2 ? "memory.reclaim" : "memory.force_empty"), O_WRONLY);
    }
    if (tree.has_pids) {
      pids_limit_file_ = at + "pids.max";
      pids_peak_ = may(at + "pids.peak", O_RDONLY);
      pids_events_ = may(at + "pids.events", O_RDONLY);
    }
    if (tree.has_cpuacct)
      cpu_ = must(at + (version_ == 2 ? "cpu.stat" : "cpuacct.usage"), O_RDONLY);
  }
}

static void remove_all(std::vector<std::string>& directories) {
  std::erase_if(directories, [](const std::string& path) {
    return rmdir(path.c_str()) == 0 || errno == ENOENT;
  });
}

bool SlotCgroup::remove() {
  remove_all(older_);
  remove_all(directories_);
  return older_.empty() && directories_.empty();
}

void SlotCgroup::follow(const SlotCgroup& before) {
  older_ = before.older_;
  older_.push_back(before.generation_directory_);
}

void SlotCgroup::remove_older() { remove_all(older_); }

std::optional<std::uint64_t> SlotCgroup::cpu_micros() const {
  if (!cpu_) return std::nullopt;
  const std::uint64_t now = version_ == 2 ? field_of(cpu_, "usage_usec") : number_of(cpu_) / 1000;
  return now - cpu_base_;
}

bool SlotCgroup::set_memory(std::uint64_t memory) {
  const bool lowers = memory < memory_limit_;
  // Even if not all of it can be written: then widen() has something to do.
  memory_limit_ = memory;
  if (version_ == 2) return write_number(memory_limit_file_, memory, true);
  // Memory with swap can't be less than memory without.
  if (!lowers && !write_number(memory_swap_file_, memory, false)) return false;
  if (!write_number(memory_limit_file_, memory, true)) return false;
  if (lowers && !write_number(memory_swap_file_, memory, false)) return false;
  return write_number(memory_sockets_file_, memory, false);
}

bool SlotCgroup::set_processes(std::uint64_t processes) {
  pids_limit_ = processes;
  return write_number(pids_limit_file_, processes, true);
}

bool SlotCgroup::narrow(std::optional<std::uint64_t> memory,
                        std::optional<std::uint64_t> processes) {
  return (!memory || set_memory(*memory)) && (!processes || set_processes(*processes));
}

bool SlotCgroup::widen() {
  return (memory_limit_ == full_memory_ || set_memory(full_memory_)) &&
         (pids_limit_ == full_pids_ || set_processes(full_pids_));
}

void SlotCgroup::begin(std::uint64_t tasks) {
  if (memory_usage_) {
    if (peak_resets_) (void)!pwrite(memory_peak_.get(), "0", 1, 0);
    memory_base_ = number_of(memory_usage_);
    oom_base_ = field_of(memory_events_, "oom_kill");
  }
  forks_base_ = field_of(pids_events_, "max");
  pids_floor_ = std::max(number_of(pids_peak_), tasks);
  cpu_base_ = 0;
  cpu_base_ = cpu_micros().value_or(0);
}

CgroupUsage SlotCgroup::end() {
  CgroupUsage usage;
  if (memory_usage_) {
    std::uint64_t peak = memory_limit_;
    if (memory_peak_) {
      peak = number_of(memory_peak_);
      usage.memory_peak = peak > memory_base_ ? peak - memory_base_ : 0;
    }
    // The killer comes only at the limit; below it there is nothing to read. The margin is larger
    // than the kernel's per-CPU batches.
    if (peak + kBatch >= memory_limit_)
      usage.oom_kills = field_of(memory_events_, "oom_kill") - oom_base_;
  }
  if (pids_peak_) {
    usage.processes_peak = number_of(pids_peak_);
    if (*usage.processes_peak >= pids_limit_)
      usage.fork_failures = field_of(pids_events_, "max") - forks_base_;
    stale_ = *usage.processes_peak > pids_floor_ || (memory_peak_ && !peak_resets_);
  } else {
    usage.fork_failures = field_of(pids_events_, "max") - forks_base_;
    stale_ = memory_peak_ && !peak_resets_;
  }
  return usage;
}

void SlotCgroup::shrink() {
  if (!memory_reclaim_ || number_of(memory_usage_) < kLittle) return;
  const std::string amount = version_ == 2 ? std::to_string(number_of(memory_usage_)) : "0";
  (void)!pwrite(memory_reclaim_.get(), amount.data(), amount.size(), 0);
}

}  // namespace brig
