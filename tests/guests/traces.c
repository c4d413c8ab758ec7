// All that a process can observe of the room it is in. See traces.h.
#include "traces.h"

#include <ctype.h>
#include <dirent.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/xattr.h>

#include "guest.h"

static FILE* out;

static void number(const char* name, long result) {
  if (result == -1)
    fprintf(out, "%s: %s\n", name, error_name(errno));
  else
    fprintf(out, "%s: %ld\n", name, result);
}

static void bytes(const char* name, const void* data, size_t size) {
  fprintf(out, "%s:", name);
  for (size_t i = 0; i < size; ++i) fprintf(out, " %02x", ((const unsigned char*)data)[i]);
  fputc('\n', out);
}

// --- files ---

static long long moment(struct statx_timestamp time) {
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static void attributes(const char* path) {
  char names[4096], value[4096];
  const ssize_t size = llistxattr(path, names, sizeof names);
  if (size <= 0) {
    number("  attributes", size);
    return;
  }
  for (const char* name = names; name < names + size; name += strlen(name) + 1) {
    const ssize_t got = lgetxattr(path, name, value, sizeof value);
    fprintf(out, "  attribute %s", name);
    bytes("", value, got > 0 ? (size_t)got : 0);
  }
}

static void show_file(const char* path, int top) {
  struct statx info;
  if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_ALL, &info) != 0) {
    number(path, -1);
    return;
  }
  fprintf(out,
          "%s mode %o links %u owner %u:%u size %llu blocks %llu device %x:%x flags %llx/%llx\n",
          path, info.stx_mode, info.stx_nlink, info.stx_uid, info.stx_gid,
          (unsigned long long)info.stx_size, (unsigned long long)info.stx_blocks,
          info.stx_rdev_major, info.stx_rdev_minor, (unsigned long long)info.stx_attributes,
          (unsigned long long)info.stx_attributes_mask);
  if (top) {
    long long last = moment(info.stx_atime);
    if (moment(info.stx_mtime) > last) last = moment(info.stx_mtime);
    if (moment(info.stx_ctime) > last) last = moment(info.stx_ctime);
    if (moment(info.stx_btime) > last) last = moment(info.stx_btime);
    fprintf(out, "time %s %lld\n", path, last);
  }
  if (S_ISLNK(info.stx_mode)) {
    char target[4096];
    const ssize_t size = readlink(path, target, sizeof target - 1);
    fprintf(out, "  to %.*s\n", size > 0 ? (int)size : 0, target);
  }
  attributes(path);
}

static int by_name(const void* a, const void* b) {
  return strcmp(*(char* const*)a, *(char* const*)b);
}

// The names in a directory, sorted. Ends with null.
static char** names_in(const char* path) {
  static char* none[] = {0};
  DIR* directory = opendir(path);
  if (!directory) return none;
  size_t count = 0, room = 16;
  char** names = malloc(room * sizeof *names);
  for (const struct dirent* entry; (entry = readdir(directory));) {
    if (is(entry->d_name, ".") || is(entry->d_name, "..")) continue;
    if (count + 1 == room) names = realloc(names, (room *= 2) * sizeof *names);
    names[count++] = strdup(entry->d_name);
  }
  closedir(directory);
  names[count] = 0;
  qsort(names, count, sizeof *names, by_name);
  return names;
}

// What is mounted below is the host's.
static void show_tree(const char* path, int top, int depth) {
  struct statx info;
  show_file(path, top);
  if (depth == 0 || statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_ALL, &info) != 0 ||
      !S_ISDIR(info.stx_mode))
    return;
  if (!top && (info.stx_attributes & STATX_ATTR_MOUNT_ROOT)) return;
  unsigned flags = 0;
  const int fd = open(path, O_RDONLY | O_DIRECTORY);
  fprintf(out, "  opens: %s\n", fd >= 0 ? "yes" : error_name(errno));
  if (fd >= 0) {
    if (ioctl(fd, _IOR('f', 1, long), &flags) == 0) fprintf(out, "  inode flags %x\n", flags);
    const int locked = flock(fd, LOCK_EX | LOCK_NB);
    fprintf(out, "  locks: %s\n", locked == 0 ? "yes" : error_name(errno));
    close(fd);
  }
  char child[8192];
  for (char** name = names_in(path); *name; ++name) {
    snprintf(child, sizeof child, "%s/%s", path, *name);
    show_tree(child, top && S_ISDIR(info.stx_mode) && is(path, "/dev/pts"), depth - 1);
  }
}

