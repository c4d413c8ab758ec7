#include "cell/plan_builder.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "cell/root_layout.h"
#include "os/rights.h"
#include "os/surroundings.h"
#include "os/sys.h"
#include "policy/environment.h"
#include "policy/listed_path.h"
#include "policy/paths.h"
#include "policy/seccomp.h"
#include "wire/plan_writer.h"

namespace brig {
namespace {

// The tools' ids outside when brig is started as root: such as no account has, and others for every zygote
// and every slot, so that no cell can signal another's processes, or take what the kernel counts for a
// user, by having its id. Then those for hosts that themselves have 65536 ids only, where no range is
// wider that nobody uses. The last resort is kSpareId, for all.
constexpr std::uint32_t kFirstHostId = 0x62000000, kHostIds = 0x1000000, kSlotIds = 1023;
constexpr std::uint32_t kFirstSmallId = 60578, kSmallSlotIds = 511;

// What /proc tells about the machine beyond the cell. Most of it only root may read, which no cell is;
// masking it does not rest on that. All of /proc is read-only.
constexpr const char* kProcMasks[] = {"/proc/kcore",      "/proc/kmsg",       "/proc/keys",
                                      "/proc/key-users",  "/proc/timer_list", "/proc/sysrq-trigger",
                                      "/proc/kallsyms",   "/proc/interrupts", "/proc/cmdline",
                                      "/proc/sched_debug"};

// Address space without a memory cgroup: so many times the memory, and never less than Node and Java reserve.
constexpr std::uint64_t kAddressSpace = 128, kLeastAddressSpace = 16_GiB, kMost = 1ull << 60;
// What imports may write, in bytes, until their zygote has loaded its tools: caches, unpacked data. No
// cgroup bounds a zygote, so this must.
constexpr std::uint64_t kLoadScratch = 64 << 20;

constexpr std::uint64_t kRootSize = 8 << 20;

constexpr std::uint64_t kRead = sys::kFsExecute | sys::kFsReadFile | sys::kFsReadDir;
constexpr std::uint64_t kWrite = kRead | sys::kFsWriteFile | sys::kFsRemoveDir |
                                 sys::kFsRemoveFile | sys::kFsMakeDir | sys::kFsMakeReg |
                                 sys::kFsMakeSock | sys::kFsMakeFifo | sys::kFsMakeSym |
                                 sys::kFsRefer | sys::kFsTruncate;
constexpr std::uint64_t kDeviceUse =
    sys::kFsReadFile | sys::kFsWriteFile | sys::kFsReadDir | sys::kFsTruncate | sys::kFsIoctlDev;

// Where the tool's HOME is: the host's, so that paths in it stay the same, if it can be one.
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

class Planner {
 public:
  Planner(const Policy& policy, const CgroupLayout& cgroups, bool single, const Payload& payload,
          bool shows_workspace)
      : policy_(policy), cgroups_(cgroups), payload_(payload) {
    plan_.single = single;
    plan_.shows_workspace = shows_workspace;
  }

