#include "helper/room_check.h"

#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <errno.h>
#include <string.h>

namespace brig::helper {
namespace {

using State = wire::RoomState;

bool same(const void* one, const void* other, size_t size) { return memcmp(one, other, size) == 0; }

}  // namespace

bool RoomCheck::look(Place& place) {
  memset(&place.info, 0, sizeof place.info);
  if (sys::statx(place.path, sys::kStatxBasic, &place.info) != 0) return false;
  // A symlink stands for a listed path that could not be mounted. A tool can put another in its
  // place.
  if (S_ISLNK(place.info.mode)) return errno = ELOOP, false;
  place.attributes = syscall(SYS_listxattr, place.path, nullptr, 0ul);
  return place.attributes >= 0 || errno == EOPNOTSUPP;
}

bool RoomCheck::add(const char* path) {
  for (unsigned i = 0; i < place_count_; ++i)
    if (!strcmp(places_[i].path, path)) return true;
  if (place_count_ == kMaxPlaces) return false;
  Place& place = places_[place_count_++];
  place.path = path;
  return look(place);
}

// The directories above a listed path that is mounted below HOME, /tmp or the workspace. They are
// the cell's own, so a tool could move them, and the mount with them.
bool RoomCheck::add_parents(const Plan& plan, const char* path) {
  const PlanText* parts = begin_of(plan, plan.scratch_parts);
  size_t root = 0;
  for (unsigned i = 0; i + 1 < plan.scratch_parts.count; i += 2) {
    const char* part = text(plan, parts[i + 1]);
    const size_t size = strlen(part);
    if (size > root && !strncmp(path, part, size) && path[size] == '/') root = size;
  }
  if (root == 0) return true;
  struct stat info;
  if (lstat(path, &info) != 0 || S_ISLNK(info.st_mode)) return false;
  for (const char* slash = strchr(path + root + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    const size_t size = static_cast<size_t>(slash - path);
    if (size + 1 > sizeof paths_ - paths_used_) return false;
    char* copy = paths_ + paths_used_;
    memcpy(copy, path, size);
    copy[size] = '\0';
    const unsigned before = place_count_;
    if (!add(copy)) return false;
    if (place_count_ != before) paths_used_ += size + 1;
  }
  return true;
}

bool RoomCheck::count(Counts& counts, State& what) const {
  memset(&counts, 0, sizeof counts);
  struct statfs space;
  what = State::space;
  if (statfs(scratch_, &space) != 0) return false;
  counts.blocks = space.f_blocks;
  counts.free_blocks = space.f_bfree;
  counts.inodes = space.f_files;
  counts.free_inodes = space.f_ffree;
  what = State::ipc;
  struct {
    int used;
    unsigned long total, resident, swapped, attempts, successes;
  } memory{};  // struct shm_info
  struct seminfo sets {};
  struct msginfo queues {};
  if (syscall(SYS_shmctl, 0, SHM_INFO, &memory) < 0 ||
      syscall(SYS_semctl, 0, 0, SEM_INFO, &sets) < 0 ||
      syscall(SYS_msgctl, 0, MSG_INFO, &queues) < 0)
    return false;
  counts.shared_memory = memory.used;
  counts.semaphores = sets.semusz;
  counts.queues = queues.msgpool;
  what = State::sockets;
  const ssize_t size = pread(sockets_, counts.sockets, sizeof counts.sockets - 1, 0);
  char* end = size > 0 ? strchr(counts.sockets, '\n') : nullptr;
  if (!end || strncmp(counts.sockets, "sockets: used ", 14) != 0) return false;
  memset(end, 0, static_cast<size_t>(counts.sockets + sizeof counts.sockets - end));
  return true;
}

bool RoomCheck::look_at_self(Self& self) {
  memset(&self, 0, sizeof self);
  for (unsigned i = 0; i < RLIM_NLIMITS; ++i)
    // Not prlimit: the filters look at its arguments, and at these calls' only once.
    if (syscall(SYS_getrlimit, i, &self.limits[i]) != 0) return false;
  if (syscall(SYS_sched_getaffinity, 0, sizeof self.cpus, &self.cpus) < 0) return false;
  if (syscall(SYS_sched_getattr, 0, self.scheduling, sizeof self.scheduling, 0) != 0) return false;
  self.io_priority = syscall(SYS_ioprio_get, 1 /* IOPRIO_WHO_PROCESS */, 0);
  return self.io_priority >= 0;
}

State RoomCheck::compare_self(const Self& before, const Self& now) {
  if (!same(before.limits, now.limits, sizeof now.limits)) return State::limits;
  if (!same(&before.cpus, &now.cpus, sizeof now.cpus) ||
      !same(before.scheduling, now.scheduling, sizeof now.scheduling) ||
      before.io_priority != now.io_priority)
    return State::scheduling;
  return State::as_new;
}

bool RoomCheck::begin(const Plan& plan, int sockets) {
  const PlanText* parts = begin_of(plan, plan.scratch_parts);
  if (plan.scratch_parts.count < 2 || sockets < 0) return false;
  scratch_ = text(plan, parts[1]);
  sockets_ = sockets;
  place_count_ = 0;
  paths_used_ = 0;
  for (unsigned i = 0; i + 1 < plan.scratch_parts.count; i += 2)
    if (!add(text(plan, parts[i + 1]))) return false;
  for (unsigned i = 0; i + 1 < plan.late_binds.count; i += 2)
    if (!add_parents(plan, text(plan, begin_of(plan, plan.late_binds)[i + 1]))) return false;
  // A kernel without terminals has neither; then this room is not kept.
  if (!add("/dev/pts") || !add("/dev/pts/ptmx")) return false;
  State what;
  return count(counts_, what) && look_at_self(self_);
}

State RoomCheck::compare() const {
  Counts counts;
  State what;
  if (!count(counts, what)) return State::unknown;
  if (counts.blocks != counts_.blocks || counts.free_blocks != counts_.free_blocks ||
      counts.inodes != counts_.inodes || counts.free_inodes != counts_.free_inodes)
    return State::space;
  if (counts.shared_memory != counts_.shared_memory || counts.semaphores != counts_.semaphores ||
      counts.queues != counts_.queues)
    return State::ipc;
  if (!same(counts.sockets, counts_.sockets, sizeof counts.sockets)) return State::sockets;
  for (unsigned i = 0; i < place_count_; ++i) {
    Place now{};
    now.path = places_[i].path;
    if (!look(now)) return State::unknown;
    if (!same(&now.info, &places_[i].info, sizeof now.info)) return State::inode;
    if (now.attributes != places_[i].attributes) return State::attributes;
  }
  Self self;
  if (!look_at_self(self)) return State::unknown;
  if (const State difference = compare_self(self_, self); difference != State::as_new)
    return difference;
  // pid 1 blocks no signal and has a handler for each that it does not ignore. So none waits.
  uint64_t pending = 0;
  if (syscall(SYS_rt_sigpending, &pending, sizeof pending) != 0) return State::unknown;
  return pending == 0 ? State::as_new : State::signals;
}

}  // namespace brig::helper