static void files(void) {
  const char* const home = getenv("HOME");
  const char* const roots[] = {"/tmp",       "/dev/shm",           "/var/tmp",
                               "/workspace", home ? home : "/tmp", "/dev/pts"};
  for (unsigned i = 0; i < sizeof roots / sizeof *roots; ++i) show_tree(roots[i], 1, 12);
  show_tree("/", 0, 1);
  show_tree("/dev", 0, 0);
  struct statfs space;
  if (statfs("/tmp", &space) == 0)
    fprintf(out, "scratch: %ld of %ld blocks, %ld of %ld inodes, flags %lx\n", (long)space.f_bfree,
            (long)space.f_blocks, (long)space.f_ffree, (long)space.f_files, (long)space.f_flags);
  const int unnamed = open("/tmp", O_TMPFILE | O_RDWR, 0600);
  number("O_TMPFILE", unnamed < 0 ? -1 : 0);
  close(unnamed);
}

// --- text files of the kernel's ---

static int begins(const char* line, const char* const* words) {
  for (; *words; ++words)
    if (!strncmp(line, *words, strlen(*words))) return 1;
  return 0;
}

// Line by line, without those that begin with one of `without`; of each line only the fields from
// `first`, and without field `not`. Digits become # if `vague`.
static void show_text(const char* path, const char* const* without, int first, int not, int vague) {
  fprintf(out, "%s:", path);
  const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    fprintf(out, " %s\n", error_name(errno));
    return;
  }
  static char text[1 << 18];
  size_t size = 0;
  ssize_t got = 0;
  while (size < sizeof text - 1 && (got = read(fd, text + size, sizeof text - 1 - size)) > 0)
    size += (size_t)got;
  if (got < 0) fprintf(out, " %s", error_name(errno));
  close(fd);
  text[size] = '\0';
  for (size_t i = 0; i < size; ++i)
    if (!text[i]) text[i] = ' ';
  fputc('\n', out);
  char* save = 0;
  for (char* line = strtok_r(text, "\n", &save); line; line = strtok_r(0, "\n", &save)) {
    if (without && begins(line, without)) continue;
    // The kernel shows these of the whole machine, whoever has them.
    if (strstr(line, " OFDLCK ")) continue;
    fputs("  ", out);
    int field = 0, in_field = 0;
    for (const char* c = line; *c; ++c) {
      const int space = *c == ' ' || *c == '\t';
      if (!space && !in_field) ++field;
      in_field = !space;
      if (field < first || field == not ) continue;
      // Slots of root's have users of their own.
      const int of_slot = c > line + 2 && !strncmp(c - 3, "id=", 3);
      if (of_slot && isdigit((unsigned char)*c)) {
        fputc('#', out);
        c += strspn(c, "0123456789") - 1;
        continue;
      }
      fputc(vague && isdigit((unsigned char)*c) ? '#' : *c, out);
    }
    fputc('\n', out);
  }
}

static void show_below(const char* path, const char* const* without, int depth) {
  struct stat info;
  if (lstat(path, &info) != 0) {
    number(path, -1);
    return;
  }
  if (begins(path, without)) return;
  if (S_ISREG(info.st_mode)) {
    fprintf(out, "mode %o owner %u ", info.st_mode, info.st_uid);
    if (info.st_mode & 0444) show_text(path, 0, 0, -1, 0);
    return;
  }
  if (!S_ISDIR(info.st_mode) || depth == 0) return;
  char child[8192];
  for (char** name = names_in(path); *name; ++name) {
    snprintf(child, sizeof child, "%s/%s", path, *name);
    show_below(child, without, depth - 1);
  }
}

