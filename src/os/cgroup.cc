#include "os/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
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

// Whether a list such as "memory,cpu" has the item.
bool has_item(const std::string& list, const std::string& item) {
  return contains(list, ',', item);
}

struct Mounted {
  std::string own;      // The content of /proc/self/cgroup.
  std::string unified;  // The mount point of cgroup2, if there is one.
  std::vector<std::pair<std::string, std::string>> v1;  // (options, mount point)
};

Mounted find_mounts() {
  Mounted found;
  found.own = read_text("/proc/self/cgroup");
  const std::string table = read_text("/proc/self/mountinfo");
  for (const std::string_view line : split(table, '\n')) {
    // Fields: id parent dev root mountpoint options [optional fields] - type source super-options.
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto left = split(line.substr(0, dash), ' '), right = split(line.substr(dash + 3), ' ');
    if (left.size() < 5 || right.size() < 3 || left[3] != "/")
      continue;  // Only part of a hierarchy: paths of /proc/self/cgroup do not fit it.
    if (right[0] == "cgroup2" && found.unified.empty()) found.unified = left[4];
    if (right[0] == "cgroup") found.v1.emplace_back(right[2], left[4]);
  }
  return found;
}

// This process's path in /proc/self/cgroup, in the hierarchy with `controller` ("" for version 2).
// Nothing if it has none.
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
  // Field 22, starttime.
  return fields.size() > 19 ? std::string(fields[19]) : "";
}

// True only if that is certain: a base taken for stale would be removed before its owner has put
// anything in it.
bool has_ended(const std::string& pid, const std::string& started) {
  if (kill(static_cast<pid_t>(std::strtol(pid.c_str(), nullptr, 10)), 0) != 0 && errno == ESRCH)
    return true;
  const std::string now = start_time(pid);
  return !now.empty() && !started.empty() && now != started;
}

// "brig-<pid namespace>-<pid>-<start time>-": the name says who owns a directory, and whether the
// owner still lives.
std::string owner_prefix() {
  struct stat info {};
  stat("/proc/self/ns/pid", &info);
  return fmt::format("brig-{}-", info.st_ino);
}

// Removes a base and its slots. False while anything lives in it.
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
    if (!has_ended(rest.substr(0, dash), rest.substr(dash + 1, second - dash - 1))) continue;
    // The kernel refuses this if anything lives in it.
    remove_base(parent + "/" + name);
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
  unified_memory = other.unified_memory;
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

// Records what went wrong. Of several failures it keeps the first, which is nearest to this
// process: its user can do something about that one.
static void blame(CgroupLayout& layout, const std::string& path) {
  const int error = errno;
  if (!layout.why_not.empty()) return;
  layout.why_not = fmt::format("{}: {}", path, errno_text(error));
  if (error == EBUSY)
    layout.why_not +=
        ", since it holds processes itself: start brig in a cgroup below it (mkdir one, write the "
        "shell's pid to its cgroup.procs)";
}

// Makes the base in the directory `at`, if its children can have the controllers. A cgroup that
// holds processes can't give them any.
static bool make_v2_at(const CgroupLimits& limits, const std::string& at, const std::string& name,
                       CgroupLayout& layout, std::vector<std::string>& owned) {
  // The user's systemd may have got only some controllers. A missing cpu controller must not cost
  // the memory controller.
  const bool cpu = limits.cpus && has_word(read_text(at + "/cgroup.controllers"), "cpu");
  const std::string wanted = cpu ? "+memory +pids +cpu" : "+memory +pids";
  const std::string enabled = read_text(at + "/cgroup.subtree_control");
  if ((!has_word(enabled, "memory") || !has_word(enabled, "pids") ||
       (cpu && !has_word(enabled, "cpu"))) &&
      !write_text(at + "/cgroup.subtree_control", wanted)) {
    blame(layout, at + "/cgroup.subtree_control");
    return false;
  }
  if (!limits.single) remove_stale(at);
  const std::string base = at + "/" + name;
  if (mkdir(base.c_str(), 0755) != 0) {
    blame(layout, "mkdir " + base);
    return false;
  }
  if (!limits.single && !write_text(base + "/cgroup.subtree_control", wanted)) {
    blame(layout, base + "/cgroup.subtree_control");
    rmdir(base.c_str());
    return false;
  }
  owned.push_back(base);
  CgroupHierarchy tree;
  tree.base = base;
  tree.entrance = "cgroup.procs";
  tree.settings = {{"memory.max", std::to_string(limits.memory), false},
                   {"memory.swap.max", "0", true},
                   {"pids.max", std::to_string(limits.processes), false}};
  if (cpu) tree.settings.push_back({"cpu.max", cpu_quota(*limits.cpus) + " 100000", false});
  tree.has_memory = tree.has_pids = tree.has_cpuacct = true;
  layout.hierarchies.push_back(std::move(tree));
  layout.version = 2;
  layout.memory = layout.pids = layout.cpuacct = true;
  layout.cpu = cpu;
  layout.why_not = limits.cpus && !cpu ? "no cpu controller in " + at : "";
  return true;
}

