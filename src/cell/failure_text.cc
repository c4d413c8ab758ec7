// The words for {stage, errno, index} that the helper sends when a set-up step fails.
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cell/plan_builder.h"
#include "os/apparmor.h"
#include "os/rights.h"
#include "os/surroundings.h"
#include "policy/paths.h"

namespace brig {
namespace {

using wire::Stage;

std::string source_of(const Plan& plan, unsigned index) {
  if (index >= plan.root.count) return "?";
  return text(plan, begin_of(plan, plan.root)[index].source);
}
// Returns where the cell sees it, also for what a zygote keeps for its cells elsewhere.
std::string target_of(const Plan& plan, unsigned index) {
  if (index >= plan.root.count) return "?";
  std::string target = text(plan, begin_of(plan, plan.root)[index].target);
  for (unsigned i = 0; i + 1 < plan.late_binds.count; i += 2) {
    const PlanText* pair = begin_of(plan, plan.late_binds) + i;
    const std::string aside = text(plan, pair[0]);
    if (is_at_or_below(target, aside)) return text(plan, pair[1]) + target.substr(aside.size());
  }
  return target;
}

constexpr const char* kNoProcesses =
    "; this user or cgroup may have no more processes: end some, or raise ulimit -u or pids.max";
constexpr const char* kInCell =
    "brig runs inside a cell of brig, where nobody can make namespaces or load a filter: that cell "
    "is the boundary already, so run the command without brig or with isolation = \"process\" and "
    "network = \"host\", or start this brig outside";
constexpr const char* kInChroot =
    "in a chroot the kernel makes no user namespace and changes no root: enter it by pivot_root "
    "instead (bwrap --bind DIR / ..., systemd-nspawn -D DIR)";

// In a cell of another brig no weaker floor would add anything.
std::string landlock_floor() {
  return in_cell()
             ? ""
             : "; run `brig doctor` to see what this machine offers, or accept the weaker floor "
               "with isolation = \"landlock\"";
}

// Name everything that the container lacks at once: advice that only leads to the next refusal does
// not help.
std::string container_advice(bool seccomp, bool user = false) {
  return container_options(
      {.seccomp = seccomp,
       .apparmor = !apparmor_profile().empty(),
       .proc = !has_root_rights() && !covered_in_proc().empty(),
       .user = user || (in_container() && is_the_machines_root() && !has_root_rights())});
}

// Firejail can be told to leave its filter out, but then its covers on /proc are in an ordinary
// user's way.
constexpr const char* kInFirejail =
    "start brig outside of firejail (as root: firejail --noprofile)";

std::string filter_advice(const char* what) {
  if (in_cell()) return kInCell;
  if (in_firejail())
    return fmt::format("firejail's seccomp filter forbids {}: {}", what, kInFirejail);
  if (in_container())
    return fmt::format("the container's seccomp profile forbids {}: {}", what,
                       container_advice(true));
  return fmt::format(
      "a seccomp filter that brig was started under forbids {}: in a container, {}; in a unit of "
      "systemd, see SystemCallFilter= and RestrictNamespaces=",
      what, container_advice(true));
}

// AppArmor does not restrict root with all its rights, and in a container other restrictions come
// first.
std::string advice_on_apparmor() {
  return in_container() || has_root_rights() ? "" : apparmor_advice();
}

std::string how_to_allow_namespaces() {
  if (std::string advice = advice_on_apparmor(); !advice.empty()) return advice;
  return std::string(
             "set the sysctls kernel.unprivileged_userns_clone=1 and user.max_user_namespaces "
             "above 0, or ") +
         (geteuid() == 0 ? "give root its capabilities (CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID)"
                         : "start brig as root");
}

std::string proc_advice() {
  const std::string covered = covered_in_proc();
  if (covered.empty())
    return "the kernel allows a new /proc only where a complete /proc is visible: mount one "
           "over it (mount -t proc proc /proc)";
  return fmt::format("something covers '{}', so the kernel allows no new /proc: ", covered) +
         (in_firejail()
              ? kInFirejail
              : "in a container, " + container_advice(false) +
                    "; in bubblewrap, show it this /proc (--bind /proc /proc), not a new one");
}

// This function is long because it is one table of all stages. The compiler reports a missing one.
std::string describe(const Plan& plan, Stage stage, unsigned index) {
  switch (stage) {
    case Stage::none: return "nothing";
    case Stage::plan: return "plan: reading it in the helper";
    case Stage::runtime:
      return fmt::format("python: executing '{}' in the jail", text(plan, plan.runtime_program));
    case Stage::sockets: return "sockets: socketpair";
    case Stage::clone_zygote: return "namespaces: clone of the zygote";
    case Stage::clone_cell: return "namespaces: clone of a cell";
    case Stage::id_map: return "user namespace: writing the id maps";
    case Stage::id_mapped_mount:
      return fmt::format("mounts: id-mapping '{}'", source_of(plan, index));
    case Stage::private_mounts: return "mounts: making them private";
    case Stage::root_tmpfs: return "mounts: tmpfs for the root";
    case Stage::bind_source: return fmt::format("mounts: opening '{}'", source_of(plan, index));
    case Stage::bind_target:
      return fmt::format("mounts: the place for '{}' in the cell", target_of(plan, index));
    case Stage::bind_attach: return fmt::format("mounts: attaching '{}'", target_of(plan, index));
    case Stage::bind_attributes:
      return fmt::format("mounts: mount_setattr of '{}'", target_of(plan, index));
    case Stage::make_node: return fmt::format("mounts: making '{}'", target_of(plan, index));
    case Stage::proc: return "mounts: a fresh /proc";
    case Stage::pivot: return "mounts: pivot_root";
    case Stage::read_only_root: return "mounts: making the root read-only";
    case Stage::become_user: return "user: giving up root";
    case Stage::user_namespace: return "user namespace: unshare";
    case Stage::namespaces: return "namespaces: unshare";
    case Stage::namespace_limits:
      return "user namespace: limiting inotify, which syscalls.allow gives back";
    case Stage::network_namespace: return "network namespace: unshare";
    case Stage::loopback_up: return "network: bringing the loopback interface up";
    case Stage::way_out: return "network: making the sockets of the way out";
    case Stage::hostname: return "uts namespace: sethostname";
    case Stage::scratch: return "scratch: private space";
    case Stage::scratch_bind: return "scratch: bind mount";
    case Stage::load_scratch: return "scratch: removing what tools were loaded with";
    case Stage::guard:
      return fmt::format(
          "mounts: '{}' was replaced or removed on the host, and is not what the policy says",
          index < plan.guards.count ? text(plan, begin_of(plan, plan.guards)[index]) : "?");
    case Stage::late_bind:
      return fmt::format("mounts: putting '{}' in its place",
                         index + 1 < plan.late_binds.count
                             ? text(plan, begin_of(plan, plan.late_binds)[index + 1])
                             : "?");
    case Stage::terminals: return "mounts: terminals of the cell's own (devpts)";
    case Stage::mask:
      return fmt::format(
          "mounts: hiding '{}'",
          index < plan.proc_masks.count ? text(plan, begin_of(plan, plan.proc_masks)[index]) : "?");
    case Stage::working_directory:
      return fmt::format("working directory '{}' in the cell",
                         plan.working_directory ? text(plan, plan.working_directory) : "");
    case Stage::rlimit: return "rlimits: setrlimit";
    case Stage::no_new_privileges: return "no_new_privs: prctl";
    case Stage::landlock_ruleset: return "landlock: creating the ruleset";
    case Stage::landlock_rule:
      return fmt::format("landlock: rule for '{}'",
                         index < plan.landlock_rules.count
                             ? text(plan, begin_of(plan, plan.landlock_rules)[index].path)
                             : "?");
    case Stage::landlock_restrict: return "landlock: landlock_restrict_self";
    case Stage::capabilities: return "capabilities: dropping them";
    case Stage::seccomp: return "seccomp: loading the filter";
    case Stage::seccomp_lock: return "seccomp: loading the lock filter";
    case Stage::fork_tool: return "processes: fork of the tool";
    case Stage::cgroup: return "cgroup: making a slot's and entering it";
    case Stage::program: return "functions: letting go of the program's own file";
    case Stage::id_map_owner:
      return fmt::format("mounts: a user namespace for files of owner {}",
                         index < plan.id_maps.count ? begin_of(plan, plan.id_maps)[index].uid : 0);
  }
  return "an unknown step";
}

// Steps that need rights that a user namespace gives. Where AppArmor takes those away again, the
// namespace can be made, and one of these steps is the first to fail.
bool needs_namespace_rights(Stage stage) {
  switch (stage) {
    case Stage::clone_zygote:
    case Stage::user_namespace:
    case Stage::id_map:
    case Stage::namespaces:
    case Stage::network_namespace:
    case Stage::loopback_up:
    case Stage::way_out:
    case Stage::hostname:
    case Stage::private_mounts:
    case Stage::root_tmpfs: return true;
    default: return false;
  }
}

// This function is long because it is one table of the stages for which there is advice.
std::string fix_for(Stage stage, int error) {
  if (needs_namespace_rights(stage) && (error == EPERM || error == EACCES))
    if (const std::string advice = advice_on_apparmor(); !advice.empty())
      return "; " + advice + landlock_floor();
  switch (stage) {
    case Stage::clone_zygote:
    case Stage::user_namespace:
    case Stage::id_map:
      if (error == EAGAIN) return kNoProcesses;
      if (error == ENOSPC || (error == EINVAL && stage != Stage::id_map))
        return "; " + namespace_advice(error) + landlock_floor();
      if (error == EPERM || error == EACCES)
        return "; " + (stage == Stage::id_map ? id_map_advice(error) : namespace_advice(error)) +
               landlock_floor();
      return "";
    case Stage::fork_tool:
    case Stage::clone_cell:
    case Stage::namespaces:
    case Stage::network_namespace:
      if (error == EAGAIN) return kNoProcesses;
      return error == ENOSPC ? "; " + namespace_advice(error) + landlock_floor() : "";
    case Stage::private_mounts:
    case Stage::pivot:
      if (error == EINVAL && in_chroot()) return std::string("; ") + kInChroot + landlock_floor();
      if (error == EPERM && under_filter()) return "; " + filter_advice("it") + landlock_floor();
      if (error == EACCES && !apparmor_profile().empty())
        return fmt::format("; the AppArmor profile '{}' forbids it: in a container, {}",
                           apparmor_profile(), container_advice(false)) +
               landlock_floor();
      if (error == EPERM || error == EACCES)
        return "; " + namespace_advice(error) + landlock_floor();
      return "";
    case Stage::proc: return error == EPERM ? "; " + proc_advice() + landlock_floor() : "";
    case Stage::seccomp:
    case Stage::seccomp_lock:
      if (error == EPERM && under_filter()) return "; " + filter_advice("it");
      return "";
    case Stage::bind_source:
      if (error == ELOOP)
        return "; the path goes through a symlink, which is not followed: list the real path";
      if (error == ESTALE)
        return "; it was replaced by one of another owner while the cell was made: try again, and "
               "list no path whose directory other users may change";
      return error == ENOENT ? "; the path must exist" : "";
    case Stage::bind_target:
      if (error == ENOENT)
        return "; brig creates nothing below another listed path, which is the host's: create the "
               "place there, or list another one";
      if (error == ELOOP || error == ENOTDIR || error == EISDIR)
        return "; below another listed path, a directory can be mounted only on a directory and a "
               "file only on a file, and no part of the path may be a symlink: remove what is "
               "there, or list another place";
      return "; a path below another listed one must exist there, and must not be behind a symlink";
    case Stage::bind_attach:
      return error == ELOOP || error == ENOENT || error == ENOTDIR
                 ? "; it was moved or replaced on the host while the cell was made: try again"
                 : "";
    case Stage::id_mapped_mount:
      return "; the file system does not support id-mapped mounts: keep writable paths on ext4, "
             "xfs, btrfs or (since Linux 6.3) tmpfs, or start brig as an ordinary user";
    case Stage::program:
      return "; C++ functions need a kernel with CONFIG_CHECKPOINT_RESTORE: on this one, offer "
             "these tools as commands or in Python";
    case Stage::landlock_rule:
      return error == ELOOP ? "; the path goes through a symlink, which is not followed: list the "
                              "real path"
                            : "";
    case Stage::working_directory:
      return "; it must be inside the cell: add it to files.read or files.write";
    default: return "";
  }
}

}  // namespace

std::string container_options(const ContainerNeeds& needs) {
  std::string docker, podman, kubernetes;
  const auto option = [&](const char* one, const char* two, const char* three) {
    docker.append(docker.empty() ? "" : " ").append(one);
    podman.append(podman.empty() ? "" : " ").append(two);
    kubernetes.append(kubernetes.empty() ? "" : ", ").append(three);
  };
  if (needs.user) option("--user 1000", "--user 1000", "runAsUser: 1000");
  if (needs.seccomp)
    option("--security-opt seccomp=unconfined", "--security-opt seccomp=unconfined",
           "seccompProfile.type: Unconfined");
  if (needs.apparmor)
    option("--security-opt apparmor=unconfined", "--security-opt apparmor=unconfined",
           "appArmorProfile.type: Unconfined");
  if (needs.proc)
    option("--security-opt systempaths=unconfined", "--security-opt unmask=ALL",
           "procMount: Unmasked with hostUsers: false");
  if (docker == podman)
    return fmt::format("start it with {} (Docker, podman) or {} (Kubernetes)", docker, kubernetes);
  return fmt::format("start it with {} (Docker), {} (podman) or {} (Kubernetes)", docker, podman,
                     kubernetes);
}

std::string namespace_advice(int error) {
  if (error == ENOSPC) {
    for (const char* kind : {"user", "pid", "mnt", "ipc", "uts", "cgroup", "net"})
      if (read_text(fmt::format("/proc/sys/user/max_{}_namespaces", kind)) == "0\n")
        return fmt::format(
            "{} namespaces are disabled here: set the sysctl user.max_{}_namespaces above 0", kind,
            kind);
    return "the limit of a sysctl user.max_*_namespaces is reached, here or in a user namespace "
           "above, or namespaces are nested 32 deep: end some, or raise the sysctl";
  }
  if (error == EINVAL) return "the kernel was built without namespaces (CONFIG_USER_NS ...)";
  if (in_chroot()) return kInChroot;
  if (under_filter()) return filter_advice("namespaces");
  return "user namespaces are disabled here: " + how_to_allow_namespaces();
}

std::string id_map_advice(int error) {
  if (error == EPERM && geteuid() == 0)
    return "root without CAP_SETFCAP may not use its own id in a user namespace: start brig as "
           "another user: in a container, " +
           container_advice(false, true) + "; or add that capability";
  if (!ids_are_mapped(geteuid(), 1))
    return "brig's own user or group has no id in the user namespace that brig was started in";
  return namespace_advice(error);
}

std::string failure_text(const Plan& plan, Stage stage, int error, unsigned index) {
  if (stage == Stage::bind_source && index < plan.root.count &&
      begin_of(plan, plan.root)[index].flags & kBindDevice)
    return fmt::format(
        "mounts: opening '{}': {}; a cell's /dev is made of this machine's null, zero, "
        "full, random, urandom and tty: all of them must be there",
        source_of(plan, index), errno_text(error));
  return describe(plan, stage, index) + ": " + errno_text(error) + fix_for(stage, error);
}

ErrorKind failure_kind(Stage stage, int error) {
  switch (stage) {
    case Stage::bind_source:
    case Stage::bind_target:
    case Stage::working_directory: return ErrorKind::config;
    case Stage::clone_zygote:
    case Stage::user_namespace:
    case Stage::id_map:
    case Stage::proc:
    case Stage::id_mapped_mount:
    case Stage::seccomp:
    case Stage::seccomp_lock:
    case Stage::program:
      return error == ENOMEM || error == EAGAIN ? ErrorKind::resource : ErrorKind::unsupported;
    default: return kind_of_errno(error);
  }
}

}  // namespace brig
