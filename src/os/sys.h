// System calls that glibc 2.36 has no wrapper for, and constants that its headers lack. Inline,
// without allocation, errno on failure: usable between fork and exec, and in the helper.
#pragma once

#include <fcntl.h>
#include <linux/types.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <stddef.h>
#include <stdint.h>

namespace brig::sys {

// --- mounts: linux/mount.h clashes with sys/mount.h in glibc 2.36, so these have their own names
// ---
struct MountAttr {
  uint64_t set;
  uint64_t clear;
  uint64_t propagation;
  uint64_t userns_fd;
};
inline constexpr uint64_t kAttrRdonly = 0x1, kAttrNosuid = 0x2, kAttrNodev = 0x4, kAttrNoexec = 0x8,
                          kAttrIdmap = 0x00100000;
inline constexpr unsigned kOpenTreeClone = 1, kOpenTreeCloexec = O_CLOEXEC;
inline constexpr unsigned kMoveMountFromEmpty = 0x4, kMoveMountToEmpty = 0x40;
inline constexpr unsigned kAtRecursive = 0x8000;

inline int open_tree(int dir, const char* path, unsigned flags) {
  return static_cast<int>(syscall(SYS_open_tree, dir, path, flags));
}
inline int move_mount(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) {
  return static_cast<int>(syscall(SYS_move_mount, from_dir, from, to_dir, to, flags));
}
inline int mount_setattr(int dir, const char* path, unsigned flags, MountAttr* attr) {
  return static_cast<int>(syscall(SYS_mount_setattr, dir, path, flags, attr, sizeof *attr));
}
inline int fsopen(const char* type, unsigned flags) {
  return static_cast<int>(syscall(SYS_fsopen, type, flags));
}
inline int fsconfig_string(int fd, const char* key, const char* value) {
  return static_cast<int>(syscall(SYS_fsconfig, fd, 1u, key, value, 0));
}
inline int fsconfig_create(int fd) {
  return static_cast<int>(syscall(SYS_fsconfig, fd, 6u, nullptr, nullptr, 0));
}
inline int fsmount(int fd, unsigned flags, unsigned attributes) {
  return static_cast<int>(syscall(SYS_fsmount, fd, flags, attributes));
}
inline int pivot_root(const char* new_root, const char* put_old) {
  return static_cast<int>(syscall(SYS_pivot_root, new_root, put_old));
}

// --- path resolution ---
struct OpenHow {
  uint64_t flags, mode, resolve;
};
inline constexpr uint64_t kResolveNoXdev = 0x01, kResolveNoMagiclinks = 0x02,
                          kResolveNoSymlinks = 0x04, kResolveBeneath = 0x08;
inline int openat2(int dir, const char* path, OpenHow how) {
  return static_cast<int>(syscall(SYS_openat2, dir, path, &how, sizeof how));
}

// --- what a file is: musl 1.2.3 has no statx ---
struct Statx {
  uint32_t mask, block_size;
  uint64_t attributes;
  uint32_t links, uid, gid;
  uint16_t mode, unused;
  uint64_t inode, size, blocks, known_attributes;
  struct Time {
    int64_t seconds;
    uint32_t nanoseconds;
    int32_t unused;
  } accessed, born, changed, modified;
  uint32_t device[4];
  uint64_t rest[14];
};
static_assert(sizeof(Statx) == 256);
inline constexpr uint32_t kStatxBasic = 0x7ff;
// Linux 5.8.
inline constexpr uint64_t kStatxMountRoot = 0x2000;
// Of the path itself, also if it is a symlink.
inline int statx(const char* path, uint32_t mask, Statx* info) {
  return static_cast<int>(syscall(SYS_statx, AT_FDCWD, path,
                                  AT_SYMLINK_NOFOLLOW | 0x800 /* AT_NO_AUTOMOUNT */, mask, info));
}

// --- processes ---
// fork with flags. It returns twice, as fork does. Not for CLONE_VM. It skips glibc's at-fork work,
// so it is only for single-threaded programs that use nothing that glibc reseeds or relocks at
// fork.
inline pid_t clone_process(uint64_t flags, int* pidfd) {
#if defined(__x86_64__)
  return static_cast<pid_t>(syscall(SYS_clone, flags, nullptr, pidfd, nullptr, 0));
#else
  return static_cast<pid_t>(syscall(SYS_clone, flags, nullptr, pidfd, 0, nullptr));
#endif
}
// Moves a process to another CPU than the caller's, if it may use one. The scheduler tends to leave
// a new process on its parent's CPU and lets it wait there while the parent runs, even with other
// CPUs idle.
inline void send_away(pid_t pid) {
  cpu_set_t cpus;
  unsigned here = 0;
  if (syscall(SYS_getcpu, &here, nullptr, nullptr) != 0 || here >= CPU_SETSIZE ||
      sched_getaffinity(pid, sizeof cpus, &cpus) != 0 || !CPU_ISSET(here, &cpus))
    return;
  CPU_CLR(here, &cpus);
  // Refused if there is no other CPU. The process may come back at any time; only its start
  // matters.
  if (sched_setaffinity(pid, sizeof cpus, &cpus) != 0) return;
  CPU_SET(here, &cpus);
  sched_setaffinity(pid, sizeof cpus, &cpus);
}
inline int pidfd_open(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }
inline int pidfd_send_signal(int pidfd, int signal) {
  return static_cast<int>(syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}
inline int close_range(unsigned first, unsigned last, unsigned flags) {
  return static_cast<int>(syscall(SYS_close_range, first, last, flags));
}

// --- Landlock: the distribution's header stops at ABI 2 ---
struct LandlockRulesetAttr {
  uint64_t handled_fs;
  uint64_t handled_net;
  uint64_t scoped;
};
struct LandlockPathBeneath {
  uint64_t allowed;
  int32_t parent_fd;
} __attribute__((packed));
inline constexpr uint64_t kFsExecute = 1 << 0, kFsWriteFile = 1 << 1, kFsReadFile = 1 << 2,
                          kFsReadDir = 1 << 3, kFsRemoveDir = 1 << 4, kFsRemoveFile = 1 << 5,
                          kFsMakeChar = 1 << 6, kFsMakeDir = 1 << 7, kFsMakeReg = 1 << 8,
                          kFsMakeSock = 1 << 9, kFsMakeFifo = 1 << 10, kFsMakeBlock = 1 << 11,
                          kFsMakeSym = 1 << 12, kFsRefer = 1 << 13 /* ABI 2 */,
                          kFsTruncate = 1 << 14 /* 3 */, kFsIoctlDev = 1 << 15 /* 5 */;
inline constexpr uint64_t kNetBindTcp = 1, kNetConnectTcp = 2;       // ABI 4
inline constexpr uint64_t kScopeAbstractUnix = 1, kScopeSignal = 2;  // ABI 6

inline int landlock_abi() {
  return static_cast<int>(syscall(SYS_landlock_create_ruleset, nullptr, 0, 1u));
}
inline int landlock_create_ruleset(const LandlockRulesetAttr& attr, size_t size) {
  return static_cast<int>(syscall(SYS_landlock_create_ruleset, &attr, size, 0));
}
inline int landlock_add_path(int ruleset, const LandlockPathBeneath& rule) {
  return static_cast<int>(syscall(SYS_landlock_add_rule, ruleset, 1, &rule, 0));
}
inline int landlock_restrict_self(int ruleset) {
  return static_cast<int>(syscall(SYS_landlock_restrict_self, ruleset, 0));
}

}  // namespace brig::sys
