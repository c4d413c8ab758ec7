// Makes random system calls, as a seed says: random_calls SEED COUNT [alone]. A child makes them; this
// process ends well in any case, and leaves the rest to the cell's init. `alone`: this process makes them.
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "guest.h"
#include "traces.h"

static uint64_t state;

static uint64_t next(void) {  // xorshift64*
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 2685821657736338717ull;
}

static uint64_t below(uint64_t limit) { return next() % limit; }

// Those that end this process, wait for ever, or that only brig's own refusal meets.
static int is_skipped(long number) {
  static const int skipped[] = {SYS_exit,
                                SYS_exit_group,
                                SYS_pause,
                                SYS_rt_sigsuspend,
                                SYS_rt_sigreturn,
                                SYS_vfork,
                                SYS_rt_sigtimedwait,
                                SYS_clone3,
                                SYS_execve,
                                SYS_execveat,
                                SYS_ptrace,
                                SYS_mount,
                                SYS_umount2,
                                SYS_pivot_root,
                                SYS_chroot,
                                SYS_unshare,
                                SYS_setns,
                                SYS_sethostname,
                                SYS_setdomainname,
                                SYS_process_vm_readv,
                                SYS_process_vm_writev,
                                SYS_kcmp,
                                SYS_bpf,
                                SYS_perf_event_open,
                                SYS_userfaultfd,
                                SYS_fanotify_init,
                                SYS_fanotify_mark,
                                SYS_inotify_init,
                                SYS_inotify_init1,
                                SYS_inotify_add_watch,
                                SYS_lookup_dcookie,
                                SYS_name_to_handle_at,
                                SYS_open_by_handle_at,
                                SYS_move_pages,
                                SYS_migrate_pages,
                                SYS_vhangup,
                                SYS_syslog,
                                SYS_init_module,
                                SYS_finit_module,
                                SYS_delete_module,
                                SYS_kexec_load,
                                SYS_kexec_file_load,
                                SYS_reboot,
                                SYS_swapon,
                                SYS_swapoff,
                                SYS_acct,
                                SYS_quotactl,
                                SYS_iopl,
                                SYS_ioperm,
                                SYS_settimeofday,
                                SYS_clock_settime,
                                SYS_clock_adjtime,
                                SYS_adjtimex,
                                SYS_munmap,
                                SYS_mremap,
                                SYS_brk,
                                SYS_seccomp,
                                SYS_arch_prctl,
                                SYS_set_tid_address,
                                SYS_set_robust_list,
                                SYS_rseq,
                                SYS_mprotect};
  for (unsigned i = 0; i < sizeof skipped / sizeof *skipped; ++i)
    if (skipped[i] == number) return 1;
  return number >= 334 && number < 424;
}

static char arena[1 << 16] __attribute__((aligned(4096)));

static const char* some_path(void) {
  static char own[8][128];
  static const char* const paths[] = {"/tmp",
                                      "/tmp/a",
                                      "/tmp/a/b",
                                      "/dev/shm",
                                      "/dev/shm/a",
                                      "/workspace",
                                      "/workspace/a",
                                      "/var/tmp/a",
                                      "/dev/pts",
                                      "/dev/pts/ptmx",
                                      "/dev/ptmx",
                                      "/dev/pts/0",
                                      "/dev/null",
                                      "/dev/tty",
                                      "/proc/1/oom_score_adj",
                                      "/proc/self/oom_score_adj",
                                      "/proc/self/autogroup",
                                      "/proc/1/autogroup",
                                      "/proc/self/coredump_filter",
                                      "/proc/1/timerslack_ns",
                                      "/proc/self/fd",
                                      "/proc/sys/net/core/somaxconn",
                                      "/proc/self/mem",
                                      "/proc/self/comm",
                                      "/usr/bin/env",
                                      "/etc/passwd",
                                      "/",
                                      ".",
                                      "",
                                      "user.as-left",
                                      "a",
                                      "b",
                                      "tmpfs",
                                      "system.posix_acl_default",
                                      "system.posix_acl_access"};
  const char* path = paths[below(sizeof paths / sizeof *paths)];
  if (below(6) == 0 && getenv("HOME")) path = getenv("HOME");
  char* const copy = own[below(8)];
  snprintf(copy, sizeof own[0], "%s%s", path, below(8) == 0 ? "/x" : "");
  return copy;
}

