// What a cell mounts for itself: its scratch space, the listed paths on top of it, and its own
// /proc. Also the scratch space of a zygote that loads its tools, which is made in the same way.
#include <fcntl.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <errno.h>
#include <string.h>

#include "helper/helper.h"
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
// workspace goes and then covered by its own part, so that no second path to the other parts is
// left.
bool mount_scratch(const Plan& plan, PlanText options, Failure& failure) {
  const char* stage = text(plan, plan.workspace);
  // Without times of access: a tool that lists /tmp leaves no trace in a room that is kept.
  if (mount("scratch", stage, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOATIME, text(plan, options)) != 0)
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

// Mounts terminals of the cell's own: each such mount is an instance that neither other cells nor
// programs of the host see. The kernel counts terminals for the whole machine, so one cell may have
// only a few. They get no group, because the cell has no id beside its user's.
bool mount_terminals(Failure& failure) {
  return mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC | MS_NOATIME,
               "mode=0620,ptmxmode=0666,max=16") == 0 ||
         errno == ENODEV ||  // A kernel without pseudo terminals.
         fail(failure, Stage::terminals);
}

// mkdir -p for everything before the last component. The scratch space belongs to the cell alone,
// and so does what is made in it.
bool make_parents(const Plan& plan, const char* path) {
  char copy[4096];
  if (strlen(path) >= sizeof copy) return false;
  strcpy(copy, path);
  for (char* slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdir(copy, 0755) == 0) {
      if (plan.single && plan.as_root && chown(copy, plan.host_uid, plan.host_gid) != 0)
        return false;
    } else if (errno != EEXIST && errno != EROFS) {
      return false;
    }
    *slash = '/';
  }
  return true;
}

// Whether the file at `path` has lost its name, as the kernel shows it. Other links to the file do
// not count.
bool has_lost_its_name(const char* path) {
  constexpr char kShown[] = " (deleted)";
  constexpr ssize_t kSize = sizeof kShown - 1;
  const int file = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return false;
  char link[64] = "/proc/self/fd/", target[4096];
  decimal(link + strlen(link), static_cast<unsigned long>(file));
  const ssize_t size = readlink(link, target, sizeof target);
  close(file);
  return size > kSize && memcmp(target + size - kSize, kShown, kSize) == 0;
}

// Makes the place where a listed path goes. Fails if something is there already: it is not this
// cell's own, so brig neither opens it nor mounts on it.
bool make_place(const Plan& plan, const char* path, bool directory) {
  if (!make_parents(plan, path)) return false;
  if (directory) return mkdir(path, 0755) == 0;
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

// The kernel refuses to mount a file that has lost its name: a listed file that editors, git or
// linkers have replaced by another. The zygote's copy of the mount still shows it, so a link leads
// there. Only in the scratch space: elsewhere the name belongs to the host, and so might the file.
bool link_late(const Plan& plan, const char* from, const char* to) {
  struct stat scratch, info;
  if (!has_lost_its_name(from)) return false;
  if (stat(text(plan, begin_of(plan, plan.scratch_parts)[1]), &scratch) != 0 ||
      lstat(to, &info) != 0 || info.st_dev != scratch.st_dev)
    return false;
  return (S_ISDIR(info.st_mode) ? rmdir(to) : unlink(to)) == 0 && symlink(from, to) == 0;
}

// Mounts listed paths on top of the scratch parts that would cover them. Each comes from where the
// zygote keeps it, with everything that is mounted on it: other listed paths, and what hides,
// protects or guards. So every name looked up here is in the scratch space, which no tool has seen
// yet, and never on the host, where tools and others make links. Sets `linked` if some of them are
// links.
bool mount_late(const Plan& plan, bool* linked, Failure& failure) {
  const PlanText* pairs = begin_of(plan, plan.late_binds);
  for (unsigned i = 0; i + 1 < plan.late_binds.count; i += 2) {
    const char *from = text(plan, pairs[i]), *to = text(plan, pairs[i + 1]);
    struct stat info;
    if (stat(from, &info) != 0 || !make_place(plan, to, S_ISDIR(info.st_mode)))
      return fail(failure, Stage::late_bind, i);
    if (mount(from, to, nullptr, MS_BIND | MS_REC, nullptr) == 0) continue;
    const int error = errno;
    if (error != ENOENT || !link_late(plan, from, to)) {
      errno = error;
      return fail(failure, Stage::late_bind, i);
    }
    *linked = true;
  }
  return true;
}

bool cover_directory(const char* path) {
  return mount("empty", path, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
               "size=4k,mode=0555") == 0;
}

// Covers the place where the zygote keeps them: no cell needs it any more, except for what a link
// leads to.
bool cover_aside(const Plan& plan, bool linked, Failure& failure) {
  if (!plan.late_binds.count) return true;
  if (!linked) return cover_directory(text(plan, plan.aside)) || fail(failure, Stage::late_bind);
  const PlanText* pairs = begin_of(plan, plan.late_binds);
  for (unsigned i = 0; i + 1 < plan.late_binds.count; i += 2) {
    const char* from = text(plan, pairs[i]);
    struct stat info;
    if (lstat(text(plan, pairs[i + 1]), &info) != 0) return fail(failure, Stage::late_bind, i);
    if (S_ISLNK(info.st_mode)) continue;
    if (!(S_ISDIR(info.st_mode) ? cover_directory(from)
                                : mount("/dev/null", from, nullptr, MS_BIND, nullptr) == 0))
      return fail(failure, Stage::late_bind, i);
  }
  return true;
}

// Whether the kernel's list of mounts has that place. It is the fifth field, in which four
// characters are written in octal.
bool is_listed(const char* path) {
  char place[8192];
  size_t size = 0;
  for (; *path; ++path) {
    if (size + 5 > sizeof place) return false;
    const bool octal = *path == ' ' || *path == '\t' || *path == '\n' || *path == '\\';
    if (octal) {
      place[size++] = '\\';
      for (int shift = 6; shift >= 0; shift -= 3)
        place[size++] = static_cast<char>('0' + ((*path >> shift) & 7));
    } else {
      place[size++] = *path;
    }
  }
  const int file = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  bool found = false;
  unsigned field = 0;
  // How many characters of this field are the same. More than the field can have: it differs.
  size_t same = 0;
  char bytes[4096];
  for (ssize_t count = 0; !found && (count = read(file, bytes, sizeof bytes)) > 0;)
    for (ssize_t i = 0; i < count && !found; ++i) {
      const char c = bytes[i];
      if (c == ' ' || c == '\n') {
        found = field == 4 && same == size;
        field = c == '\n' ? 0 : field + 1;
        same = 0;
      } else {
        same = same < size && place[same] == c ? same + 1 : size + 1;
      }
    }
  close(file);
  return found;
}

// Whether something is mounted at `path` or, unless it is `kept`, nothing exists there.
bool is_mounted(const char* path, bool kept) {
  sys::Statx info;
  if (sys::statx(path, 0, &info) != 0)
    // A tool can deny this look at its own directory, and allow it again later.
    return (!kept && (errno == ENOENT || errno == ENOTDIR)) || (errno == EACCES && is_listed(path));
  return (info.attributes & sys::kStatxMountRoot) != 0;
}

}  // namespace