// Makes the base in the nearest possible place, at this process's own cgroup or above it.
static bool make_v2(const CgroupLimits& limits, const Mounted& mounts, const std::string& name,
                    CgroupLayout& layout, std::vector<std::string>& owned) {
  const std::optional<std::string> own = own_path(mounts.own, "");
  if (!layout.unified_memory || !own) return false;
  for (std::string at = mounts.unified + *own; at.size() >= mounts.unified.size();
       at.erase(at.rfind('/')))
    if (make_v2_at(limits, at, name, layout, owned)) return true;
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
  wanted.push_back(
      {"memory",
       &layout.memory,
       {{"memory.limit_in_bytes", std::to_string(limits.memory), false},
        {"memory.memsw.limit_in_bytes", std::to_string(limits.memory), true},
        // Version 1 charges buffers of sockets, also of UDP, apart, and only on request.
        {"memory.kmem.tcp.limit_in_bytes", std::to_string(limits.memory), true}}});
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
      // cpu and cpuacct are often one hierarchy.
      if (same == layout.hierarchies.end()) {
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

// For a single call, whose cgroup is the base itself.
static void write_settings(const CgroupLayout& layout) {
  if (!layout.limits.single) return;
  for (const CgroupHierarchy& tree : layout.hierarchies)
    for (const CgroupHierarchy::Setting& setting : tree.settings)
      if (!write_text(tree.base + "/" + setting.file, setting.value) && !setting.optional)
        throw_sys("cgroup: writing '{}' to {}/{}", setting.value, tree.base, setting.file);
}

static bool has_unified_memory(const Mounted& mounts) {
  return !mounts.unified.empty() &&
         has_word(read_text(mounts.unified + "/cgroup.controllers"), "memory");
}

CgroupLayout make_cgroups(const CgroupLimits& limits) {
  CgroupLayout layout;
  layout.limits = limits;
  const Mounted mounts = find_mounts();
  layout.unified_memory = has_unified_memory(mounts);
  const std::string name = unique_name();
  if (!make_v2(limits, mounts, name, layout, layout.owned_))
    make_v1(limits, mounts, name, layout, layout.owned_);
  if (layout.version == 0 && layout.why_not.empty())
    layout.why_not = "no cgroup file system with the memory controller is mounted";
  write_settings(layout);
  return layout;
}

CgroupLayout make_delegated_cgroups(const CgroupLimits& limits, const std::string& path,
                                    pid_t tenant) {
  CgroupLayout layout;
  layout.limits = limits;
  const Mounted mounts = find_mounts();
  layout.unified_memory = has_unified_memory(mounts);
  const std::string at = mounts.unified + path, home = at + "/janitor";
  if ((mkdir(home.c_str(), 0755) != 0 && errno != EEXIST) ||
      !write_text(home + "/cgroup.procs", std::to_string(tenant)))
    blame(layout, home);
  else
    make_v2_at(limits, at, unique_name(), layout, layout.owned_);
  write_settings(layout);
  return layout;
}

}  // namespace brig
