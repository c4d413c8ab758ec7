// Calls that a cell must not have, by every door the processor offers.
#include <linux/filter.h>
#include <linux/in6.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "guest.h"

static void dangerous(void) {
  char block[256] = {0};
  refused("keyctl", syscall(SYS_keyctl, 0, -3, 1));
  refused("add_key", syscall(SYS_add_key, "user", "x", "y", 1, -3));
  refused("request_key", syscall(SYS_request_key, "user", "x", 0, -3));
  refused("bpf", syscall(SYS_bpf, 0, block, sizeof block));
  refused("perf_event_open", syscall(SYS_perf_event_open, block, 0, -1, -1, 0));
  refused("io_uring_setup", syscall(SYS_io_uring_setup, 4, block));
  refused("io_uring_enter", syscall(SYS_io_uring_enter, 0, 0, 0, 0, 0, 0));
  refused("io_uring_register", syscall(SYS_io_uring_register, 0, 0, 0, 0));
  refused("userfaultfd", syscall(SYS_userfaultfd, 1));
  refused("init_module", syscall(SYS_init_module, block, sizeof block, ""));
  refused("finit_module", syscall(SYS_finit_module, 0, "", 0));
  refused("delete_module", syscall(SYS_delete_module, "x", 0));
  refused("kexec_load", syscall(SYS_kexec_load, 0, 0, 0, 0));
  refused("kexec_file_load", syscall(SYS_kexec_file_load, -1, -1, 0, 0, 0));
  // Without the magic numbers: were it let through, EINVAL and not a reboot. Then the test below fails.
  refused_with("reboot", syscall(SYS_reboot, 0, 0, 0, 0), EPERM, ENOSYS);
  refused_with("swapon", syscall(SYS_swapon, "/nonexistent", 0), EPERM, ENOSYS);
  refused_with("swapoff", syscall(SYS_swapoff, "/nonexistent"), EPERM, ENOSYS);
  refused_with("acct", syscall(SYS_acct, "/nonexistent"), EPERM, ENOSYS);
  refused_with("quotactl", syscall(SYS_quotactl, 0, "/nonexistent", 0, 0), EPERM, ENOSYS);
  refused_with("quotactl_fd", syscall(SYS_quotactl_fd, 0, 0, 0, 0), EPERM, ENOSYS);
  refused("lookup_dcookie", syscall(SYS_lookup_dcookie, 0ul, block, sizeof block));
  refused("iopl", syscall(SYS_iopl, 3));
  refused("ioperm", syscall(SYS_ioperm, 0, 1, 1));
  refused_with("modify_ldt", syscall(SYS_modify_ldt, 0, block, sizeof block), ENOSYS, EPERM);
  refused("settimeofday", syscall(SYS_settimeofday, block, 0));
  refused("clock_settime", syscall(SYS_clock_settime, 0, block));
  refused("clock_adjtime", syscall(SYS_clock_adjtime, 0, block));
  refused("adjtimex", syscall(SYS_adjtimex, block));
  refused("vhangup", syscall(SYS_vhangup));
  refused("_sysctl", syscall(SYS__sysctl, block));
  refused("uselib", syscall(SYS_uselib, "/usr/lib"));
  refused("memfd_secret", syscall(447, 0));
  refused("remap_file_pages", syscall(SYS_remap_file_pages, block, 4096, 0, 0, 0));
  refused("personality READ_IMPLIES_EXEC", syscall(SYS_personality, READ_IMPLIES_EXEC));
  refused("personality ADDR_NO_RANDOMIZE", syscall(SYS_personality, ADDR_NO_RANDOMIZE));
  refused("personality PER_LINUX32", syscall(SYS_personality, PER_LINUX32));
  refused("personality with a dirty upper half",
          syscall(SYS_personality, 1ul << 32 | READ_IMPLIES_EXEC));
  works("personality, asked", syscall(SYS_personality, 0xffffffff));
}

// Options that take what all sockets of the machine share. Argument: the family of the socket.
static void options(int family) {
  struct sock_filter accept = {BPF_RET | BPF_K, 0, 0, 0xffff};
  struct sock_fprog program = {1, &accept};
  static const struct {
    const char* name;
    long level, option;
  } all[] = {{"filter", SOL_SOCKET, SO_ATTACH_FILTER},
             {"filter with dirty upper halves", 1l << 32 | SOL_SOCKET, 1l << 40 | SO_ATTACH_FILTER},
             {"BPF program", SOL_SOCKET, SO_ATTACH_BPF},
             {"filter of a group", SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF},
             {"BPF program of a group", SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF},
             {"flow label", IPPROTO_IPV6, IPV6_FLOWLABEL_MGR}};
  const int fd = socket(family, SOCK_DGRAM, 0);
  works("a socket", fd);
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i)
    refused_with(all[i].name,
                 syscall(SYS_setsockopt, fd, all[i].level, all[i].option, &program, sizeof program),
                 ENOPROTOOPT, ENOPROTOOPT);
  const int size = 8192;
  works("an ordinary option", setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size));
}

// Numbers that no one has looked at. refused_with ENOSYS: the filter's default, not an accident of arguments.
// 335 (uretprobe) is not here: since Linux 6.14 the kernel lets it pass every filter, and answers a stray one with SIGILL.
static void numbers(void) {
  char name[64];
  static const long wild[] = {-1,  -2,  -100, 400,  423,  500,   511,        512,           547,
                              548, 600, 999,  1024, 4096, 65535, 0x7fffffff, 0x40000000 - 1};
  for (unsigned i = 0; i < sizeof wild / sizeof *wild; ++i) {
    snprintf(name, sizeof name, "number %ld", wild[i]);
    refused_with(name, syscall(wild[i], 0, 0, 0, 0, 0, 0), ENOSYS, ENOSYS);
  }
  for (long number = 451; number <= 480; ++number) {
    snprintf(name, sizeof name, "number %ld", number);
    refused_with(name, syscall(number, 0, 0, 0, 0, 0, 0), ENOSYS, ENOSYS);
  }
  // A dirty upper half of the number register: the kernel looks at 32 bits, so must the filter.
  refused("mount with a dirty number",
          syscall((long)(SYS_mount | 1ul << 32), "x", "/tmp", "tmpfs", 0, 0));
  refused("keyctl with a dirty number", syscall((long)(SYS_keyctl | 1ul << 40), 0, -3, 1));
}

