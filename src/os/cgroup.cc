#include "os/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace brig {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find(separator), text.size());
    if (at) parts.push_back(text.substr(0, at));
    text.remove_prefix(std::min(at + 1, text.size()));
  }
  return parts;
}

bool contains(std::string_view text, char separator, std::string_view word) {
  const auto parts = split(text, separator);
  return std::find(parts.begin(), parts.end(), word) != parts.end();
}

bool write_text(const std::string& path, const std::string& value) {
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file &&
         write(file.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
}

bool has_word(std::string list, const std::string& word) {
  if (!list.empty() && list.back() == '\n') list.pop_back();
  return contains(list, ' ', word);
}

// "memory,cpu" -> has "memory"
bool has_item(const std::string& list, const std::string& item) {
  return contains(list, ',', item);
}

struct Mounted {
  std::string own;                                      // /proc/self/cgroup
  std::string unified;                                  // mount point of cgroup2, if any
  std::vector<std::pair<std::string, std::string>> v1;  // (options, mount point)
};

Mounted find_mounts() {
  Mounted found;
  found.own = read_text("/proc/self/cgroup");
  const std::string table = read_text("/proc/self/mountinfo");
  for (const std::string_view line : split(table, '\n')) {
    // id parent dev root mountpoint options [optional fields] - type source super-options
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto left = split(line.substr(0, dash), ' '), right = split(line.substr(dash + 3), ' ');
    if (left.size() < 5 || right.size() < 3 || left[3] != "/")
      continue;  // part of a hierarchy: paths of /proc/self/cgroup don't fit it
    if (right[0] == "cgroup2" && found.unified.empty()) found.unified = left[4];
    if (right[0] == "cgroup") found.v1.emplace_back(right[2], left[4]);
  }
  return found;
}

// From /proc/self/cgroup: this process' cgroup in the hierarchy with `controller` ("" for version 2), or nothing.
std::optional<std::string> own_path(const std::string& table, const std::string& controller) {
  for (const std::string_view line : split(table, '\n')) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string controllers(line.substr(first + 1, second - first - 1));
    if (controller.empty() ? controllers.empty() : has_item(controllers, controller)) {
      const std::string path(line.substr(second + 1));
      return path == "/" ? "" : path;
    }
  }
  return std::nullopt;
}

std::string start_time(const std::string& pid) {
  const std::string text = read_text("/proc/" + pid + "/stat");
  const std::size_t paren = text.rfind(')');
  if (paren == std::string::npos) return "";
  const auto fields = split(std::string_view(text).substr(paren + 1), ' ');
  return fields.size() > 19 ? std::string(fields[19]) : "";  // field 22, starttime
}

// "brig-<pid namespace>-<pid>-<start time>-": who owns a directory, and whether it still lives.
std::string owner_prefix() {
  struct stat info {};
  stat("/proc/self/ns/pid", &info);
  return fmt::format("brig-{}-", info.st_ino);
}

// Removes a base and its slots; false while anything lives in it.
bool remove_base(const std::string& path) {
  if (DIR* slots = opendir(path.c_str())) {
    while (const dirent* entry = readdir(slots))
      if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
        unlinkat(dirfd(slots), entry->d_name, AT_REMOVEDIR);
    closedir(slots);
  }
  return rmdir(path.c_str()) == 0 || errno == ENOENT;
}

void remove_stale(const std::string& parent) {
  const std::string prefix = owner_prefix();
  DIR* stream = opendir(parent.c_str());
  if (!stream) return;
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream))
    if (entry->d_type == DT_DIR && !strncmp(entry->d_name, prefix.c_str(), prefix.size()))
      names.push_back(entry->d_name);
  closedir(stream);
  for (const std::string& name : names) {
    const std::string rest = name.substr(prefix.size());
    const std::size_t dash = rest.find('-'), second = rest.find('-', dash + 1);
    if (second == std::string::npos) continue;
    if (start_time(rest.substr(0, dash)) == rest.substr(dash + 1, second - dash - 1)) continue;
    remove_base(parent + "/" + name);  // refuses, and rightly, if anything lives in it
  }
}

std::string unique_name() {
  static std::atomic<unsigned> counter{0};
  const std::string pid = std::to_string(getpid());
  return fmt::format("{}{}-{}-{}", owner_prefix(), pid, start_time(pid), counter++);
}

std::string cpu_quota(double cpus) { return std::to_string(static_cast<long>(cpus * 100000)); }

}  // namespace

CgroupLayout::~CgroupLayout() { remove_owned(); }

CgroupLayout& CgroupLayout::operator=(CgroupLayout&& other) noexcept {
  if (this == &other) return *this;
  remove_owned();
  limits = other.limits;
  version = other.version;
  memory = other.memory;
  pids = other.pids;
  cpu = other.cpu;
  cpuacct = other.cpuacct;
  hierarchies = std::move(other.hierarchies);
  why_not = std::move(other.why_not);
  owned_ = std::exchange(other.owned_, {});
  return *this;
}