static void kernel_files(void) {
  static const char* const volatile_lines[] = {
      "Name:",   "Pid:",  "Tgid:",   "NStgid:", "NSpid:",    "NSpgid:", "NSsid:",     "PPid:",
      "Vm",      "Rss",   "Hugetlb", "volunt",  "nonvolunt", "State:",  "Cpus_allow", "Mems_allow",
      "FDSize:", "Ngid:", "x86_",    0};
  show_text("/proc/self/status", volatile_lines, 0, -1, 0);
  show_text("/proc/1/status", volatile_lines, 0, -1, 0);
  static const char* const of_process[] = {"limits",
                                           "oom_score_adj",
                                           "timerslack_ns",
                                           "autogroup",
                                           "coredump_filter",
                                           "loginuid",
                                           "sessionid",
                                           "setgroups",
                                           "uid_map",
                                           "gid_map",
                                           "projid_map",
                                           "personality",
                                           "timens_offsets",
                                           "environ",
                                           "comm",
                                           "cmdline",
                                           "syscall",
                                           "stack",
                                           "io",
                                           "maps",
                                           0};
  for (const char* const* name = of_process; *name; ++name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/1/%s", *name);
    // What a copy of the host may have is on top of what the host had when it was copied. And init has
    // its tool's score for a moment, while it forks it.
    static const char* const of_host[] = {"Max data", "Max address", 0};
    if (!is(*name, "oom_score_adj"))
      show_text(path, of_host, 0, -1,
                is(*name, "uid_map") || is(*name, "gid_map") || is(*name, "autogroup"));
    if (is(*name, "comm")) break;
    snprintf(path, sizeof path, "/proc/self/%s", *name);
    show_text(path, of_host, 0, -1,
              is(*name, "uid_map") || is(*name, "gid_map") || is(*name, "autogroup"));
  }
  for (const char* const* name = of_process; *name; ++name) {
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, "/proc/1/%s", *name);
    if (lstat(path, &info) == 0)
      fprintf(out, "%s mode %o owner %u\n", path, info.st_mode, info.st_uid);
  }
  // Without the path: it counts how often the slot got new groups.
  static const char paths_of[][20] = {"/proc/self/cgroup", "/proc/1/cgroup"};
  for (int i = 0; i < 2; ++i) number(paths_of[i], access(paths_of[i], R_OK));
  // Without the numbers of mounts and devices.
  show_text("/proc/self/mountinfo", 0, 4, -1, 0);
  for (char** name = names_in("/proc/sysvipc"); *name; ++name) {
    char path[512];
    snprintf(path, sizeof path, "/proc/sysvipc/%s", *name);
    show_text(path, 0, 0, -1, 0);
  }
  show_text("/proc/net/unix", 0, 2, 7, 0);
  static const char* const of_net[] = {
      "sockstat", "sockstat6", "dev", "packet", "raw",      "raw6",  "tcp",       "tcp6", "udp",
      "udp6",     "route",     "arp", "igmp",   "if_inet6", "ptype", "dev_mcast", 0};
  for (const char* const* name = of_net; *name; ++name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/net/%s", *name);
    // The pages that sockets use are counted for the whole machine.
    static const char* const shared[] = {"TCP:", "UDP:", "TCP6:", "UDP6:", 0};
    show_text(path, begins(*name, (const char* const[]){"sockstat", 0}) ? shared : 0, 0, -1, 0);
  }
  show_text("/proc/locks", 0, 0, -1, 1);
  show_text("/proc/keys", 0, 0, -1, 1);
  show_text("/proc/key-users", 0, 0, -1, 1);
  show_text("/proc/tty/drivers", 0, 0, -1, 0);
  static const char* const counting[] = {"/proc/sys/kernel/ns_last_pid",
                                         "/proc/sys/kernel/random",
                                         "/proc/sys/kernel/pty/nr",
                                         "/proc/sys/kernel/perf",
                                         "/proc/sys/kernel/sched",
                                         "/proc/sys/kernel/tainted",
                                         "/proc/sys/kernel/io_uring",
                                         "/proc/sys/net/ipv4/tcp_fastopen_key",
                                         "/proc/sys/net/ipv6/conf/all/stable_secret",
                                         "/proc/sys/net/netfilter/nf_log",
                                         0};
  for (const char* const* path =
           (const char* const[]){"/proc/sys/net", "/proc/sys/user", "/proc/sys/fs/mqueue",
                                 "/proc/sys/kernel", 0};
       *path; ++path)
    show_below(*path, counting, 8);
}

