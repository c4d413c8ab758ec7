// The jail floor: a root file system of the cell's own, and namespaces.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cell/planner.h"
#include "policy/listed_path.h"
#include "policy/paths.h"

namespace brig {
namespace {

// What /proc shows of the machine beyond the cell. Only root may read most of it, and no cell is
// root outside; masking does not depend on that. All of /proc is read-only.
constexpr const char* kProcMasks[] = {"/proc/kcore",      "/proc/kmsg",       "/proc/keys",
                                      "/proc/key-users",  "/proc/timer_list", "/proc/sysrq-trigger",
                                      "/proc/kallsyms",   "/proc/interrupts", "/proc/cmdline",
                                      "/proc/sched_debug"};

// How many bytes imports may write until their zygote has loaded its tools: caches, unpacked data.
// No cgroup bounds a zygote, so this limit must.
constexpr std::uint64_t kLoadScratch = 64 << 20;

constexpr std::uint64_t kRootSize = 8 << 20;

// Returns the tool's HOME: the host's path where possible, so that paths in it stay the same.
std::string home_of(const std::map<std::string, std::string>& environment) {
  const auto home = environment.find("HOME");
  if (home == environment.end()) return "/home/brig";
  std::string path = normal_path(home->second);
  for (const char* taken : {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/sys",
                            "/dev", "/tmp", "/var/tmp", kWorkspace})
    if (is_at_or_below(path, taken)) return "/home/brig";
  if (path.size() < 2 || path[0] != '/' || path.size() > 1000 ||
      path.find("/..") != std::string::npos || path.find("/./") != std::string::npos ||
      path.find(':') != std::string::npos || path.find('\n') != std::string::npos)
    return "/home/brig";
  return path;
}

}  // namespace

PlanList<PlanText> Planner::pairs(const std::vector<std::pair<std::string, std::string>>& list) {
  std::vector<PlanText> texts;
  for (const auto& [first, second] : list) {
    texts.push_back(writer_.text(first));
    texts.push_back(writer_.text(second));
  }
  return writer_.list(texts);
}

void Planner::jail() {
  const std::string home = home_of(built_.environment);
  jail_environment(home);
  const std::vector<std::string> held = held_files();
  const RootLayout layout = root_layout(policy_, home, plan_.as_root != 0, !payload_.empty(), held);
  if (layout.id_maps.size() > kMaxIdMaps)
    throw_error(ErrorKind::config,
                "policy: files.write: the paths have {} different owners, more than {}; list "
                "paths of fewer owners",
                layout.id_maps.size(), kMaxIdMaps);
  // A writable path shows its owner as one id, so all slots have that id (decision 025).
  if (layout.id_maps.empty() && !plan_.single) plan_.slot_ids = spare_ids_;
  root_steps(layout);
  scratch_space(layout);
  guards(layout);
  std::vector<PlanText> masks;
  for (const char* path : kProcMasks) masks.push_back(writer_.text(path));
  plan_.proc_masks = writer_.list(masks);
  plan_.hostname = writer_.text("brig");
  namespaces();
  enforce("capabilities");
}

void Planner::jail_environment(const std::string& home) {
  auto& environment = built_.environment;
  const auto named = [&](const char* name) {
    return policy_.environment.set.contains(name) ||
           std::count(policy_.environment.passthrough.begin(),
                      policy_.environment.passthrough.end(), name);
  };
  if (!policy_.environment.set.contains("HOME")) environment["HOME"] = home;
  if (!named("TMPDIR")) environment["TMPDIR"] = "/tmp";
  if (!named("USER")) environment["USER"] = plan_.user == 0 ? "root" : "brig";
}

// Writes the held files into the plan. Returns their paths.
std::vector<std::string> Planner::held_files() {
  std::vector<std::string> paths;
  std::vector<PlanList<char>> held;
  std::size_t held_size = 0;
  for (const auto& file : payload_.held) {
    paths.push_back(normal_path(file->path));
    held.push_back(writer_.list(std::span<const char>(file->bytes)));
    held_size += file->bytes.size() + 4096;
  }
  plan_.held = writer_.list(held);
  plan_.root_size = writer_.text(std::to_string(kRootSize + held_size));
  return paths;
}

void Planner::root_steps(const RootLayout& layout) {
  std::vector<RootStep> steps;
  for (const LayoutStep& step : layout.steps)
    steps.push_back({step.op, step.flags, writer_.text(step.source), writer_.text(step.target),
                     step.id_map, step.mode});
  plan_.root = writer_.list(steps);
  for (const LayoutStep& step : layout.steps)
    if (step.op != RootOp::directory && step.op != RootOp::cover && step.op != RootOp::onto_itself)
      built_.view.system.push_back(step.target);
  for (const auto& part : layout.scratch) built_.view.scratch.push_back(part.second);
  plan_.id_maps = writer_.list(layout.id_maps);
}

void Planner::scratch_space(const RootLayout& layout) {
  const Limits& limits = policy_.limits;
  plan_.scratch_options =
      writer_.text(fmt::format("size={},nr_inodes={},mode=0755", limits.scratch,
                               std::max<std::uint64_t>(1024, limits.scratch / 4096)));
  if (!payload_.empty())
    plan_.load_scratch = writer_.text(
        fmt::format("size={},nr_inodes={},mode=0755", kLoadScratch, kLoadScratch / 4096));
  plan_.workspace = writer_.text(kWorkspace);
  plan_.scratch_parts = pairs(layout.scratch);
  for (const auto& part : layout.scratch) writable_.push_back(part.second);
  plan_.late_binds = pairs(layout.late);
  plan_.aside = writer_.text(kAside);
}

void Planner::guards(const RootLayout& layout) {
  std::vector<PlanText> places;
  for (const auto* list : {&layout.kept, &layout.needed, &layout.guards})
    for (const std::string& place : *list) places.push_back(writer_.text(place));
  plan_.guards = writer_.list(places);
  plan_.kept = static_cast<std::uint32_t>(layout.kept.size() + layout.needed.size());
  built_.view.kept = layout.kept;
  built_.missing = layout.missing;
  // The report says which names can't be protected because they do not exist.
  if (!policy_.files.protect.empty())
    enforce(std::count(policy_.files.protect.begin(), policy_.files.protect.end(), kProtectDefault)
                ? "protect:existing"
                : "protect");
}

void Planner::namespaces() {
  switch (policy_.network.mode) {
    case Network::none: plan_.network_namespace = 1; break;
    case Network::proxy: {
      // Never one that an earlier cell of the slot had: a connection that waits to be accepted
      // would be served under this cell's name.
      plan_.network_namespace = 2;
      plan_.loopback_up = 1;
      const auto& ports = built_.egress->ports;
      plan_.way_out_ports = writer_.list(std::vector<std::uint32_t>(ports.begin(), ports.end()));
      enforce("network_proxy");
      break;
    }
    case Network::loopback:
      plan_.network_namespace = 2;
      plan_.loopback_up = 1;
      break;
    case Network::host: break;
  }
  for (const char* layer : {"user_namespace", "mount_namespace", "pid_namespace", "ipc_namespace",
                            "uts_namespace", "cgroup_namespace"})
    enforce(layer);
  if (policy_.network != Network::host) enforce("network_namespace");
}

}  // namespace brig