// Some structure that a call may take for what it wants.
static void* some_structure(void) {
  char* const at = arena + below(64) * 512;
  switch (below(9)) {
    case 0: memset(at, 0, 512); break;
    case 1: *(struct timespec*)at = (struct timespec){0, (long)below(1000000)}; break;
    case 2: *(struct rlimit*)at = (struct rlimit){below(100), 100 + below(100000)}; break;
    case 3: *(struct iovec*)at = (struct iovec){arena, below(100)}; break;
    case 4: {
      struct sockaddr_un address = {.sun_family = AF_UNIX};
      strcpy(address.sun_path + below(2), below(2) ? "as-left" : "/tmp/s");
      memcpy(at, &address, sizeof address);
      break;
    }
    case 5: {
      // In flight.
      struct {
        struct msghdr header;
        struct iovec part;
        union {
          struct cmsghdr header;
          char bytes[CMSG_SPACE(sizeof(int))];
        } control;
      }* const all = (void*)at;
      const int fd = 3 + (int)below(16);
      memset(all, 0, sizeof *all);
      all->part = (struct iovec){arena, 1};
      all->control.header = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
      memcpy(CMSG_DATA(&all->control.header), &fd, sizeof fd);
      all->header = (struct msghdr){.msg_iov = &all->part,
                                    .msg_iovlen = 1,
                                    .msg_control = &all->control,
                                    .msg_controllen = sizeof all->control};
      break;
    }
    case 6: *(uint64_t*)at = next(); break;
    case 7:
      for (int i = 0; i < 16; ++i) ((uint32_t*)at)[i] = (uint32_t)below(16);
      break;
    default: memset(at, 0xff, 64);
  }
  return at;
}

static uint64_t argument(void) {
  switch (below(14)) {
    case 0: return 0;
    case 1: return below(4);
    case 2: return 1;              // The init.
    case 3: return 3 + below(16);  // A descriptor.
    case 4: return (uint64_t)AT_FDCWD;
    case 5:
    case 6:
    case 7: return (uint64_t)(uintptr_t)some_path();
    case 8:
    case 9: return (uint64_t)(uintptr_t)some_structure();
    case 10: return 1ull << below(32);
    case 11: return below(8192);
    case 12: return (uint64_t)-1ll;
    default: return next() >> below(64);
  }
}

static void make_descriptors(void) {
  int pair[2];
  (void)!open("/tmp", O_RDONLY | O_DIRECTORY);
  (void)!open("/tmp", O_TMPFILE | O_RDWR, 0600);
  (void)!socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  (void)!socket(AF_UNIX, SOCK_STREAM, 0);
  (void)!socket(AF_UNIX, SOCK_SEQPACKET, 0);
  (void)!pipe(pair);
  eventfd(0, EFD_NONBLOCK);
  epoll_create1(0);
  timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  memfd_create("as-left", MFD_ALLOW_SEALING);
  syscall(SYS_pidfd_open, 1, 0);
  (void)!open("/dev/shm", O_RDONLY | O_DIRECTORY);
  (void)!open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK);
  (void)!open("/dev/pts", O_RDONLY | O_DIRECTORY);
}

