// Namespaces, capabilities, prctl: ways to more rights.
#include <dirent.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "guest.h"

static long clone_with(unsigned long flags) {
  const long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) _exit(0);
  if (pid > 0) waitpid((pid_t)pid, 0, 0);
  return pid;
}

static long clone3_with(unsigned long flags) {
  struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};
  const long pid = syscall(SYS_clone3, &args, sizeof args);
  if (pid == 0) _exit(0);
  if (pid > 0) waitpid((pid_t)pid, 0, 0);
  return pid;
}

static void namespaces(void) {
  static const struct {
    const char* name;
    unsigned long flag;
    const char* file;
  } kinds[] = {{"user", CLONE_NEWUSER, "user"},       {"mount", CLONE_NEWNS, "mnt"},
               {"pid", CLONE_NEWPID, "pid"},          {"net", CLONE_NEWNET, "net"},
               {"ipc", CLONE_NEWIPC, "ipc"},          {"uts", CLONE_NEWUTS, "uts"},
               {"cgroup", CLONE_NEWCGROUP, "cgroup"}, {"time", 0x80, "time"}};
  char name[128];
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    snprintf(name, sizeof name, "unshare %s", kinds[i].name);
    refused(name, unshare((int)kinds[i].flag));
    if (kinds[i].flag != 0x80) {  // in clone(2) that bit is part of the exit signal
      snprintf(name, sizeof name, "clone %s", kinds[i].name);
      refused(name, clone_with(kinds[i].flag));
      snprintf(name, sizeof name, "clone %s with a dirty upper half", kinds[i].name);
      refused(name, clone_with(kinds[i].flag | 1ul << 40));
    }
    snprintf(name, sizeof name, "clone3 %s", kinds[i].name);
    refused(name, clone3_with(kinds[i].flag));
    for (int which = 0; which < 2; ++which) {
      char path[64];
      snprintf(path, sizeof path, "/proc/%s/ns/%s", which ? "1" : "self", kinds[i].file);
      const int fd = open(path, O_RDONLY);
      snprintf(name, sizeof name, "setns %s", path);
      refused(name, syscall(SYS_setns, fd, 0));
      snprintf(name, sizeof name, "parent of %s", path);
      refused(name, fd < 0 ? -1 : ioctl(fd, 0xb702 /* NS_GET_PARENT */));
    }
  }
  refused("unshare user and mount", unshare(CLONE_NEWUSER | CLONE_NEWNS));
  refused("setns by pidfd", syscall(SYS_setns, syscall(SYS_pidfd_open, 1, 0), CLONE_NEWNS));
  refused("sethostname", sethostname("x", 1));
  refused("setdomainname", setdomainname("x", 1));
}

static void capabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2] = {0}, all[2] = {{~0u, ~0u, ~0u}, {~0u, ~0u, ~0u}};
  works("capget", syscall(SYS_capget, &header, data));
  holds("no capability at all", !(data[0].effective | data[1].effective | data[0].permitted |
                                  data[1].permitted | data[0].inheritable | data[1].inheritable));
  refused("capset", syscall(SYS_capset, &header, all));
  int bounding = 0;
  for (int cap = 0; cap < 64; ++cap)
    if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1) ++bounding;
  holds("empty bounding set", bounding == 0);
  refused("raise ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0));
  // A tool that a policy calls root can't become anyone else either.
  const int named_root = getenv("USER") && !strcmp(getenv("USER"), "root");
  const unsigned other = named_root ? 1000 : 0;
  refused("setuid 0", syscall(SYS_setuid, other));
  refused("setresuid 0", syscall(SYS_setresuid, other, other, other));
  refused("setgid 0", syscall(SYS_setgid, other));
  gid_t groups[1] = {0};
  refused("setgroups", syscall(SYS_setgroups, 1, groups));
  syscall(SYS_setfsuid, other);
  holds("setfsuid 0 changes nothing", (int)syscall(SYS_setfsuid, -1) == (int)getuid());
  holds("not root", named_root ? getuid() == 0 && getgid() == 0
                               : getuid() != 0 && geteuid() != 0 && getgid() != 0);
}