#if defined(__x86_64__)
static long int80(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("int $0x80"
                   : "=a"(result)
                   : "a"(number), "b"(a), "c"(b), "d"(c)
                   : "memory", "r8", "r9", "r10", "r11");
  if ((int)result < 0) {
    errno = -(int)result;
    return -1;
  }
  return result;
}

static void foreign(void) {
  char name[64];
  static const int x32[] = {0,
                            1,
                            2,
                            39 /* getpid */,
                            SYS_mount,
                            SYS_unshare,
                            SYS_keyctl,
                            SYS_socket,
                            SYS_open,
                            SYS_chmod,
                            512,
                            520 /* x32 execve */,
                            521 /* ptrace */,
                            528,
                            547};
  for (unsigned i = 0; i < sizeof x32 / sizeof *x32; ++i) {
    snprintf(name, sizeof name, "x32 number %d", x32[i]);
    refused(name, syscall(0x40000000L | x32[i], 0, 0, 0, 0, 0, 0));
  }
  // i386 numbers: getpid can't fail, so a refusal is the filter's.
  refused_with("int 0x80 getpid", int80(20, 0, 0, 0), ENOSYS, EPERM);
  refused_with("int 0x80 getuid", int80(199, 0, 0, 0), ENOSYS, EPERM);
  refused("int 0x80 mount", int80(21, 0, 0, 0));
  refused("int 0x80 socketcall", int80(102, 1, 0, 0));
  refused("int 0x80 keyctl", int80(288, 0, -3, 1));
  refused("int 0x80 unshare", int80(310, 0x10000000, 0, 0));
  refused("int 0x80 ptrace", int80(26, 0, 0, 0));
  refused("int 0x80 open", int80(5, 0, 0, 0));
}
#else
static void foreign(void) { holds("no foreign ABI on this machine", 1); }
#endif

static void* in_thread(void* name) {
  refused(name, syscall(SYS_unshare, 0x10000000));
  refused(name, syscall(SYS_keyctl, 0, -3, 1));
  return 0;
}

static volatile int traps;
static void on_sigsys(int signal) {
  (void)signal;
  ++traps;
}

// Filters of one's own, listeners, threads, handlers: the verdict stays.
static void loosen(void) {
  struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  struct sock_fprog program = {1, &allow};
  refused("filter with a listener", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                            SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
  refused("filter with a listener and TSYNC_ESRCH",
          syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | 1 | 16,
                  &program));
  refused("listener with dirty flags",
          syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                  1ul << 32 | SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
  pthread_t before;
  pthread_create(&before, 0, in_thread, "in a thread, before");
  pthread_join(before, 0);
  works("a looser second filter", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
  refused("after it: unshare", syscall(SYS_unshare, 0x10000000));
  refused("after it: mount", syscall(SYS_mount, "x", "/tmp", "tmpfs", 0, 0));
  refused("after it: keyctl", syscall(SYS_keyctl, 0, -3, 1));
  pthread_t after;
  pthread_create(&after, 0, in_thread, "in a thread, after");
  pthread_join(after, 0);
  signal(SIGSYS, on_sigsys);
  for (int i = 0; i < 3; ++i) refused("with a SIGSYS handler", syscall(SYS_unshare, 0x10000000));
  // A filter that answers "0, no error" fools its own process only.
  struct sock_filter lie[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},
                              {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_mount},
                              {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO},
                              {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  struct sock_fprog liar = {4, lie};
  works("a lying filter", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &liar));
  holds("mount then says 0", syscall(SYS_mount, "x", "/tmp", "tmpfs", 0, 0) == 0);
  FILE* mounts = fopen("/proc/self/mounts", "r");
  char line[4096];
  int mounted = 0;
  while (mounts && fgets(line, sizeof line, mounts)) mounted |= !strncmp(line, "x /tmp", 6);
  holds("and nothing was mounted", mounts && !mounted);
}

// Refusals by the hundred from processes that are killed in the midst of them: the supervisor must
// not wait for one that is gone. Argument: rounds.
static void storm(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const pid_t pid = fork();
    if (pid == 0)
      for (;;) syscall(SYS_unshare, 0x10000000);
    if (pid > 0) {
      usleep(i % 7 * 100);
      kill(pid, SIGKILL);
      int status;
      waitpid(pid, &status, 0);
    }
  }
  refused("unshare after the storm", syscall(SYS_unshare, 0x10000000));
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (is(argv[1], "dangerous"))
    dangerous();
  else if (is(argv[1], "numbers"))
    numbers();
  else if (is(argv[1], "foreign"))
    foreign();
  else if (is(argv[1], "loosen"))
    loosen();
  else if (is(argv[1], "storm") && argc == 3)
    storm(atoi(argv[2]));
  else if (is(argv[1], "options") && argc == 3)
    options(atoi(argv[2]));
  else if (is(argv[1], "one") && argc == 3) {  // the call with this number, and nothing else
    refused("call", syscall(atol(argv[2]), 0, 0, 0, 0, 0, 0));
  } else
    return 2;
  return guest_failed;
}