bool guards_hold(const Plan& plan, unsigned* index) {
  for (*index = 0; *index < plan.guards.count; ++*index)
    if (!is_mounted(text(plan, begin_of(plan, plan.guards)[*index]), *index < plan.kept)) {
      errno = ESTALE;
      return false;
    }
  return true;
}

bool mount_load_scratch(const Plan& plan, Failure& failure) {
  bool linked = false;
  return mount_scratch(plan, plan.load_scratch, failure) && mount_late(plan, &linked, failure);
}

bool drop_load_scratch(const Plan& plan, Failure& failure) {
  const PlanText* parts = begin_of(plan, plan.scratch_parts);
  // Detached together with what is mounted on it, because a module may have a file open or mapped
  // there.
  for (unsigned i = plan.scratch_parts.count; i >= 2; i -= 2)
    if (umount2(text(plan, parts[i - 1]), MNT_DETACH) != 0)
      return fail(failure, Stage::load_scratch, i - 2);
  return umount2(text(plan, plan.workspace), MNT_DETACH) == 0 ||
         fail(failure, Stage::load_scratch, plan.scratch_parts.count);
}

bool mount_private(const Plan& plan, int* workspace, Failure& failure) {
  if (plan.loopback_up && !loopback_up(failure)) return false;
  if (!mount_scratch(plan, plan.scratch_options, failure)) return false;
  // Before anything of the host is mounted on top of it.
  if (plan.shows_workspace &&
      (*workspace = open(text(plan, plan.workspace), O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
    return fail(failure, Stage::scratch);
  bool linked = false;
  if (!mount_late(plan, &linked, failure) || !cover_aside(plan, linked, failure)) return false;
  // Read-only, because a cell may change nothing in it, including oom_score_adj and sysctls.
  if (plan.single) {
    sys::MountAttr read_only{.set = sys::kAttrRdonly, .clear = 0, .propagation = 0, .userns_fd = 0};
    if (sys::mount_setattr(AT_FDCWD, "/proc", 0, &read_only) != 0)
      return fail(failure, Stage::proc);
  } else if (mount("proc", "/proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                   nullptr) != 0) {
    return fail(failure, Stage::proc);
  }
  if (!mount_terminals(failure)) return false;
  for (unsigned i = 0; i < plan.proc_masks.count; ++i) {
    const char* path = text(plan, begin_of(plan, plan.proc_masks)[i]);
    if (mount("/dev/null", path, nullptr, MS_BIND, nullptr) != 0 && errno != ENOENT)
      return fail(failure, Stage::mask, i);
  }
  unsigned guard = 0;
  return guards_hold(plan, &guard) || fail(failure, Stage::guard, guard);
}

}  // namespace brig::helper
