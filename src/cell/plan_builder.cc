#include "cell/plan_builder.h"

#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "cell/planner.h"
#include "os/rights.h"
#include "os/surroundings.h"
#include "policy/environment.h"
#include "policy/listed_path.h"
#include "policy/paths.h"
#include "policy/seccomp.h"

namespace brig {
namespace {

// The ids that tools have outside when brig is started as root. No account has them, and every
// zygote and every slot has others, so that no cell can signal another cell's processes or use up
// what the kernel counts for its user. The small ids are for hosts that themselves have only 65536
// ids, where no wider range is free. If those are not mapped either, all cells have kSpareId.
constexpr std::uint32_t kFirstHostId = 0x62000000, kHostIds = 0x1000000, kSlotIds = 1023;
constexpr std::uint32_t kFirstSmallId = 60578, kSmallSlotIds = 511;

// Without a memory cgroup, address space is limited to this many times the memory, and never to
// less than Node and Java reserve.
constexpr std::uint64_t kAddressSpace = 128, kLeastAddressSpace = 16_GiB, kMost = 1ull << 60;

}  // namespace

BuiltPlan Planner::build() {
  plan_.floor = static_cast<Floor>(policy_.isolation);
  // Unset variables are removed at the end: where HOME is does not depend on whether the tool sees
  // the variable.
  built_.environment =
      cell_environment({policy_.environment.passthrough, policy_.environment.set, {}}, environ);
  if (policy_.network.mode == Network::proxy) {
    built_.egress = std::make_shared<const egress::Settings>(policy_);
    // What the policy sets wins.
    built_.environment.merge(egress::proxy_variables(*built_.egress));
  }
  built_.enforced = {"process", "environment"};
  built_.counts_memory = !cgroups_.memory;
  built_.counts_processes = cgroups_.pids;
  ids();
  if (is_jail())
    jail();
  else
    directories();
  for (const std::string& name : policy_.environment.unset) built_.environment.erase(name);
  landlock();
  plan_.keeps_room = may_keep_room();
  seccomp();
  rlimits();
  cgroups();
  if (plan_.floor == Floor::jail || !policy_.files.working_directory.empty())
    plan_.working_directory = writer_.text(policy_.files.working_directory.empty()
                                               ? kWorkspace
                                               : normal_path(policy_.files.working_directory));
  view();
  if (!payload_.library.empty()) plan_.library = writer_.text(payload_.library);
  if (!payload_.runtime.empty()) runtime();
  built_.block = writer_.take(plan_);
  return std::move(built_);
}

void Planner::undo() const {
  if (!built_.scratch_directory.empty()) rmdir(built_.scratch_directory.c_str());
}

void Planner::ids() {
  require_proc();
  plan_.as_root = has_root_rights();
  plan_.host_uid = geteuid();
  plan_.host_gid = getegid();
  plan_.user = policy_.user.value_or(kCellId);
  if (!plan_.as_root) return;
  std::uint32_t id = 0;
  if (getrandom(&id, sizeof id, 0) != sizeof id) throw_sys("user: getrandom");
  id = kFirstHostId + id % (kHostIds - kSlotIds);
  spare_ids_ = kSlotIds;
  if (!ids_are_mapped(id, 1 + spare_ids_)) id = kFirstSmallId, spare_ids_ = kSmallSlotIds;
  if (!ids_are_mapped(id, 1 + spare_ids_)) id = kSpareId, spare_ids_ = 0;
  plan_.host_uid = plan_.host_gid = id;
  enforce("unprivileged_user");
}

// Whether a cell's room can be told to be as it was when new. Where a descriptor could leave a cell
// unseen, or state of a call could be where nobody looks, each cell has a room of its own.
bool Planner::may_keep_room() const {
  return policy_.room == Room::as_new && is_jail() && !plan_.single && !plan_.shows_workspace &&
         policy_.network == Network::none && policy_.files.write.empty() &&
         policy_.files.write_optional.empty() && policy_.syscalls.allow.empty() &&
         policy_.syscalls.deny.empty();
}

void Planner::seccomp() {
  if (policy_.isolation == Isolation::process) return;
  FilterRules rules{.inet = policy_.network != Network::none,
                    .shares_host = policy_.isolation != Isolation::jail,
                    .keeps_room = plan_.keeps_room != 0,
                    .counts_memory = !cgroups_.memory,
                    .allow = policy_.syscalls.allow,
                    .deny = policy_.syscalls.deny};
  for (const std::string& name : rules.allow)
    if (!may_allow(name))
      throw_error(ErrorKind::config, "policy: syscalls.allow: '{}' {}", name,
                  is_syscall(name)
                      ? "is allowed already, or would undo the jail; it can't be listed"
                      : "is not a system call");
  for (const std::string& name : rules.deny)
    if (!is_syscall(name) || !may_deny(name))
      throw_error(ErrorKind::config, "policy: syscalls.deny: '{}' {}", name,
                  is_syscall(name) ? "can't be denied: a cell needs it to start (to forbid new "
                                     "processes, use limits.processes = 1)"
                                   : "is not a system call");
  plan_.watches_files =
      std::any_of(rules.allow.begin(), rules.allow.end(),
                  [](const std::string& name) { return name.starts_with("inotify_init"); });
  if (rules.allow.empty() && rules.deny.empty() && !rules.shares_host) {
    plan_.filter = writer_.list(default_filter());
    plan_.lock_filter =
        writer_.list(default_lock_filter(rules.inet, rules.counts_memory, rules.keeps_room));
  } else {
    plan_.filter = writer_.list(build_filter(rules));
    plan_.lock_filter = writer_.list(build_lock_filter(rules));
  }
  enforce("seccomp");
  built_.counted_calls = counted_calls(rules);
  // Without Landlock a tool can get uncounted shared memory from /dev/zero.
  if (rules.counts_memory && plan_.landlock_abi) enforce("shared_memory:counted");
}

void Planner::rlimits() {
  const Limits& limits = policy_.limits;
  std::vector<RlimitStep> steps;
  const auto limit = [&](int resource, std::uint64_t value) {
    steps.push_back({static_cast<std::uint64_t>(resource), value});
  };
  limit(RLIMIT_CORE, 1);  // with 0, the kernel would still start a program that core_pattern names
  limit(RLIMIT_NOFILE, limits.open_files);
  limit(RLIMIT_RTPRIO, 0);
  limit(RLIMIT_NICE, 0);
  limit(RLIMIT_MEMLOCK, 64 << 10);
  // The kernel counts these for the user outside the cell too, whose own limits are usually 60
  // times and 3 times these.
  limit(RLIMIT_SIGPENDING, 1024);
  limit(RLIMIT_MSGQUEUE, 256 << 10);
  if (limits.file_size) limit(RLIMIT_FSIZE, *limits.file_size);
  if (limits.cpu_time)
    limit(RLIMIT_CPU, static_cast<std::uint64_t>((limits.cpu_time->count() + 999) / 1000));
  // In its own user namespace the count is the cell's own, and init is one of the processes. Where
  // a pids cgroup counts too, this limit is set above the cgroup's, because only the cgroup reports
  // its refusals.
  if (policy_.isolation == Isolation::jail)
    limit(RLIMIT_NPROC, limits.processes + (cgroups_.pids ? 16 : 1));
  if (cgroups_.memory) {
    limit(RLIMIT_STACK, 8 << 20);
  } else {
    // This bounds private writable memory; the host counts shared memory
    // (FilterRules::counts_memory).
    limit(RLIMIT_DATA, limits.memory);
    // A thread's stack counts in full from the start: with 8 MiB each, 64 threads would reach the
    // default limit. An exec takes up to a quarter of the stack limit as arguments.
    limit(RLIMIT_STACK, 6 << 20);
    // Page tables count for neither limit. They take a 512th of memory that is only reserved or
    // read.
    limit(RLIMIT_AS,
          std::max(kLeastAddressSpace,
                   limits.memory > kMost / kAddressSpace ? kMost : limits.memory * kAddressSpace));
  }
  plan_.memory = limits.memory;
  plan_.rlimits = writer_.list(steps);
  enforce("rlimits");
}

void Planner::runtime() {
  std::vector<PlanText> words, variables;
  for (const std::string& word : payload_.runtime) words.push_back(writer_.text(word));
  auto environment = payload_.runtime_environment;
  for (const auto& [name, value] : built_.environment) environment[name] = value;
  for (const char* name : {"HOME", "TMPDIR"})
    if (!load_directory_.empty() && !policy_.environment.set.contains(name))
      environment[name] = load_directory_;
  for (const auto& [name, value] : environment)
    variables.push_back(writer_.text(name + "=" + value));
  plan_.runtime_program = writer_.text(payload_.runtime_program);
  plan_.runtime = writer_.list(words);
  plan_.runtime_environment = writer_.list(variables);
  plan_.runtime_image = writer_.list(std::span<const char>(payload_.runtime_image));
  plan_.runtime_files = writer_.list(std::span<const char>(payload_.runtime_files));
  plan_.runtime_spec = writer_.text(payload_.runtime_spec);
}

void Planner::cgroups() {
  std::vector<CgroupTree> trees;
  for (const CgroupHierarchy& tree : cgroups_.hierarchies) {
    std::vector<CgroupSetting> settings;
    for (const auto& setting : tree.settings)
      settings.push_back(
          {writer_.text(setting.file), writer_.text(setting.value), setting.optional});
    trees.push_back({writer_.text(tree.base), writer_.text(tree.entrance), tree.has_pids,
                     writer_.list(settings)});
  }
  plan_.cgroups = writer_.list(trees);
  const int version = cgroups_.version;
  if (policy_.limits.cpus && !cgroups_.cpu)
    throw_error(ErrorKind::unsupported,
                "limits.cpus: needs a cgroup with the cpu controller ({}); run as root or in a "
                "delegated cgroup, or leave the limit out",
                cgroups_.why_not);
  enforce(cgroups_.memory ? fmt::format("memory:cgroup_v{}", version) : "memory:per_process");
  if (cgroups_.pids)
    enforce(fmt::format("processes:cgroup_v{}", version));
  else if (policy_.isolation == Isolation::jail && !plan_.as_root && is_the_machines_root())
    throw_error(
        ErrorKind::unsupported,
        "limits.processes: the kernel does not limit root's processes without a "
        "cgroup ({}), and here a cell would have root's id; start brig as another user: in a "
        "container, {}; or, elsewhere, give root CAP_SYS_ADMIN, CAP_SETUID and CAP_SETGID",
        cgroups_.why_not,
        container_options({.seccomp = try_user_namespace() == EPERM && under_filter(),
                           .apparmor = !apparmor_profile().empty(),
                           .proc = !covered_in_proc().empty(),
                           .user = true}));
  else if (policy_.isolation == Isolation::jail)
    enforce("processes:rlimit");
  if (policy_.limits.cpus) enforce(fmt::format("cpus:cgroup_v{}", version));
  if (policy_.limits.cpu_time)
    enforce(cgroups_.cpuacct ? fmt::format("cpu_time:cgroup_v{}", version)
                             : "cpu_time:per_process");
}

// The view is for the messages of reports: it says what a cell sees where, whether or not it
// exists.
void Planner::view() {
  CellView& view = built_.view;
  view.all = policy_.isolation == Isolation::process;
  const std::vector<ListedEntry> entries = listed_entries(policy_.files);
  for (const ListedEntry& each : entries) {
    (each.writable ? view.writable : view.readable).push_back(each.at);
    if (!each.executable) view.not_executable.push_back(each.at);
    if (each.is_moved()) view.moved.push_back({each.at, each.path});
    // A listed path is also a step of the layout.
    std::erase(view.system, each.at);
  }
  for (const std::string& each : policy_.files.hide) {
    const std::string path = normal_path(each);
    std::vector<std::string> places = places_of(entries, path);
    if (places.empty()) places.push_back(path);
    view.hidden.insert(view.hidden.end(), places.begin(), places.end());
  }
  if (!policy_.files.working_directory.empty())
    view.working_directory = normal_path(policy_.files.working_directory);
  else if (policy_.isolation == Isolation::jail)
    view.working_directory = kWorkspace;
}

BuiltPlan build_plan(const Policy& policy, const CgroupLayout& cgroups, bool single,
                     const Payload& payload, bool shows_workspace) {
  Planner planner(policy, cgroups, single, payload, shows_workspace);
  try {
    return planner.build();
  } catch (...) {
    planner.undo();
    throw;
  }
}

}  // namespace brig