static void prctls(void) {
  holds("no_new_privs is on", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
  refused("no_new_privs off", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
  refused("securebits", prctl(PR_SET_SECUREBITS, 0, 0, 0, 0));
  refused("keep capabilities", prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
  refused("PR_SET_MM", prctl(PR_SET_MM, PR_SET_MM_BRK, 4096, 0, 0));
  refused("PR_SET_MM with a dirty upper half",
          syscall(SYS_prctl, PR_SET_MM | 1ul << 32, PR_SET_MM_EXE_FILE, 0, 0, 0));
  refused("dumpable 2", prctl(PR_SET_DUMPABLE, 2, 0, 0, 0));
  refused("lower the seccomp mode", prctl(PR_SET_SECCOMP, 0, 0, 0, 0));
  holds("filtered", prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2);
  prctl(PR_SET_NAME, "brig-janitor", 0, 0, 0);  // a name is only a name
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  prctl(PR_SET_PTRACER, -1L, 0, 0, 0);
}

// The cell's init, and one's own children.
static void tracing(void) {
  refused("ptrace attach 1", ptrace(PTRACE_ATTACH, 1, 0, 0));
  refused("ptrace seize 1", ptrace(PTRACE_SEIZE, 1, 0, 0));
  refused("ptrace traceme", ptrace(PTRACE_TRACEME, 0, 0, 0));
  char byte[8];
  struct iovec local = {byte, sizeof byte}, remote = {(void*)0x400000, sizeof byte};
  refused("process_vm_readv 1", process_vm_readv(1, &local, 1, &remote, 1, 0));
  refused("process_vm_writev 1", process_vm_writev(1, &local, 1, &remote, 1, 0));
  refused("process_vm_readv self", process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
  refused("/proc/1/mem", open("/proc/1/mem", O_RDWR));
  refused("kcmp", syscall(SYS_kcmp, getpid(), 1, 0, 0, 0));
  refused("process_madvise",
          syscall(SYS_process_madvise, syscall(SYS_pidfd_open, 1, 0), &local, 1, MADV_DONTNEED, 0));
  refused("move_pages", syscall(SYS_move_pages, 1, 0, 0, 0, 0, 0));
  refused("migrate_pages", syscall(SYS_migrate_pages, 1, 0, 0, 0));
  struct rlimit more = {1 << 20, 1 << 20};
  refused("raise the file limit", setrlimit(RLIMIT_NOFILE, &more));
  more.rlim_cur = more.rlim_max = RLIM_INFINITY;
  refused("raise init's process limit", syscall(SYS_prlimit64, 1, RLIMIT_NPROC, &more, 0));
}

static int core_limit_is_one(void) {
  struct rlimit now = {0, 0};
  return getrlimit(RLIMIT_CORE, &now) == 0 && now.rlim_cur == 1 && now.rlim_max == 1;
}

// 1 is the only core limit under which the kernel starts no handler for a crash: no way leads to
// another, higher or lower.
static void core(void) {
  holds("the core limit is 1", core_limit_is_one());
  static const struct rlimit limits[] = {
      {0, 0}, {0, 1}, {4096, 4096}, {RLIM_INFINITY, RLIM_INFINITY}};
  struct rlimit old;
  for (unsigned i = 0; i < sizeof limits / sizeof *limits; ++i) {
    setrlimit(RLIMIT_CORE, &limits[i]);
    syscall(SYS_setrlimit, RLIMIT_CORE, &limits[i]);
    syscall(SYS_setrlimit, RLIMIT_CORE | 1ul << 32, &limits[i]);
    syscall(SYS_prlimit64, 0, RLIMIT_CORE, &limits[i], 0);
    syscall(SYS_prlimit64, getpid(), RLIMIT_CORE | 1ul << 32, &limits[i], 0);
    refused("set it and ask for the old one",
            syscall(SYS_prlimit64, 0, RLIMIT_CORE, &limits[i], &old));
  }
  holds("the core limit is still 1", core_limit_is_one());
  works("turn core dumps off", setrlimit(RLIMIT_CORE, &limits[0]));
  works("mkdir", mkdir("/tmp/crash", 0700));
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    setrlimit(RLIMIT_CORE, &limits[0]);
    (void)!chdir("/tmp/crash");
    abort();
  }
  int status = 0;
  waitpid(pid, &status, 0);
  holds("a crash is not dumped", WIFSIGNALED(status) && !WCOREDUMP(status));
  int files = 0;
  DIR* stream = opendir("/tmp/crash");
  for (const struct dirent* entry; stream && (entry = readdir(stream));)
    files += entry->d_name[0] != '.';
  holds("no core file", stream && files == 0);
}

// With the system calls of a debugger given back by the policy: on its own processes they work, on the
// init, in whose memory a keeper may work too, they do not.
static void debugging(void) {
  static char target[8] = "before";
  char bytes[8] = "after";
  struct iovec local = {bytes, sizeof bytes}, remote = {target, sizeof target};
  const pid_t own = fork();
  if (own == 0) {
    pause();
    _exit(0);
  }
  works("process_vm_writev to one's own", process_vm_writev(own, &local, 1, &remote, 1, 0));
  works("ptrace one's own", ptrace(PTRACE_SEIZE, own, 0, 0));
  kill(own, SIGKILL);
  waitpid(own, 0, 0);

  refused_with("ptrace attach 1", ptrace(PTRACE_ATTACH, 1, 0, 0), EPERM, EPERM);
  refused_with("ptrace seize 1", ptrace(PTRACE_SEIZE, 1, 0, 0), EPERM, EPERM);
  refused_with("process_vm_readv 1", process_vm_readv(1, &local, 1, &remote, 1, 0), EPERM, EPERM);
  refused_with("process_vm_writev 1", process_vm_writev(1, &local, 1, &remote, 1, 0), EPERM, EPERM);
  const int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
  works("pidfd_open 1", pidfd);
  // Of the advice that every kernel takes for others: who may give it is asked after that.
  refused_with("process_madvise 1",
               syscall(SYS_process_madvise, pidfd, &local, 1, 20 /* MADV_COLD */, 0), EPERM,
               EACCES);
  for (int fd = 0; fd < 16; ++fd)
    if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) != -1) refused("pidfd_getfd 1", 0);
  refused("pidfd_getfd 1", syscall(SYS_pidfd_getfd, pidfd, 0, 0));
  refused_with("kcmp 1", syscall(SYS_kcmp, getpid(), 1, 1 /* KCMP_VM */, 0, 0), EPERM, EPERM);
  int node = 0, status;
  void* page = target;
  refused_with("move_pages 1", syscall(SYS_move_pages, 1, 1, &page, &node, &status, 0), EPERM,
               ENOSYS);
  static const char* const files[] = {"mem",   "maps",    "smaps",      "pagemap", "environ",
                                      "auxv",  "syscall", "clear_refs", "fd",      "map_files",
                                      "cwd/.", "root/.",  "exe",        "stack",   "personality"};
  char path[64];
  for (unsigned i = 0; i < sizeof files / sizeof *files; ++i) {
    snprintf(path, sizeof path, "/proc/1/%s", files[i]);
    int fd = open(path, O_RDONLY);
    char byte;
    // Some are refused when they are read.
    if (fd >= 0 && read(fd, &byte, 1) < 1) fd = -1;
    refused(path, fd);
    refused(path, open(path, O_RDWR));
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (is(argv[1], "namespaces"))
    namespaces();
  else if (is(argv[1], "capabilities"))
    capabilities();
  else if (is(argv[1], "prctl"))
    prctls();
  else if (is(argv[1], "tracing"))
    tracing();
  else if (is(argv[1], "debugging"))
    debugging();
  else if (is(argv[1], "core"))
    core();
  else
    return 2;
  return guest_failed;
}