static void others(void) {
  int count = 0;
  for (char** name = names_in("/proc"); *name; ++name) {
    const int pid = atoi(*name);
    if (pid <= 1 || pid == getpid()) continue;
    char path[512];
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    struct stat info;
    if (lstat(path, &info) != 0) continue;
    ++count;
    show_text(path, 0, 0, -1, 1);
  }
  fprintf(out, "other processes: %d\n", count);
  char text[1024];
  const int fd = open("/proc/1/stat", O_RDONLY);
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  text[size > 0 ? size : 0] = '\0';
  // Without times, memory and pointers: see proc_pid_stat(5).
  int field = 0;
  char* save = 0;
  fputs("/proc/1/stat:", out);
  for (char* word = strtok_r(text, " ", &save); word; word = strtok_r(0, " ", &save)) {
    ++field;
    if ((field >= 4 && field <= 8) || (field >= 18 && field <= 21) || field == 25 ||
        (field >= 31 && field <= 34) || field == 38 || field == 40 || field == 41)
      fprintf(out, " %s", word);
  }
  fputc('\n', out);
}

// --- objects with names ---

static void objects(void) {
  for (key_t key = 0x6c656674; key < 0x6c656674 + 3; ++key) {
    number("shmget", shmget(key, 0, 0) < 0 ? -1 : 0);
    number("semget", semget(key, 0, 0) < 0 ? -1 : 0);
    number("msgget", msgget(key, 0) < 0 ? -1 : 0);
  }
  // The first number is free: of eight bits of an index and a count.
  const mqd_t queue = mq_open("/as-left", O_RDONLY);
  number("mq_open", queue == (mqd_t)-1 ? -1 : 0);
  number("mq_unlink", mq_unlink("/as-left"));
  static const char* const names[] = {"as-left", "as-left-too", "x", 0};
  static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
  for (const char* const* name = names; *name; ++name)
    for (int i = 0; i < 3; ++i) {
      struct sockaddr_un address = {.sun_family = AF_UNIX};
      strcpy(address.sun_path + 1, *name);
      const int fd = socket(AF_UNIX, types[i] | SOCK_CLOEXEC, 0);
      number("abstract name", bind(fd, (struct sockaddr*)&address,
                                   (socklen_t)(sizeof(sa_family_t) + 1 + strlen(*name))));
      const int other = socket(AF_UNIX, types[i] | SOCK_CLOEXEC, 0);
      strcat(address.sun_path + 1, "-");
      number("nobody listens", connect(other, (struct sockaddr*)&address,
                                       (socklen_t)(sizeof(sa_family_t) + 2 + strlen(*name))));
      close(fd);
      close(other);
    }
  for (int kind = 0; kind < 3; ++kind) {
    const int fd = socket(AF_UNIX, types[kind], 0);
    number("socket", fd < 0 ? -1 : 0);
    close(fd);
  }
  int terminals = 0;
  for (int fd; terminals < 40 && (fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)) >= 0;
       ++terminals) {
    unsigned index = 0;
    ioctl(fd, TIOCGPTN, &index);
    fprintf(out, "terminal %u\n", index);
  }
  number("terminals", terminals);
}