static void make_calls(uint64_t seed, long count) {
  state = seed * 0x9e3779b97f4a7c15ull + 1;
  // The calls by which state could be left come more often.
  static const short likely[] = {SYS_shmget,
                                 SYS_semget,
                                 SYS_msgget,
                                 SYS_bind,
                                 SYS_sendmsg,
                                 SYS_sendmmsg,
                                 SYS_setxattr,
                                 SYS_lsetxattr,
                                 SYS_fsetxattr,
                                 SYS_removexattr,
                                 SYS_utimensat,
                                 SYS_chmod,
                                 SYS_fchmod,
                                 SYS_chown,
                                 SYS_rename,
                                 SYS_renameat2,
                                 SYS_mkdir,
                                 SYS_rmdir,
                                 SYS_link,
                                 SYS_symlink,
                                 SYS_unlink,
                                 SYS_openat,
                                 SYS_open,
                                 SYS_ftruncate,
                                 SYS_fallocate,
                                 SYS_fcntl,
                                 SYS_flock,
                                 SYS_ioctl,
                                 SYS_prlimit64,
                                 SYS_setpriority,
                                 SYS_ioprio_set,
                                 SYS_sched_setaffinity,
                                 SYS_sched_setattr,
                                 SYS_sched_setscheduler,
                                 SYS_setrlimit,
                                 SYS_kill,
                                 SYS_tgkill,
                                 SYS_rt_sigqueueinfo,
                                 SYS_pidfd_send_signal,
                                 SYS_timer_create,
                                 SYS_timer_settime,
                                 SYS_setitimer,
                                 SYS_fork,
                                 SYS_clone,
                                 SYS_setsid,
                                 SYS_setpgid,
                                 SYS_prctl,
                                 SYS_mmap,
                                 SYS_write,
                                 SYS_splice,
                                 SYS_memfd_create,
                                 SYS_mknod,
                                 SYS_mq_open,
                                 SYS_keyctl,
                                 SYS_add_key,
                                 SYS_personality,
                                 SYS_umask,
                                 SYS_chdir,
                                 SYS_shmat,
                                 SYS_shmctl,
                                 SYS_semop,
                                 SYS_semctl,
                                 SYS_msgsnd,
                                 SYS_msgctl,
                                 SYS_listen,
                                 SYS_accept4};
  for (long i = 0; i < count; ++i) {
    long number = below(3) ? likely[below(sizeof likely / sizeof *likely)] : (long)below(451);
    if (is_skipped(number)) continue;
    uint64_t a[6];
    for (int j = 0; j < 6; ++j) a[j] = argument();
    // What kills this process tells nothing; a new stack or memory does so too.
    if ((number == SYS_kill || number == SYS_tkill) && (int)a[0] != 1) a[0] = 1;
    if (number == SYS_clone) a[0] = below(2) ? SIGCHLD : 0, a[1] = a[2] = a[3] = 0;
    if (number == SYS_mmap) a[0] = 0, a[3] &= ~(uint64_t)MAP_FIXED;
    if ((number == SYS_shmget || number == SYS_semget || number == SYS_msgget) && below(2))
      a[number == SYS_msgget ? 1 : 2] = 01600, a[1] = number == SYS_msgget ? a[1] : 1 + below(4);
    if (number == SYS_close || number == SYS_close_range || number == SYS_dup2) continue;
    if (getenv("BRIG_FUZZ_TELL"))
      fprintf(stderr, "%ld(%lx, %lx, %lx, %lx, %lx, %lx)\n", number, a[0], a[1], a[2], a[3], a[4],
              a[5]);
    syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  print_room(stdout);
  const int alone = argc > 3 && is(argv[3], "alone");
  const pid_t child = alone ? 0 : fork();
  if (child == 0) {
    alarm(alone ? 1 : 5);
    make_descriptors();
    make_calls(strtoull(argv[1], 0, 10), atol(argv[2]));
    _exit(0);
  }
  const struct timespec while_it_works = {0, 2000000};
  for (int i = 0; i < 50; ++i) {
    if (waitpid(child, 0, WNOHANG) == child) break;
    nanosleep(&while_it_works, 0);
  }
  _exit(0);
}
