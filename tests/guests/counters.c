// Takes what the kernel counts per user or per machine, not per cell. Arguments: what, and "hold" or "use".
// hold: takes all it can, says how much on its stdin, a socket, and keeps it until that is closed.
// use: takes what an ordinary program needs, and says whether it got it.
#include <arpa/inet.h>
#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/in6.h>
#include <linux/seccomp.h>
#include <linux/sock_diag.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "guest.h"

enum { kMost = 200000 };  // of anything, even if no limit holds

static long queue_signal(void) {
  return sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 1});
}

static long open_queue(void) {
  static int made;
  char name[64];
  snprintf(name, sizeof name, "/brig-%d-%d", getpid(), made++);
  struct mq_attr attributes = {.mq_maxmsg = 8, .mq_msgsize = 8192};
  const long queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attributes);
  mq_unlink(name);
  return queue;
}

// A timer has its signal with it.
static long make_timer(void) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
  return timer_create(CLOCK_MONOTONIC, &event, &timer);
}

static long set_up_aio(void) {
  aio_context_t context = 0;
  return syscall(SYS_io_setup, 65536, &context);
}

static long small_aio(void) {
  aio_context_t context = 0;
  return syscall(SYS_io_setup, 16, &context);
}

static long make_watcher(void) { return inotify_init1(0); }

// Of a file of its own.
static long watch_file(void) {
  static int instance = -1, made;
  char name[64];
  snprintf(name, sizeof name, "/tmp/watched-%d", made++);
  const int fd = open(name, O_CREAT | O_WRONLY, 0600);
  if (fd < 0 || (instance < 0 && (instance = inotify_init1(0)) < 0)) return -1;
  close(fd);
  return inotify_add_watch(instance, name, IN_CLOSE);
}

static long watch_root(void) { return inotify_add_watch(inotify_init1(0), "/", IN_OPEN); }

static long make_process(void) {
  const pid_t child = fork();
  if (child == 0)
    for (;;) pause();
  return child;
}

static long run_process(void) {
  int status = -1;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : -1;
}

// As large as may be.
static long make_large_pipe(void) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  return fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
}

static long use_pipe(void) {
  int ends[2];
  char page[4096] = {0};
  if (pipe2(ends, O_NONBLOCK) != 0) return -1;
  return write(ends[1], page, sizeof page) == sizeof page ? 0 : -1;
}

static long lock_page(void) {
  void* page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? -1 : mlock(page, 4096);
}

// A process that has as many files open as it may.
static long open_files(void) {
  int ends[2];
  char byte;
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    while (open("/dev/null", O_RDONLY) >= 0) {
    }
    (void)!write(ends[1], "", 1);
    close(ends[1]);
    pause();
    _exit(0);
  }
  close(ends[1]);
  if (child > 0) (void)!read(ends[0], &byte, 1);
  close(ends[0]);
  return child > 0 ? 0 : -1;
}

static long open_file(void) { return open("/dev/null", O_RDONLY); }

// One more watch; of the same pipe, by one epoll instance after the other.
static long watch(void) {
  static int ends[2] = {-1, -1};
  if (ends[0] < 0 && pipe(ends) != 0) return -1;
  static int others[64], count, instance = -1;
  if (count == 0)
    while (count < 64 && (others[count] = dup(ends[0])) >= 0) ++count;
  static int next;
  if (next == 0 && (instance = epoll_create1(0)) < 0) return -1;
  struct epoll_event event = {.events = EPOLLIN};
  const int result = epoll_ctl(instance, EPOLL_CTL_ADD, others[next], &event);
  next = (next + 1) % count;
  return result;
}

// A process that has as many watches as it may, of 16.
static long watch_in_a_process(void) {
  static int processes;
  int ends[2];
  long all = 0;
  if (processes++ == 16 || pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    while (watch() >= 0) ++all;
    (void)!write(ends[1], &all, sizeof all);
    for (;;) pause();
  }
  close(ends[1]);
  if (child > 0) (void)!read(ends[0], &all, sizeof all);
  close(ends[0]);
  return all > 64 ? 0 : -1;
}

// 250 descriptors more in flight; the receiver never takes them.
static long send_descriptors(void) {
  static int ends[2] = {-1, -1};
  if (ends[0] < 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) return -1;
  enum { kCount = 250 };
  static union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * kCount)];
  } control;
  char byte = 0;
  struct iovec iov = {&byte, 1};
  struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  control.header.cmsg_level = SOL_SOCKET;
  control.header.cmsg_type = SCM_RIGHTS;
  control.header.cmsg_len = CMSG_LEN(sizeof(int) * kCount);
  int* fds = (int*)CMSG_DATA(&control.header);
  for (int i = 0; i < kCount; ++i) fds[i] = ends[0];
  return sendmsg(ends[1], &message, MSG_DONTWAIT);
}

