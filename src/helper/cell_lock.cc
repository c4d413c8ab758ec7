// Locks a cell's init: limits, Landlock, capabilities, the second filter. Everything that it forks
// inherits these.
#include "helper/cell_lock.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <errno.h>

#include "helper/helper.h"
#include "os/open_below.h"
#include "os/sys.h"

namespace brig::helper {
namespace {

using wire::Stage;

// A symlink that was put there is an error and is not followed. openat2 can't be used: the first
// filter refuses it already.
int open_listed(const char* path) { return beneath::walk(AT_FDCWD, path, {.flags = O_PATH}); }

bool restrict_files(const Plan& plan, const char* scratch, int input, Failure& failure) {
  if (!plan.landlock_abi) return true;
  const sys::LandlockRulesetAttr attributes{plan.landlock_fs, plan.landlock_net,
                                            plan.landlock_scoped};
  const size_t size = plan.landlock_abi >= 6 ? 24 : plan.landlock_abi >= 4 ? 16 : 8;
  const int ruleset = sys::landlock_create_ruleset(attributes, size);
  if (ruleset < 0) return fail(failure, Stage::landlock_ruleset);
  for (unsigned i = 0; i < plan.landlock_rules.count; ++i) {
    const LandlockRule& rule = begin_of(plan, plan.landlock_rules)[i];
    const char* path = rule.path ? text(plan, rule.path) : scratch;
    const int fd = rule.flags & kRuleFollow ? open(path, O_PATH | O_CLOEXEC) : open_listed(path);
    if (fd < 0) {
      if ((rule.flags & kRuleOptional) && errno == ENOENT) continue;
      return fail(failure, Stage::landlock_rule, i);
    }
    struct stat info;
    uint64_t access = rule.access;
    if (fstat(fd, &info) == 0 && !S_ISDIR(info.st_mode))
      access &= sys::kFsExecute | sys::kFsWriteFile | sys::kFsReadFile | sys::kFsTruncate |
                sys::kFsIoctlDev;
    if (sys::landlock_add_path(ruleset, {access, fd}) != 0)
      return fail(failure, Stage::landlock_rule, i);
    close(fd);
  }
  // This rule lets /dev/stdin open. On file systems that can have no rule it does not open.
  if (input >= 0) sys::landlock_add_path(ruleset, {sys::kFsReadFile, input});
  if (sys::landlock_restrict_self(ruleset) != 0) return fail(failure, Stage::landlock_restrict);
  close(ruleset);
  return true;
}

bool drop_capabilities(const Plan& plan, Failure& failure) {
  // The secure bits are locked: not even uid 0 in a namespace of the tool's own regains anything by
  // exec.
  const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                             SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                             SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  // A cell may do this in its own user namespace. Elsewhere an ordinary user may not, and
  // no_new_privs alone makes the bounding set irrelevant.
  const bool privileged = prctl(PR_CAPBSET_DROP, 0, 0, 0, 0) == 0;
  if (!privileged && plan.floor == Floor::jail) return fail(failure, Stage::capabilities, 0);
  if (privileged) {
    if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) != 0) return fail(failure, Stage::capabilities, 1);
    for (int cap = 1; cap < 64; ++cap)
      if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0) {
        if (errno == EINVAL) break;  // this is past the kernel's last capability
        return fail(failure, Stage::capabilities, 2);
      }
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2]{};
  if (syscall(SYS_capset, &header, none) != 0) return fail(failure, Stage::capabilities, 3);
  return true;
}

// In its own user namespace a cell may have less of what is counted for the user above it too: mostly 128
// instances, and every program of the user's that watches files needs one.
bool limit_namespace(const Plan& plan, int proc, Failure& failure) {
  if (!plan.watches_files || plan.floor != Floor::jail) return true;
  return (write_file(proc, "sys/user/max_inotify_instances", "8") &&
          write_file(proc, "sys/user/max_inotify_watches", "4096")) ||
         fail(failure, Stage::namespace_limits);
}

bool set_limit(const RlimitStep& step, int proc) {
  rlimit limit;
  const auto resource = static_cast<decltype(RLIMIT_CPU)>(step.resource);
  if (getrlimit(resource, &limit) != 0) return false;
  const uint64_t inherited = inherited_memory(proc, step.resource);
  const uint64_t value =
      step.value > RLIM_INFINITY - inherited ? RLIM_INFINITY : step.value + inherited;
  // A host that allows less than the policy keeps its own, lower limit.
  const rlim_t most = limit.rlim_max;
  if (value < limit.rlim_max) limit.rlim_max = value;
  limit.rlim_cur = limit.rlim_max;
  // There is one second between SIGXCPU and SIGKILL, so that the limit is reported by its own
  // signal.
  if (resource == RLIMIT_CPU && limit.rlim_max != RLIM_INFINITY) {
    if (limit.rlim_max < most)
      ++limit.rlim_max;
    else if (limit.rlim_cur > 1)
      --limit.rlim_cur;
  }
  return setrlimit(resource, &limit) == 0;
}

}  // namespace

bool limit_files(const Plan& plan, Failure& failure) {
  for (unsigned i = 0; i < plan.rlimits.count; ++i) {
    const RlimitStep& step = begin_of(plan, plan.rlimits)[i];
    if (step.resource == RLIMIT_NOFILE && !set_limit(step, -1))
      return fail(failure, Stage::rlimit, i);
  }
  return true;
}

bool lock_cell(const Plan& plan, int proc, const char* scratch, int input, int* listener,
               Failure& failure) {
  if (!limit_namespace(plan, proc, failure)) return false;
  for (unsigned i = 0; i < plan.rlimits.count; ++i) {
    const RlimitStep& step = begin_of(plan, plan.rlimits)[i];
    if (step.resource != RLIMIT_NOFILE && !set_limit(step, proc))
      return fail(failure, Stage::rlimit, i);
  }
  if (!restrict_files(plan, scratch, input, failure)) return false;
  if (!drop_capabilities(plan, failure)) return false;
  // This memory may be the keeper's too, and a policy may allow ptrace: without this, nothing would
  // keep a tool out.
  if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0) return fail(failure, Stage::capabilities, 4);
  if (plan.lock_filter.count &&
      !load_filter(plan, plan.lock_filter,
                   SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
                   listener))
    return fail(failure, Stage::seccomp_lock);
  return true;
}

}  // namespace brig::helper
