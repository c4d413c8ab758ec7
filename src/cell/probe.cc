// What this machine offers: each feature is tried in a child that then ends, and each floor by
// running a command under it.
#include <brig/capabilities.h>
#include <brig/runner.h>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "base/error.h"
#include "cell/plan_builder.h"
#include "os/cgroup.h"
#include "os/child.h"
#include "os/rights.h"
#include "os/surroundings.h"
#include "os/sys.h"
#include "os/user_scope.h"
#include "policy/seccomp.h"

namespace brig {
namespace {

// Runs `attempt` in a child. Returns 0, or the errno that it ended with. The child makes system
// calls only.
template <typename Attempt>
int try_in_child(Attempt attempt) {
  const pid_t pid = sys::clone_process(SIGCHLD, nullptr);
  if (pid < 0) return errno;
  if (pid == 0) {
    errno = 0;
    _exit(attempt() ? 0 : (errno ? errno : 255));
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

bool write_text(const char* path, const char* text, std::size_t size) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool ok = write(fd, text, size) == static_cast<ssize_t>(size);
  close(fd);
  return ok;
}

// The ids of an unprivileged user. Root gives its rights up first.
struct Ids {
  bool root = [] {
    try {
      return has_root_rights();
    } catch (const Error&) {
      // Without /proc. The floors report that.
      return false;
    }
  }();
  std::string uid_map = fmt::format("1000 {} 1", root ? 65533 : geteuid());
  std::string gid_map = fmt::format("1000 {} 1", root ? 65533 : getegid());

  // Enters a user namespace in which no id is mapped yet.
  bool leave() const {
    if (root && (syscall(SYS_setresgid, 65533, 65533, 65533) != 0 ||
                 syscall(SYS_setresuid, 65533, 65533, 65533) != 0))
      return false;
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return unshare(CLONE_NEWUSER) == 0;
  }

  bool enter(int flags) const {
    if (!leave()) return false;
    if (!write_text("/proc/self/setgroups", "deny", 4) ||
        !write_text("/proc/self/uid_map", uid_map.data(), uid_map.size()) ||
        !write_text("/proc/self/gid_map", gid_map.data(), gid_map.size()))
      return false;
    return flags == 0 || unshare(flags) == 0;
  }
};

class Prober {
 public:
  explicit Prober(Capabilities& found) : found_(found) {}

  void layer(const char* name, int error, bool required, std::string detail,
             const std::string& fix) {
    found_.layers.push_back({name, error == 0, error == 0 ? std::move(detail) : errno_text(error),
                             error == 0 ? "" : fix, required});
  }

  void namespaces() {
    const Ids ids;
    const int refused = try_in_child([&] { return ids.leave(); });
    const int error = refused ? refused : try_in_child([&] { return ids.enter(0); });
    layer("user_namespace", error, true, "made, and ids mapped in it",
          refused ? namespace_advice(refused) : id_map_advice(error));
    // Without a user namespace none of the others can be made either. One reason is enough.
    const auto fix = [&](int why) { return error ? "see user_namespace" : namespace_advice(why); };
    const int mounts = try_in_child([&] {
      return ids.enter(CLONE_NEWNS) &&
             mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
             mount("none", "/proc", "tmpfs", 0, "size=4k") == 0;
    });
    layer("mount_namespace", mounts, true, "made, and a tmpfs mounted in it", fix(mounts));
    for (const auto& [name, flag] : {std::pair{"pid_namespace", CLONE_NEWPID},
                                     {"ipc_namespace", CLONE_NEWIPC},
                                     {"uts_namespace", CLONE_NEWUTS},
                                     {"cgroup_namespace", CLONE_NEWCGROUP},
                                     {"network_namespace", CLONE_NEWNET}}) {
      const int why = try_in_child([&, flag = flag] { return ids.enter(flag); });
      layer(name, why, true, "made", fix(why));
    }
    layer("host_name",
          try_in_child([&] { return ids.enter(CLONE_NEWUTS) && sethostname("brig", 4) == 0; }),
          false, "set in a uts namespace",
          error ? "see user_namespace"
                : "optional: without it a cell sees this machine's host name instead of \"brig\"");
    const int api = try_in_child([&] {
      if (!ids.enter(CLONE_NEWNS)) return false;
      const int tree = sys::open_tree(
          AT_FDCWD, "/", sys::kOpenTreeClone | sys::kOpenTreeCloexec | sys::kAtRecursive);
      sys::MountAttr attributes{
          .set = sys::kAttrRdonly | sys::kAttrNosuid, .clear = 0, .propagation = 0, .userns_fd = 0};
      return tree >= 0 &&
             sys::mount_setattr(tree, "", AT_EMPTY_PATH | sys::kAtRecursive, &attributes) == 0;
    });
    layer("mount_api", api, true, "open_tree and a recursive mount_setattr",
          api == ENOSYS ? "Linux 5.12 or newer" : fix(api));
  }

  void locks() {
    const int abi = sys::landlock_abi();
    const int error = abi < 1 ? errno : try_in_child([] {
      const sys::LandlockRulesetAttr attributes{sys::kFsWriteFile, 0, 0};
      const int ruleset = sys::landlock_create_ruleset(attributes, 8);
      return ruleset >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
             sys::landlock_restrict_self(ruleset) == 0;
    });
    layer("landlock", error, false, fmt::format("ABI {}", abi),
          "Linux 5.13 or newer with \"landlock\" in the lsm= boot parameter");
    if (abi >= 1 && abi < 6)
      found_.layers.back().detail +=
          "; signals and abstract sockets are scoped from ABI 6 (Linux 6.12) on";
    layer("seccomp", try_in_child([] {
            const auto program = default_lock_filter(false);
            sock_fprog filter{
                static_cast<unsigned short>(program.size()),
                reinterpret_cast<sock_filter*>(const_cast<std::uint64_t*>(program.data()))};
            return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   syscall(
                       SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                       SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
                       &filter) >= 0;
          }),
          true, "a filter with a listener was loaded",
          in_cell() ? "see floor_jail"
                    : "Linux 5.19 or newer with CONFIG_SECCOMP_FILTER; in a container, a runtime "
                      "profile that allows seccomp(2)");
  }

  void cgroups(const Policy& policy) {
    CgroupLimits limits;
    limits.memory = policy.limits.memory;
    limits.processes = policy.limits.processes + 2;
    limits.cpus = 1.0;
    // Its destructor removes the cgroups again.
    CgroupLayout layout = make_cgroups(limits);
    std::string where;
    const std::string manager = user_manager_socket();
    if (!layout.memory && layout.unified_memory && !manager.empty()) {
      // The child stays in the scope until everything is checked, because the cgroups are removed
      // while the scope still exists.
      int pidfd = -1;
      const pid_t parent = getpid();
      const pid_t pid = sys::clone_process(CLONE_PIDFD | SIGCHLD, &pidfd);
      if (pid == 0) {
        // It ends with its parent, even if that is killed; the manager may take its time.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent) pause();
        _exit(0);
      }
      const Child tenant(pid, UniqueFd(pidfd));
      CgroupLayout scoped;
      if (pid < 0)
        scoped.why_not = "brig could not start a process to ask for a scope";
      else
        scoped = make_scope_cgroups(limits, manager, pid);
      if (scoped.memory) {
        layout = std::move(scoped);
        where =
            ", in a scope of the user's systemd, for a Runner and for a policy that names a limit "
            "of memory, processes or CPU";
      } else {
        layout.why_not += "; " + scoped.why_not;
      }
    }
    const std::string fix =
        geteuid() == 0
            ? "give brig a cgroup that it may write to; in a container, limit the container as a "
              "whole (--memory, --pids-limit, --cpus); without a cgroup the limit holds per process"
        : in_cell() ? "this brig runs in a cell, whose limits hold; start brig outside of it"
                    : "start brig as root, or in a cgroup that belongs to you: systemd-run --user "
                      "--scope -p "
                      "Delegate=yes brig ...; without a cgroup the limit holds per process";
    for (const auto& [name, present] : {std::pair{"cgroup_memory", layout.memory},
                                        {"cgroup_pids", layout.pids},
                                        {"cgroup_cpu", layout.cpu}})
      found_.layers.push_back(
          {name, present,
           present ? fmt::format("version {}{}", layout.version, where) : layout.why_not,
           present ? "" : fix, false});
  }

  bool floor(const char* name, Isolation isolation, const Policy& base) {
    Policy policy;
    policy.limits.timeout = base.limits.timeout;
    policy.isolation = isolation;
    if (isolation == Isolation::process) policy.network = Network::host;
    std::string detail = "a command ran in it";
    bool works = false;
    try {
      const Report report = run({.argv = {"/bin/sh", "-c", ":"}}, policy);
      works = report.ok();
      if (!works) detail = report.message;
    } catch (const Error& error) {
      detail = error.what();
    }
    // No fix: the detail has it.
    found_.layers.push_back({name, works, detail, "", isolation == Isolation::jail});
    return works;
  }

 private:
  Capabilities& found_;
};

}  // namespace

Capabilities probe(const Policy& policy) {
  Capabilities found;
  Prober prober(found);
  prober.namespaces();
  prober.locks();
  prober.cgroups(policy);
  found.jail = prober.floor("floor_jail", Isolation::jail, policy);
  found.landlock = prober.floor("floor_landlock", Isolation::landlock, policy);
  found.process = prober.floor("floor_process", Isolation::process, policy);
  found.available = found.jail;
  found.isolation_level = found.jail       ? "jail"
                          : found.landlock ? "landlock"
                          : found.process  ? "process"
                                           : "none";
  found.filesystem_isolation = found.jail || found.landlock;
  found.network_isolation = found.jail || found.landlock;
  found.memory_limit_mb = policy.limits.memory >> 20;
  found.timeout = static_cast<double>(policy.limits.timeout.count()) / 1000;
  return found;
}

}  // namespace brig