// Fills the buffer of one more UDP socket of the loopback interface; bytes that are in it.
static long fill_socket(void) {
  static int sender = -1;
  static char block[60000];
  if (sender < 0) sender = socket(AF_INET, SOCK_DGRAM, 0);
  const int fd = socket(AF_INET, SOCK_DGRAM, 0), size = 64 << 20;
  struct sockaddr_in address = {.sin_family = AF_INET};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (fd < 0 || bind(fd, (struct sockaddr*)&address, length) != 0 ||
      getsockname(fd, (struct sockaddr*)&address, &length) != 0)
    return -1;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  for (int i = 0; i < 8; ++i)
    sendto(sender, block, sizeof block, MSG_DONTWAIT, (struct sockaddr*)&address, length);
  unsigned memory[SK_MEMINFO_VARS] = {0};
  length = sizeof memory;
  if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &length) != 0) return -1;
  return (long)memory[SK_MEMINFO_RMEM_ALLOC];
}

// A datagram, there and back.
static long use_socket(void) {
  char byte = 0;
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (fd < 0 || bind(fd, (struct sockaddr*)&address, length) != 0 ||
      getsockname(fd, (struct sockaddr*)&address, &length) != 0 ||
      sendto(fd, &byte, 1, 0, (struct sockaddr*)&address, length) != 1)
    return -1;
  return recv(fd, &byte, 1, MSG_DONTWAIT) == 1 ? 0 : -1;
}

// The sum for `most` sockets, in MiB.
static long fill_sockets(long most) {
  long sum = 0;
  for (long i = 0; i < most; ++i) {
    const long bytes = fill_socket();
    if (bytes < 0) break;
    sum += bytes;
  }
  return sum >> 20;
}

// A filter of one more socket, of as many instructions as may be.
static long attach_filter(void) {
  static struct sock_filter code[BPF_MAXINSNS];
  for (unsigned i = 0; i < BPF_MAXINSNS; ++i)
    code[i] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4);
  code[BPF_MAXINSNS - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0xffff);
  struct sock_fprog program = {BPF_MAXINSNS, code};
  const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  return fd < 0 ? -1 : setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

// What each cell needs to start, and programs such as browsers for themselves. The kernel takes memory for
// it from where filters of sockets have theirs.
static long load_seccomp_filter(void) {
  struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {1, &allow};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

// One more flow label, of a new socket if the last one has as many as it may.
static long get_flow_label(void) {
  static int fd = -1;
  struct in6_flowlabel_req request = {.flr_dst = IN6ADDR_LOOPBACK_INIT,
                                      .flr_action = IPV6_FL_A_GET,
                                      .flr_share = IPV6_FL_S_EXCL,
                                      .flr_flags = IPV6_FL_F_CREATE};
  for (int tries = 0; tries < 2; ++tries) {
    if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, &request, sizeof request) == 0)
      return 0;
    if (tries == 0) fd = socket(AF_INET6, SOCK_DGRAM, 0);
  }
  return -1;
}

// A terminal, and its other side.
static long open_terminal(void) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0) return -1;
  if (grantpt(master) != 0 || unlockpt(master) != 0) return -1;
  return open(ptsname(master), O_RDWR | O_NOCTTY);
}

static const struct {
  const char* name;
  long (*take)(void);
  long (*use)(void);
} kinds[] = {{"signals", queue_signal, queue_signal},
             {"queues", open_queue, open_queue},
             {"aio", set_up_aio, small_aio},
             {"timers", make_timer, make_timer},
             {"watchers", make_watcher, make_watcher},
             {"file-watches", watch_file, watch_root},
             {"processes", make_process, run_process},
             {"many-watches", watch_in_a_process, watch},
             {"pipes", make_large_pipe, use_pipe},
             {"descriptors", send_descriptors, 0},
             {"locked", lock_page, lock_page},
             {"files", open_files, open_file},
             {"watches", watch, watch},
             {"sending", send_descriptors, send_descriptors},
             {"large-pipes", make_large_pipe, make_large_pipe},
             {"filters", attach_filter, load_seccomp_filter},
             {"labels", get_flow_label, get_flow_label},
             {"buffers", fill_socket, use_socket},
             {"terminals", open_terminal, open_terminal}};

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN);
  sigprocmask(SIG_BLOCK, &set, 0);
  if (is(argv[1], "sockets")) {
    printf("MiB %ld\n", fill_sockets(atol(argv[2])));
    return 0;
  }
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    if (!is(argv[1], kinds[i].name)) continue;
    if (is(argv[2], "use")) {
      if (kinds[i].use) works(argv[1], kinds[i].use());
      return guest_failed;
    }
    long taken = 0;
    while (taken < kMost && kinds[i].take() >= 0) ++taken;
    char line[64];
    snprintf(line, sizeof line, "%ld\n", taken);
    (void)!write(0, line, strlen(line));
    while (read(0, line, sizeof line) > 0) {
    }
    return 0;
  }
  return 2;
}