static void locks(const char* place) {
  char path[4096];
  snprintf(path, sizeof path, "%s/file", place);
  if (!*place) return;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  number("listed file", fd < 0 ? -1 : 0);
  if (fd < 0) return;
  number("flock", flock(fd, LOCK_EX | LOCK_NB));
  struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
  number("fcntl lock", fcntl(fd, F_OFD_SETLK, &lock));
  number("lease", fcntl(fd, F_GETLEASE));
  close(fd);
}

// --- this process ---

static void descriptors(void) {
  for (char** name = names_in("/proc/self/fd"); *name; ++name) {
    const int fd = atoi(*name);
    struct stat info;
    if (fstat(fd, &info) != 0) continue;  // The directory that was read.
    int waiting = -1;
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_WRONLY) ioctl(fd, FIONREAD, &waiting);
    // A new pipe has 64 KiB, or 8 while all programs of its user have more pipes than the kernel
    // likes: that is of the machine's doing and not of an earlier call's.
    int size = fcntl(fd, F_GETPIPE_SZ);
    if (size > 0 && size < 64 * 1024) size = 64 * 1024;
    fprintf(out, "descriptor %d type %o flags %x %x owner %d signal %d size %d waiting %d\n", fd,
            info.st_mode & S_IFMT, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD), fcntl(fd, F_GETOWN),
            fcntl(fd, F_GETSIG), size, waiting);
  }
}

static void scheduling(int pid) {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
    uint32_t least, most;
  } attributes_of;
  memset(&attributes_of, 0, sizeof attributes_of);
  number("sched_getattr", syscall(SYS_sched_getattr, pid, &attributes_of, sizeof attributes_of, 0));
  bytes("  ", &attributes_of, sizeof attributes_of);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  number("affinity", sched_getaffinity(pid, sizeof cpus, &cpus));
  bytes("  ", &cpus, 16);
  number("ioprio", syscall(SYS_ioprio_get, 1, pid));
  errno = 0;
  const int nice_of = getpriority(PRIO_PROCESS, (id_t)pid);
  fprintf(out, "nice %d %s\n", nice_of, error_name(errno));
  for (int i = 0; i < RLIM_NLIMITS; ++i) {
    struct rlimit limit;
    if (prlimit(pid, (enum __rlimit_resource)i, 0, &limit) != 0) {
      fprintf(out, "limit %d: %s\n", i, error_name(errno));
      continue;
    }
    // These are on top of what the process that was copied had.
    if (i == RLIMIT_AS || i == RLIMIT_DATA) {
      fprintf(out, "limit %d: %s\n", i, limit.rlim_cur == RLIM_INFINITY ? "none" : "some");
      continue;
    }
    fprintf(out, "limit %d: %llu %llu\n", i, (unsigned long long)limit.rlim_cur,
            (unsigned long long)limit.rlim_max);
  }
}

