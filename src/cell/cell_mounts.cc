// What a cell mounts for itself: its scratch space, listed paths on top of that, its own /proc.
#include <fcntl.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <errno.h>
#include <string.h>

#include "cell/helper.h"
#include "os/sys.h"

namespace brig::helper {
namespace {

using wire::Stage;

bool loopback_up(Failure& failure) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const bool ok = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  if (!ok) fail(failure, Stage::loopback_up);
  if (fd >= 0) close(fd);
  return ok;
}

// One tmpfs bounds /tmp, /dev/shm, HOME and the workspace together. It is staged where the
// workspace goes and then covered by its own part, so that no second path to the others is left.
bool mount_scratch(const Plan& plan, Failure& failure) {
  const char* stage = text(plan, plan.workspace);
  if (mount("scratch", stage, "tmpfs", MS_NOSUID | MS_NODEV, text(plan, plan.scratch_options)) != 0)
    return fail(failure, Stage::scratch);
  const PlanText* parts = begin_of(plan, plan.scratch_parts);
  for (unsigned i = 0; i + 1 < plan.scratch_parts.count; i += 2) {
    char path[4096];
    if (!join(path, stage, text(plan, parts[i])) || mkdir(path, 0755) != 0)
      return fail(failure, Stage::scratch, i);
    if (plan.single && plan.as_root && chown(path, plan.host_uid, plan.host_gid) != 0)
      return fail(failure, Stage::scratch, i);
    if (mount(path, text(plan, parts[i + 1]), nullptr, MS_BIND, nullptr) != 0)
      return fail(failure, Stage::scratch_bind, i);
  }
  return true;
}

// mkdir -p of what stands before the last component; the scratch space is the cell's own.
bool make_parents(const char* path) {
  char copy[4096];
  if (strlen(path) >= sizeof copy) return false;
  strcpy(copy, path);
  for (char* slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdir(copy, 0755) != 0 && errno != EEXIST && errno != EROFS) return false;
    *slash = '/';
  }
  return true;
}

// Listed paths below a scratch part, which would cover them, are put on top of it.
bool mount_late(const Plan& plan, Failure& failure) {
  const PlanText* pairs = begin_of(plan, plan.late_binds);
  for (unsigned i = 0; i + 1 < plan.late_binds.count; i += 2) {
    const char *from = text(plan, pairs[i]), *to = text(plan, pairs[i + 1]);
    struct stat info;
    if (stat(from, &info) != 0 || !make_parents(to)) return fail(failure, Stage::late_bind, i);
    if (S_ISDIR(info.st_mode)) {
      if (mkdir(to, 0755) != 0 && errno != EEXIST) return fail(failure, Stage::late_bind, i);
    } else {
      const int fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
      if (fd >= 0) close(fd);
    }
    if (mount(from, to, nullptr, MS_BIND | MS_REC, nullptr) != 0)
      return fail(failure, Stage::late_bind, i);
  }
  if (plan.late_binds.count &&
      mount("empty", text(plan, plan.aside), "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
            "size=4k,mode=0555") != 0)
    return fail(failure, Stage::late_bind);
  return true;
}

}  // namespace

bool mount_private(const Plan& plan, int* workspace, Failure& failure) {
  if (plan.loopback_up && !loopback_up(failure)) return false;
  if (!mount_scratch(plan, failure)) return false;
  // Before anything of the host's is mounted on top of it.
  if (plan.shows_workspace &&
      (*workspace = open(text(plan, plan.workspace), O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
    return fail(failure, Stage::scratch);
  if (!mount_late(plan, failure)) return false;
  // Read-only: nothing in it is the cell's to change, oom_score_adj and sysctls included.
  if (plan.single) {
    sys::MountAttr read_only{.set = sys::kAttrRdonly, .clear = 0, .propagation = 0, .userns_fd = 0};
    if (sys::mount_setattr(AT_FDCWD, "/proc", 0, &read_only) != 0)
      return fail(failure, Stage::proc);
  } else if (mount("proc", "/proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                   nullptr) != 0) {
    return fail(failure, Stage::proc);
  }
  for (unsigned i = 0; i < plan.proc_masks.count; ++i) {
    const char* path = text(plan, begin_of(plan, plan.proc_masks)[i]);
    if (mount("/dev/null", path, nullptr, MS_BIND, nullptr) != 0 && errno != ENOENT)
      return fail(failure, Stage::mask, i);
  }
  return true;
}

}  // namespace brig::helper