  BuiltPlan build() {
    plan_.floor = static_cast<Floor>(policy_.isolation);
    // What is unset is taken out at the end: where HOME is does not depend on whether a tool is told.
    built_.environment =
        cell_environment({policy_.environment.passthrough, policy_.environment.set, {}}, environ);
    built_.enforced = {"process", "environment"};
    built_.counts_memory = !cgroups_.memory;
    built_.counts_processes = cgroups_.pids;
    ids();
    if (policy_.isolation == Isolation::jail) jail();
    if (policy_.isolation != Isolation::jail) directories();
    for (const std::string& name : policy_.environment.unset) built_.environment.erase(name);
    landlock();
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

  // Removes what build() made on disk before it failed.
  void undo() const {
    if (!built_.scratch_directory.empty()) rmdir(built_.scratch_directory.c_str());
  }

 private:
  void enforce(std::string layer) { built_.enforced.push_back(std::move(layer)); }

  void ids() {
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

  void jail() {
    const std::string home = home_of(built_.environment);
    auto& environment = built_.environment;
    const auto named = [&](const char* name) {
      return policy_.environment.set.contains(name) ||
             std::count(policy_.environment.passthrough.begin(),
                        policy_.environment.passthrough.end(), name);
    };
    if (!policy_.environment.set.contains("HOME")) environment["HOME"] = home;
    if (!named("TMPDIR")) environment["TMPDIR"] = "/tmp";
    if (!named("USER")) environment["USER"] = plan_.user == 0 ? "root" : "brig";
    std::vector<std::string> held_paths;
    std::vector<PlanList<char>> held;
    std::size_t held_size = 0;
    for (const auto& file : payload_.held) {
      held_paths.push_back(normal_path(file->path));
      held.push_back(writer_.list(std::span<const char>(file->bytes)));
      held_size += file->bytes.size() + 4096;
    }
    plan_.held = writer_.list(held);
    plan_.root_size = writer_.text(std::to_string(kRootSize + held_size));
    const RootLayout layout =
        root_layout(policy_, home, plan_.as_root != 0, !payload_.empty(), held_paths);
    if (layout.id_maps.size() > kMaxIdMaps)
      throw_error(ErrorKind::config,
                  "policy: files.write: the paths have {} different owners, more than {}; list "
                  "paths of fewer owners",
                  layout.id_maps.size(), kMaxIdMaps);
    // A writable path shows its owner as one id, and so all slots have that one (decision 025).
    if (layout.id_maps.empty() && !plan_.single) plan_.slot_ids = spare_ids_;
    std::vector<RootStep> steps;
    for (const LayoutStep& step : layout.steps)
      steps.push_back({step.op, step.flags, writer_.text(step.source), writer_.text(step.target),
                       step.id_map, step.mode});
    plan_.root = writer_.list(steps);
    for (const LayoutStep& step : layout.steps)
      if (step.op != RootOp::directory && step.op != RootOp::cover &&
          step.op != RootOp::onto_itself)
        built_.view.system.push_back(step.target);
    for (const auto& part : layout.scratch) built_.view.scratch.push_back(part.second);
    plan_.id_maps = writer_.list(layout.id_maps);
    const Limits& limits = policy_.limits;
    plan_.scratch_options =
        writer_.text(fmt::format("size={},nr_inodes={},mode=0755", limits.scratch,
                                 std::max<std::uint64_t>(1024, limits.scratch / 4096)));
    if (!payload_.empty())
      plan_.load_scratch = writer_.text(
          fmt::format("size={},nr_inodes={},mode=0755", kLoadScratch, kLoadScratch / 4096));
    plan_.workspace = writer_.text(kWorkspace);
    const auto pairs = [&](const auto& list) {
      std::vector<PlanText> texts;
      for (const auto& [first, second] : list) {
        texts.push_back(writer_.text(first));
        texts.push_back(writer_.text(second));
      }
      return writer_.list(texts);
    };
    plan_.scratch_parts = pairs(layout.scratch);
    for (const auto& part : layout.scratch) writable_.push_back(part.second);
    plan_.late_binds = pairs(layout.late);
    plan_.aside = writer_.text(kAside);
    std::vector<PlanText> guards;
    for (const auto* list : {&layout.kept, &layout.needed, &layout.guards})
      for (const std::string& place : *list) guards.push_back(writer_.text(place));
    plan_.guards = writer_.list(guards);
    plan_.kept = static_cast<std::uint32_t>(layout.kept.size() + layout.needed.size());
    built_.view.kept = layout.kept;
    built_.missing = layout.missing;
    // What it can't keep, because it is not there, is for the report to tell.
    if (!policy_.files.protect.empty())
      enforce(
          std::count(policy_.files.protect.begin(), policy_.files.protect.end(), kProtectDefault)
              ? "protect:existing"
              : "protect");
    std::vector<PlanText> masks;
    for (const char* path : kProcMasks) masks.push_back(writer_.text(path));
    plan_.proc_masks = writer_.list(masks);
    plan_.hostname = writer_.text("brig");
    switch (policy_.network) {
      case Network::none: plan_.network_namespace = 1; break;
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
    enforce("capabilities");
  }

  // For the words of reports: what is to be seen where, whether or not it exists.
  void view() {
    CellView& view = built_.view;
    view.all = policy_.isolation == Isolation::process;
    const std::vector<ListedEntry> entries = listed_entries(policy_.files);
    for (const ListedEntry& each : entries) {
      (each.writable ? view.writable : view.readable).push_back(each.at);
      if (!each.executable) view.not_executable.push_back(each.at);
      if (each.is_moved()) view.moved.push_back({each.at, each.path});
      // A listed path is a step of the layout, too.
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

  void directories() {
    if (policy_.user)
      throw_error(ErrorKind::unsupported,
                  "user: an id of the cell's own needs the jail floor (a user namespace); use "
                  "isolation = \"jail\", or leave it out");
    if (policy_.network == Network::loopback)
      throw_error(ErrorKind::unsupported,
                  "network: 'loopback' needs the jail floor (a network namespace); use isolation = "
                  "\"jail\", or network \"none\" or \"host\"");
    if (policy_.isolation == Isolation::process && policy_.network == Network::none)
      throw_error(ErrorKind::unsupported,
                  "network: the process floor can't take the network away; use isolation = "
                  "\"jail\" or \"landlock\", or say network = \"host\"");
    if (!policy_.files.root.empty() || !policy_.files.hide.empty())
      throw_error(
          ErrorKind::unsupported,
          "files: 'root' and 'hide' need the jail floor (mounts); use isolation = \"jail\"");
    if (!policy_.files.noexec.empty() || !policy_.files.protect.empty())
      throw_error(
          ErrorKind::unsupported,
          "files: 'noexec' and 'protect' need the jail floor (mounts); use isolation = \"jail\"");
    if (policy_.isolation == Isolation::process &&
        (!policy_.files.read.empty() || !policy_.files.write.empty()))
      throw_error(ErrorKind::unsupported,
                  "files: the process floor can't restrict files, so 'read' and 'write' mean "
                  "nothing there; use isolation = \"jail\" or \"landlock\"");
    const std::vector<ListedEntry> entries = listed_entries(policy_.files);
    for (const ListedEntry& each : entries)
      if (each.is_moved())
        throw_error(
            ErrorKind::unsupported,
            "files.{}: '{}' can't be at another place, '{}', without mounts; use isolation = "
            "\"jail\", or list it without a place",
            each.writable ? "write" : "read", each.path, each.at);
    for (const ListedEntry& each : entries)
      for (const ListedEntry& writable : entries)
        if (!each.writable && writable.writable && is_at_or_below(each.path, writable.path))
          throw_error(ErrorKind::unsupported,
                      "files.read: '{}' lies below '{}' of files.write, and Landlock can't take a "
                      "right away below; use isolation = \"jail\", or list them apart",
                      each.path, writable.path);
    const char* parent = std::getenv("TMPDIR");
    std::string path = std::string(parent && parent[0] == '/' ? parent : "/tmp") + "/brig-XXXXXX";
    if (!mkdtemp(path.data()))
      throw_sys("making a private directory (set TMPDIR to one that can be written to) '{}'", path);
    built_.scratch_directory = path;
    // By descriptor: who may rename in that directory could have put a link in its place.
    const UniqueFd made(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info;
    if (!made || fstat(made.get(), &info) != 0 || info.st_uid != geteuid())
      throw_error(ErrorKind::permission,
                  "making a private directory: '{}' was replaced; set TMPDIR to a directory where "
                  "no other user can rename it",
                  path);
    if (plan_.as_root && fchown(made.get(), plan_.host_uid, plan_.host_gid) != 0)
      throw_sys("chown '{}'", path);
    plan_.scratch_directory = writer_.text(path);
    // Its tools' variables come with each call: these are for its imports alone.
    if (!payload_.runtime.empty()) load_directory_ = path + "/load";
    if (!load_directory_.empty()) plan_.load_scratch = writer_.text(load_directory_);
    enforce("capabilities");
  }

  void landlock() {
    if (policy_.isolation == Isolation::process) return;
    const int abi = sys::landlock_abi();
    if (abi < 1) {
      if (policy_.isolation == Isolation::landlock)
        throw_error(ErrorKind::unsupported,
                    "landlock: this kernel has none ({}); it needs Linux 5.13 or newer with "
                    "\"landlock\" in the lsm= boot parameter",
                    errno_text(errno));
      return;
    }
    plan_.landlock_abi = static_cast<std::uint32_t>(abi);
    std::uint64_t handled = (sys::kFsMakeSym << 1) - 1;
    if (abi >= 2) handled |= sys::kFsRefer;
    if (abi >= 3) handled |= sys::kFsTruncate;
    if (abi >= 5) handled |= sys::kFsIoctlDev;
    plan_.landlock_fs = handled;
    if (abi >= 4 && policy_.network == Network::none)
      plan_.landlock_net = sys::kNetBindTcp | sys::kNetConnectTcp;
    if (abi >= 6) plan_.landlock_scoped = sys::kScopeAbstractUnix | sys::kScopeSignal;
    std::vector<LandlockRule> rules;
    const auto rule = [&](const std::string& path, std::uint64_t access, bool optional,
                          bool follow = true) {
      rules.push_back({path.empty() ? 0 : writer_.text(path),
                       (optional ? kRuleOptional : 0) | (follow ? kRuleFollow : 0),
                       access & handled});
    };
    const auto devices = [&] {
      for (const char* path : {"/dev/null", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"})
        rule(path, kDeviceUse, true);
      // The cell's own; on the other floors they would be the host's.
      if (policy_.isolation == Isolation::jail) rule("/dev/pts", kDeviceUse, true);
      // Open for writing it gives shared memory, which only a cgroup counts.
      rule("/dev/zero", cgroups_.memory ? kDeviceUse : kDeviceUse & ~sys::kFsWriteFile, true);
    };
    if (policy_.isolation == Isolation::jail) {
      rule("/", kRead, false);  // all that is mounted was given; this lock is about changing it
      if (cgroups_.memory)
        rule("/dev", kDeviceUse, false);
      else
        devices();
      for (const std::string& path : writable_) rule(path, kWrite, false);
    } else {
      for (const char* path :
           {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/proc"})
        rule(path, kRead, true);
      for (const std::string& path : shared_etc()) rule(path, kRead, true);
      // The jail writes its own of these; here the host's must do.
      for (const char* path : {"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf"})
        rule(path, kRead, true);
      if (policy_.network == Network::host) rule("/etc/resolv.conf", kRead, true);
      devices();
      rule("", kWrite, false);
      for (const char* path :
           {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/dev"})
        built_.view.system.emplace_back(path);
      for (const std::string& path : shared_etc()) built_.view.system.push_back(path);
      for (const char* path : {"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf"})
        built_.view.system.emplace_back(path);
    }
    // In the jail by the place in the cell, where the rule finds what is mounted. Below a place that can be written none is
    // needed, and it would be looked for by names that tools can change.
    const std::vector<ListedEntry> entries = listed_entries(policy_.files);
    for (const ListedEntry& each : entries) {
      const ListedEntry* over =
          entry_over(entries, std::string_view(each.at).substr(0, each.at.rfind('/')));
      if (each.writable ? over && over->writable : policy_.isolation == Isolation::jail) continue;
      // The places that are not below another one are the jail's own, or links that it has made.
      rule(each.at, each.writable ? kWrite : kRead, false,
           policy_.isolation == Isolation::jail && !over);
    }
    plan_.landlock_rules = writer_.list(rules);
    enforce(fmt::format("landlock_abi_{}", abi));
    if (abi >= 6) enforce("landlock_scope");
  }

  void seccomp() {
    if (policy_.isolation == Isolation::process) return;
    FilterRules rules{.inet = policy_.network != Network::none,
                      .shares_host = policy_.isolation != Isolation::jail,
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
      plan_.lock_filter = writer_.list(default_lock_filter(rules.inet, rules.counts_memory));
    } else {
      plan_.filter = writer_.list(build_filter(rules));
      plan_.lock_filter = writer_.list(build_lock_filter(rules));
    }
    enforce("seccomp");
    built_.counted_calls = counted_calls(rules);
    // Without Landlock /dev/zero is a way around.
    if (rules.counts_memory && plan_.landlock_abi) enforce("shared_memory:counted");
  }

  void rlimits() {
    const Limits& limits = policy_.limits;
    std::vector<RlimitStep> steps;
    const auto limit = [&](int resource, std::uint64_t value) {
      steps.push_back({static_cast<std::uint64_t>(resource), value});
    };
    limit(RLIMIT_CORE, 1);  // 0 would not keep a program named by core_pattern from being started
    limit(RLIMIT_NOFILE, limits.open_files);
    limit(RLIMIT_RTPRIO, 0);
    limit(RLIMIT_NICE, 0);
    limit(RLIMIT_MEMLOCK, 64 << 10);
    // Counted for the user above the cell too, whose own limits are mostly 60 times and 3 times these.
    limit(RLIMIT_SIGPENDING, 1024);
    limit(RLIMIT_MSGQUEUE, 256 << 10);
    if (limits.file_size) limit(RLIMIT_FSIZE, *limits.file_size);
    if (limits.cpu_time)
      limit(RLIMIT_CPU, static_cast<std::uint64_t>((limits.cpu_time->count() + 999) / 1000));
    // In a user namespace of its own the count is the cell's own; init is one of it.
    // Where a pids cgroup counts too, this second lock stands back: only the cgroup tells of its refusals.
    if (policy_.isolation == Isolation::jail)
      limit(RLIMIT_NPROC, limits.processes + (cgroups_.pids ? 16 : 1));
    if (cgroups_.memory) {
      limit(RLIMIT_STACK, 8 << 20);
    } else {
      // Private memory that can be written; shared memory the host counts (FilterRules::counts_memory).
      limit(RLIMIT_DATA, limits.memory);
      // A thread's stack is such memory, all of it from the start: 64 threads of 8 MiB would be the default
      // limit. A quarter of it is what an exec takes as arguments.
      limit(RLIMIT_STACK, 6 << 20);
      // Page tables are neither: of what is only reserved or read they are a 512th.
      limit(RLIMIT_AS, std::max(kLeastAddressSpace, limits.memory > kMost / kAddressSpace
                                                        ? kMost
                                                        : limits.memory * kAddressSpace));
    }
    plan_.memory = limits.memory;
    plan_.rlimits = writer_.list(steps);
    enforce("rlimits");
  }

  void runtime() {
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

  void cgroups() {
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
          "limits.processes: the kernel never holds root to a number of processes without a "
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

  const Policy& policy_;
  const CgroupLayout& cgroups_;
  const Payload& payload_;
  PlanWriter writer_;
  Plan plan_{};
  std::uint32_t spare_ids_ = 0;  // how many ids follow host_uid and host_gid
  BuiltPlan built_;
  std::vector<std::string> writable_;
  std::string load_directory_;  // floors without mounts: where a runtime's imports may write
};

}  // namespace

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