static void itself(void) {
  const mode_t mask = umask(0);
  umask(mask);
  char text[4096];
  struct utsname names;
  uname(&names);
  fprintf(out, "umask %o cwd %s host %s %s\n", mask, getcwd(text, sizeof text) ? text : "?",
          names.nodename, names.machine);
  extern char** environ;
  for (char** each = environ; *each; ++each) fprintf(out, "environment %s\n", *each);
  fprintf(out, "session %s group %s parent %d\n", getsid(0) == getpid() ? "own" : "other",
          getpgrp() == getpid() ? "own" : "other", getppid());
  const int terminal = open("/dev/tty", O_RDWR);
  number("controlling terminal", terminal < 0 ? -1 : 0);
  uid_t users[3];
  gid_t groups[64];
  getresuid(users, users + 1, users + 2);
  fprintf(out, "users %u %u %u", users[0], users[1], users[2]);
  getresgid(groups, groups + 1, groups + 2);
  fprintf(out, " groups %u %u %u more %d\n", groups[0], groups[1], groups[2], getgroups(0, 0));
  sigset_t set;
  sigprocmask(SIG_SETMASK, 0, &set);
  bytes("blocked", &set, 8);
  sigpending(&set);
  bytes("pending", &set, 8);
  for (int i = 1; i <= 64; ++i) {
    struct sigaction action;
    if (sigaction(i, 0, &action) == 0 && action.sa_handler == SIG_IGN)
      fprintf(out, "ignores %d\n", i);
  }
  stack_t stack;
  sigaltstack(0, &stack);
  fprintf(out, "alternate stack %x %zu\n", stack.ss_flags, stack.ss_size);
  for (int which = 0; which < 3; ++which) {
    struct itimerval timer;
    getitimer((enum __itimer_which)which, &timer);
    fprintf(out, "timer %d %s\n", which,
            timer.it_value.tv_sec || timer.it_value.tv_usec ? "runs" : "none");
  }
  number("personality", syscall(SYS_personality, 0xffffffff));
  static const int asked[] = {PR_GET_DUMPABLE,   PR_GET_SECUREBITS, PR_GET_NO_NEW_PRIVS,
                              PR_GET_TIMERSLACK, PR_GET_KEEPCAPS,   PR_GET_THP_DISABLE,
                              PR_MCE_KILL_GET,   PR_GET_IO_FLUSHER, 0};
  for (const int* each = asked; *each; ++each) {
    fprintf(out, "prctl %d ", *each);
    number("", prctl(*each, 0, 0, 0, 0));
  }
  int value = 0;
  prctl(PR_GET_PDEATHSIG, &value);
  number("death signal", value);
  prctl(PR_GET_CHILD_SUBREAPER, &value);
  number("subreaper", value);
  for (int i = 0; i < 41; ++i) fprintf(out, "%d", prctl(PR_CAPBSET_READ, i, 0, 0, 0));
  fputc('\n', out);
  int policy = 0;
  unsigned long nodes[16] = {0};
  number("memory policy", syscall(SYS_get_mempolicy, &policy, nodes, sizeof nodes * 8, 0, 0));
  number("  ", policy);
  number("keyctl", syscall(SYS_keyctl, 0, -3, 0));
  scheduling(0);
  scheduling(1);
  errno = 0;
  fprintf(out, "nice of the group %d, of the user %d\n", getpriority(PRIO_PGRP, 0),
          getpriority(PRIO_USER, 0));
  fprintf(out, "ioprio of the group %ld, of the user %ld\n", syscall(SYS_ioprio_get, 2, 0),
          syscall(SYS_ioprio_get, 3, getuid()));
  struct rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  number("time of children", usage.ru_utime.tv_sec + usage.ru_utime.tv_usec +
                                 usage.ru_stime.tv_sec + usage.ru_stime.tv_usec);
}

// The mark of an earlier call, in memory that is this process's own.
static void memory(void) {
  FILE* maps = fopen("/proc/self/maps", "re");
  if (!maps) {
    number("maps", -1);
    return;
  }
  char line[8192];
  int found = 0;
  while (fgets(line, sizeof line, maps)) {
    unsigned long from, to;
    char rights[8], name[4096] = "";
    if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %4095s", &from, &to, rights, name) < 3) continue;
    if (rights[0] != 'r' || name[0] == '/' || to - from > (256ul << 20)) continue;
    if (name[0] == '[' && !is(name, "[heap]") && !is(name, "[stack]")) continue;
    for (const unsigned char* at = (const unsigned char*)from;
         at + kMarkSize <= (const unsigned char*)to; ++at) {
      int same = 0;
      while (same < kMarkSize && at[same] + kInvertedMark[same] == 0xff) ++same;
      found += same == kMarkSize;
    }
  }
  fclose(maps);
  number("marks in memory", found);
}

void print_traces(FILE* to, const char* place) {
  out = to;
  files();  // First, while no time has changed yet.
  descriptors();
  memory();
  others();
  kernel_files();
  itself();
  locks(place);
  objects();
}

#ifndef BRIG_NO_MAIN
// traces [PLACE]
int main(int argc, char** argv) {
  print_room(stdout);
  print_traces(stdout, argc > 1 ? argv[1] : "");
  return fflush(stdout) ? 1 : 0;
}
#endif