void CgroupLayout::sweep() const {
  for (const CgroupHierarchy& tree : hierarchies)
    for (int attempt = 0; attempt < 100 && !remove_base(tree.base); ++attempt) usleep(10'000);
}

void CgroupLayout::remove_owned() {
  for (const std::string& path : owned_) rmdir(path.c_str());
  owned_.clear();
}

static bool make_v2(const CgroupLimits& limits, const Mounted& mounts, const std::string& name,
                    CgroupLayout& layout, std::vector<std::string>& owned) {
  const std::optional<std::string> own = own_path(mounts.own, "");
  if (mounts.unified.empty() || !own) return false;
  if (!has_word(read_text(mounts.unified + "/cgroup.controllers"), "memory")) return false;
  // What stands in the way nearest to this process is what its user can do something about.
  const auto blame = [&](const std::string& path) {
    const int error = errno;
    if (!layout.why_not.empty()) return;
    layout.why_not = fmt::format("{}: {}", path, errno_text(error));
    if (error == EBUSY)
      layout.why_not +=
          ", since it holds processes itself: start brig in a cgroup below it (mkdir one, write "
          "the "
          "shell's pid to its cgroup.procs)";
  };
  const std::string wanted = limits.cpus ? "+memory +pids +cpu" : "+memory +pids";
  // The nearest place at or above this process' own cgroup whose children can have the controllers:
  // a cgroup with processes of its own can't give any to its children.
  for (std::string at = mounts.unified + *own; at.size() >= mounts.unified.size();
       at.erase(at.rfind('/'))) {
    std::string enabled = read_text(at + "/cgroup.subtree_control");
    if (!has_word(enabled, "memory") || !has_word(enabled, "pids") ||
        (limits.cpus && !has_word(enabled, "cpu"))) {
      if (!write_text(at + "/cgroup.subtree_control", wanted)) {
        blame(at + "/cgroup.subtree_control");
        continue;
      }
    }
    if (!limits.single) remove_stale(at);
    const std::string base = at + "/" + name;
    if (mkdir(base.c_str(), 0755) != 0) {
      blame("mkdir " + base);
      continue;
    }
    if (!limits.single && !write_text(base + "/cgroup.subtree_control", wanted)) {
      blame(base + "/cgroup.subtree_control");
      rmdir(base.c_str());
      continue;
    }
    owned.push_back(base);
    CgroupHierarchy tree;
    tree.base = base;
    tree.entrance = "cgroup.procs";
    tree.settings = {{"memory.max", std::to_string(limits.memory), false},
                     {"memory.swap.max", "0", true},
                     {"pids.max", std::to_string(limits.processes), false}};
    if (limits.cpus)
      tree.settings.push_back({"cpu.max", cpu_quota(*limits.cpus) + " 100000", false});
    tree.has_memory = tree.has_pids = tree.has_cpuacct = true;
    layout.hierarchies.push_back(std::move(tree));
    layout.version = 2;
    layout.memory = layout.pids = layout.cpuacct = true;
    layout.cpu = limits.cpus.has_value();
    layout.why_not.clear();
    return true;
  }
  return false;
}

static void make_v1(const CgroupLimits& limits, const Mounted& mounts, const std::string& name,
                    CgroupLayout& layout, std::vector<std::string>& owned) {
  struct Wanted {
    const char* controller;
    bool* present;
    std::vector<CgroupHierarchy::Setting> settings;
  };
  std::vector<Wanted> wanted;
  wanted.push_back({"memory",
                    &layout.memory,
                    {{"memory.limit_in_bytes", std::to_string(limits.memory), false},
                     {"memory.memsw.limit_in_bytes", std::to_string(limits.memory), true}}});
  wanted.push_back({"pids", &layout.pids, {{"pids.max", std::to_string(limits.processes), false}}});
  if (limits.cpus)
    wanted.push_back({"cpu",
                      &layout.cpu,
                      {{"cpu.cfs_period_us", "100000", false},
                       {"cpu.cfs_quota_us", cpu_quota(*limits.cpus), false}}});
  if (limits.count_cpu) wanted.push_back({"cpuacct", &layout.cpuacct, {}});
  for (Wanted& each : wanted) {
    for (const auto& [options, point] : mounts.v1) {
      if (!has_item(options, each.controller)) continue;
      const std::optional<std::string> own = own_path(mounts.own, each.controller);
      if (!own) continue;
      const std::string base = point + *own + "/" + name;
      auto same = std::find_if(layout.hierarchies.begin(), layout.hierarchies.end(),
                               [&](const auto& tree) { return tree.base == base; });
      if (same == layout.hierarchies.end()) {  // cpu and cpuacct are often one hierarchy
        if (!limits.single) remove_stale(point + *own);
        if (mkdir(base.c_str(), 0755) != 0) {
          layout.why_not = fmt::format("mkdir {}: {}", base, errno_text(errno));
          continue;
        }
        owned.push_back(base);
        layout.hierarchies.push_back({});
        same = layout.hierarchies.end() - 1;
        same->base = base;
        same->entrance = "tasks";
      }
      same->settings.insert(same->settings.end(), each.settings.begin(), each.settings.end());
      same->has_memory |= each.present == &layout.memory;
      same->has_pids |= each.present == &layout.pids;
      same->has_cpuacct |= each.present == &layout.cpuacct;
      *each.present = true;
      layout.version = 1;
      break;
    }
    if (!*each.present && layout.why_not.empty())
      layout.why_not = fmt::format("no {} controller is mounted", each.controller);
  }
}

CgroupLayout make_cgroups(const CgroupLimits& limits) {
  CgroupLayout layout;
  layout.limits = limits;
  const Mounted mounts = find_mounts();
  const std::string name = unique_name();
  if (!make_v2(limits, mounts, name, layout, layout.owned_))
    make_v1(limits, mounts, name, layout, layout.owned_);
  if (layout.version == 0 && layout.why_not.empty())
    layout.why_not = "no cgroup file system with the memory controller is mounted";
  if (limits.single)
    for (const CgroupHierarchy& tree : layout.hierarchies)
      for (const CgroupHierarchy::Setting& setting : tree.settings)
        if (!write_text(tree.base + "/" + setting.file, setting.value) && !setting.optional)
          throw_sys("cgroup: writing '{}' to {}/{}", setting.value, tree.base, setting.file);
  return layout;
}

namespace {

// cgroup files are small; one read gives all of one.
std::string read_all(const UniqueFd& file) {
  char buffer[4096];
  if (!file) return "";
  const ssize_t size = pread(file.get(), buffer, sizeof buffer, 0);
  return size > 0 ? std::string(buffer, static_cast<std::size_t>(size)) : "";
}

std::uint64_t number_of(const UniqueFd& file) {
  return strtoull(read_all(file).c_str(), nullptr, 10);
}

// The number after `key` in "key value" lines.
std::uint64_t field_of(const UniqueFd& file, const char* key) {
  const std::string text = "\n" + read_all(file);
  const std::size_t at = text.find(std::string("\n") + key + " ");
  return at == std::string::npos ? 0 : strtoull(text.c_str() + at + strlen(key) + 2, nullptr, 10);
}

constexpr std::uint64_t kLittle = 8 << 20;
constexpr std::uint64_t kBatch = 4 << 20;

}  // namespace

SlotCgroup::SlotCgroup(const CgroupLayout& layout, unsigned slot, unsigned generation)
    : version_(layout.version),
      memory_limit_(layout.limits.memory),
      pids_limit_(layout.limits.processes) {
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
      memory_usage_ = must(at + (v2 ? "memory.current" : "memory.usage_in_bytes"), O_RDONLY);
      memory_events_ = must(at + (v2 ? "memory.events" : "memory.oom_control"), O_RDONLY);
      // Version 2 can reset its peak since Linux 6.12; it has one since 5.19.
      memory_peak_ = may(at + (v2 ? "memory.peak" : "memory.max_usage_in_bytes"), O_RDWR);
      // Root can open any file for writing: only a write tells.
      peak_resets_ = memory_peak_ && pwrite(memory_peak_.get(), "0", 1, 0) == 1;
      if (!memory_peak_) memory_peak_ = may(at + "memory.peak", O_RDONLY);
      memory_reclaim_ = may(at + (v2 ? "memory.reclaim" : "memory.force_empty"), O_WRONLY);
    }
    if (tree.has_pids) {
      pids_peak_ = may(at + "pids.peak", O_RDONLY);
      pids_events_ = may(at + "pids.events", O_RDONLY);
    }
    if (tree.has_cpuacct)
      cpu_ = must(at + (version_ == 2 ? "cpu.stat" : "cpuacct.usage"), O_RDONLY);
  }
}

bool SlotCgroup::remove() {
  std::erase_if(directories_, [](const std::string& path) {
    return rmdir(path.c_str()) == 0 || errno == ENOENT;
  });
  return directories_.empty();
}

void SlotCgroup::remove_generation() { rmdir(generation_directory_.c_str()); }

std::optional<std::uint64_t> SlotCgroup::cpu_micros() const {
  if (!cpu_) return std::nullopt;
  const std::uint64_t now = version_ == 2 ? field_of(cpu_, "usage_usec") : number_of(cpu_) / 1000;
  return now - cpu_base_;
}

void SlotCgroup::begin() {
  if (memory_usage_) {
    if (peak_resets_) (void)!pwrite(memory_peak_.get(), "0", 1, 0);
    memory_base_ = number_of(memory_usage_);
    oom_base_ = field_of(memory_events_, "oom_kill");
  }
  forks_base_ = field_of(pids_events_, "max");
  pids_floor_ = number_of(pids_peak_);
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
    // The killer comes only at the limit: below it there is nothing to read. The margin is more than
    // the kernel's per-CPU batches.
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
