// The words for {stage, errno, index} that the helper sends when a set-up step fails.
#include <unistd.h>

#include "base/error.h"
#include "cell/plan_builder.h"
#include "os/rights.h"

namespace brig {
namespace {

using wire::Stage;

std::string source_of(const Plan& plan, unsigned index) {
  if (index >= plan.root.count) return "?";
  return text(plan, begin_of(plan, plan.root)[index].source);
}
std::string target_of(const Plan& plan, unsigned index) {
  if (index >= plan.root.count) return "?";
  return text(plan, begin_of(plan, plan.root)[index].target);
}

constexpr const char* kLandlockFloor =
    "; run `brig doctor` to see what this machine offers, or accept the weaker floor with "
    "isolation = \"landlock\"";

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
    case Stage::hostname: return "uts namespace: sethostname";
    case Stage::scratch: return "scratch: private space";
    case Stage::scratch_bind: return "scratch: bind mount";
    case Stage::late_bind:
      return fmt::format("mounts: putting '{}' in its place",
                         index + 1 < plan.late_binds.count
                             ? text(plan, begin_of(plan, plan.late_binds)[index + 1])
                             : "?");
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

std::string fix_for(Stage stage, int error) {
  switch (stage) {
    case Stage::clone_zygote:
    case Stage::user_namespace:
    case Stage::id_map:
      if (stage == Stage::id_map && error == EPERM && geteuid() == 0)
        return "; root without CAP_SETFCAP may not use its own id in a user namespace: start it as "
               "another user (docker run --user 1000), or add that capability" +
               std::string(kLandlockFloor);
      if (error == EPERM || error == EACCES || error == ENOSPC || error == EINVAL)
        return "; user namespaces are off here: " + namespace_advice() +
               "; in a chroot the kernel makes none for anybody: enter it by pivot_root (bwrap, "
               "systemd-nspawn) instead" +
               kLandlockFloor;
      return "";
    case Stage::proc:
      if (error == EPERM)
        return "; inside a container whose /proc is masked the kernel refuses a fresh one: start "
               "the container with --security-opt systempaths=unconfined (Docker), --security-opt "
               "unmask=ALL (podman) or procMount: Unmasked (Kubernetes)" +
               std::string(kLandlockFloor);
      return "";
    case Stage::bind_source:
      if (error == ELOOP)
        return "; the path goes through a symlink, which is not followed: list the real path";
      if (error == ESTALE)
        return "; it was replaced by one of another owner while the cell was made: try again, and "
               "list no path whose directory other users may change";
      return error == ENOENT ? "; the path must exist" : "";
    case Stage::bind_target:
      return "; a path below another listed one must exist there, and must not be behind a symlink";
    case Stage::id_mapped_mount:
      return "; the file system does not support id-mapped mounts: keep writable paths on ext4, "
             "xfs, btrfs or (since Linux 6.3) tmpfs, or start brig as an ordinary user";
    case Stage::program:
      return "; it takes a kernel with CONFIG_CHECKPOINT_RESTORE: where there is none, offer these "
             "tools as commands or in Python";
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

std::string namespace_advice() {
  if (in_container())
    return "the container's seccomp profile forbids them: start it with --security-opt "
           "seccomp=unconfined (Docker, podman) or seccompProfile.type: Unconfined (Kubernetes); "
           "if "
           "that is not it, the host's sysctl user.max_user_namespaces must be above 0";
  return std::string(
             "set the sysctls kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0 "
             "and, on Ubuntu, kernel.apparmor_restrict_unprivileged_userns=0 (or an AppArmor "
             "profile for brig), or ") +
         (geteuid() == 0 ? "give root its capabilities (CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID)"
                         : "start brig as root");
}

std::string failure_text(const Plan& plan, Stage stage, int error, unsigned index) {
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
