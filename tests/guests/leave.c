// Leaving something in a room for whoever comes after: one way for each run. See traces.h. What the
// kernel refuses is no mistake of this program's; the test sees to it that something was left.
#include <dirent.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>

#include "guest.h"
#include "traces.h"

enum { kInit = 1 };
static const key_t kKey = 0x6c656674;

static const char* home(void) { return getenv("HOME") ? getenv("HOME") : "/tmp"; }

static const char* mark(void) {
  static char text[kMarkSize + 1];
  for (int i = 0; i < kMarkSize; ++i) text[i] = (char)(kInvertedMark[i] ^ 0xff);
  return text;
}

// In a static place: all of it is a process's own.
static const char* below(const char* directory, const char* name) {
  static char path[4][4096];
  static unsigned next;
  char* const result = path[next++ % 4];
  snprintf(result, sizeof path[0], "%s/%s", directory, name);
  return result;
}

// For a way that is gone whatever the kernel said.
static int done(long result) {
  (void)result;
  return 1;
}

static int make_file(const char* path) {
  const int fd = open(path, O_RDWR | O_CREAT, 0666);
  if (fd >= 0) (void)!write(fd, mark(), kMarkSize);
  return fd;
}

// A process that lives on, and has done nothing yet when it begins. 0 in that process.
static int begin_daemon(void) {
  int ready[2];
  (void)!pipe(ready);
  if (fork()) {
    char byte;
    close(ready[1]);
    (void)!read(ready[0], &byte, 1);  // Until it has done what it is for.
    close(ready[0]);
    return 1;
  }
  close(ready[0]);
  setsid();
  if (fork()) _exit(0);
  alarm(60);
  return -ready[1];
}

static void stay(int ready) {
  (void)!write(ready, "", 1);
  for (;;) pause();
}

static struct sockaddr_un local(const char* path, socklen_t* size) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  *size = (socklen_t)(sizeof(sa_family_t) + strlen(path) + (path[0] == '@' ? 0 : 1));
  if (path[0] == '@') address.sun_path[0] = '\0';
  return address;
}

static int bound(const char* path, int type) {
  socklen_t size;
  const struct sockaddr_un address = local(path, &size);
  const int fd = socket(AF_UNIX, type, 0);
  if (bind(fd, (const struct sockaddr*)&address, size) == 0) listen(fd, 5);
  return fd;
}

static int connected(const char* path, int type) {
  socklen_t size;
  const struct sockaddr_un address = local(path, &size);
  const int fd = socket(AF_UNIX, type, 0);
  (void)!connect(fd, (const struct sockaddr*)&address, size);
  return fd;
}

static long send_fd(int to, int fd, const struct sockaddr_un* address, socklen_t address_size) {
  char byte = 'x';
  struct iovec part = {&byte, 1};
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
  memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof control.bytes,
                           .msg_name = (void*)address,
                           .msg_namelen = address_size};
  return sendmsg(to, &message, MSG_NOSIGNAL);
}

// Two sockets, each in flight in the other, with `fd`: nobody but the kernel refers to them.
static void fly_in_circles(int fd) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return;
  send_fd(pair[0], fd, 0, 0);
  send_fd(pair[0], pair[0], 0, 0);
  send_fd(pair[1], pair[1], 0, 0);
  close(pair[0]);
  close(pair[1]);
  close(fd);
}

static void* wait_for_ever(void* unused) {
  for (;;) pause();
  return unused;
}

static int on_stack_of_its_own(void* unused) {
  (void)unused;
  for (;;) pause();
  return 0;
}

static int clone_of(int flags) {
  static char stack[1 << 16] __attribute__((aligned(16)));
  return clone(on_stack_of_its_own, stack + sizeof stack, flags, 0);
}

// --- what is in the scratch space ---

static int leave_file(const char* way, const char* place) {
  (void)place;
  struct {
    const char *way, *directory;
  } const files[] = {{"file-in-tmp", "/tmp"},
                     {"file-in-home", home()},
                     {"file-in-shm", "/dev/shm"},
                     {"file-in-workspace", "/workspace"},
                     {"file-in-var-tmp", "/var/tmp"}};
  for (unsigned i = 0; i < sizeof files / sizeof *files; ++i)
    if (is(way, files[i].way)) return make_file(below(files[i].directory, "as-left")), 1;
  if (is(way, "empty-file")) return close(open("/tmp/as-left", O_CREAT | O_WRONLY, 0600)), 1;
  if (is(way, "sparse-file")) {
    const int fd = open("/tmp/as-left", O_CREAT | O_WRONLY, 0600);
    return (void)!ftruncate(fd, 1l << 30), 1;
  }
  if (is(way, "directory")) return mkdir("/tmp/as-left", 0700), 1;
  if (is(way, "closed-directory")) {
    mkdir("/tmp/as-left", 0700);
    make_file("/tmp/as-left/file");
    return chmod("/tmp/as-left", 0), 1;
  }
  if (is(way, "deep-tree")) {
    for (int i = 0; i < 3000; ++i)
      if (mkdir("d", 0700) != 0 || chdir("d") != 0) break;
    return 1;
  }
  if (is(way, "symlink")) return symlink("/etc", "/tmp/as-left"), 1;
  if (is(way, "hard-link")) {
    make_file("/tmp/as-left");
    return link("/tmp/as-left", "/tmp/as-left-too"), 1;
  }
  if (is(way, "fifo")) return mkfifo("/tmp/as-left", 0666), 1;
  if (is(way, "device")) return mknod("/tmp/as-left", S_IFCHR | 0666, 0x103), 1;
  if (is(way, "strange-names")) {
    make_file("/tmp/ \n\t\x01");
    return make_file("/tmp/-rf"), 1;
  }
  if (is(way, "unnamed-file-given-a-name")) {
    const int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, AT_FDCWD, "/tmp/as-left", AT_SYMLINK_FOLLOW), 1;
  }
  if (is(way, "unnamed-file")) {
    const int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    return (void)!write(fd, mark(), kMarkSize), 1;
  }
  if (is(way, "deleted-file-still-open")) {
    make_file("/tmp/as-left");
    return unlink("/tmp/as-left"), 1;
  }
  if (is(way, "deleted-file-held-by-a-daemon") || is(way, "mapped-file-held-by-a-daemon")) {
    const int ready = begin_daemon();
    if (ready > 0) return 1;
    const int fd = make_file("/tmp/as-left");
    unlink("/tmp/as-left");
    if (is(way, "mapped-file-held-by-a-daemon")) {
      (void)!ftruncate(fd, 1 << 20);
      char* const at = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      memset(at, 'x', 1 << 20);
      close(fd);
    }
    stay(-ready);
  }
  if (is(way, "files-made-and-removed")) {
    for (int i = 0; i < 700; ++i) {
      close(open("/tmp/as-left", O_CREAT | O_WRONLY, 0600));
      unlink("/tmp/as-left");
    }
    return 1;
  }
  if (is(way, "file-moved-about")) {
    make_file("/tmp/as-left");
    return rename("/tmp/as-left", "/tmp/moved"), 1;
  }
  if (is(way, "full-scratch")) {
    static char block[1 << 16];
    const int fd = open("/tmp/as-left", O_CREAT | O_WRONLY, 0600);
    while (write(fd, block, sizeof block) > 0) {
    }
    return 1;
  }
  if (is(way, "full-scratch-emptied")) {
    static char block[1 << 16];
    const int fd = open("/tmp/as-left", O_CREAT | O_WRONLY, 0600);
    while (write(fd, block, sizeof block) > 0) {
    }
    close(fd);
    return unlink("/tmp/as-left"), 1;
  }
  if (is(way, "posix-shared-memory")) {
    const int fd = shm_open("/as-left", O_CREAT | O_RDWR, 0666);
    return (void)!ftruncate(fd, 4096), 1;
  }
  if (is(way, "socket-with-a-path")) return bound("/tmp/as-left", SOCK_STREAM), 1;
  return 0;
}

// --- what is on its directories ---

static int leave_on_directory(const char* way, const char* place) {
  (void)place;
  // Version 2, then entries of 8 bytes: the owner, a user, the group, a mask and others.
  static const unsigned char acl[] = {
      2, 0, 0,    0,    1,    0,    7,    0, 0xff, 0xff, 0xff, 0xff, 2,    0,    7,
      0, 1, 0,    0,    0,    4,    0,    7, 0,    0xff, 0xff, 0xff, 0xff, 0x10, 0,
      7, 0, 0xff, 0xff, 0xff, 0xff, 0x20, 0, 7,    0,    0xff, 0xff, 0xff, 0xff};
  unsigned char of_own_user[sizeof acl];
  memcpy(of_own_user, acl, sizeof acl);
  const uid_t user = getuid();
  memcpy(of_own_user + 16, &user, sizeof user);
  const char* const roots[] = {"/tmp", home(), "/dev/shm", "/workspace"};
  const struct timespec past[2] = {{1000000000, 1}, {1000000000, 1}};
  struct stat before;
  stat("/tmp", &before);
  if (is(way, "attribute-of-tmp")) return setxattr("/tmp", "user.as-left", "x", 1, 0), 1;
  if (is(way, "attribute-of-each")) {
    for (int i = 0; i < 4; ++i) setxattr(roots[i], "user.as-left", mark(), kMarkSize, 0);
    return 1;
  }
  if (is(way, "attribute-set-and-removed")) {
    setxattr("/workspace", "user.as-left", "x", 1, 0);
    return removexattr("/workspace", "user.as-left"), 1;
  }
  if (is(way, "large-attribute")) {
    static char value[4000];
    return setxattr("/dev/shm", "user.as-left", value, sizeof value, 0), 1;
  }
  if (is(way, "default-acl"))
    return setxattr("/tmp", "system.posix_acl_default", of_own_user, sizeof acl, 0), 1;
  if (is(way, "access-acl"))
    return setxattr(home(), "system.posix_acl_access", of_own_user, sizeof acl, 0), 1;
  if (is(way, "default-acl-of-shm"))
    return setxattr("/dev/shm", "system.posix_acl_default", of_own_user, sizeof acl, 0), 1;
  if (is(way, "times-of-tmp")) return utimensat(AT_FDCWD, "/tmp", past, 0), 1;
  if (is(way, "times-of-shm")) return utimensat(AT_FDCWD, "/dev/shm", past, 0), 1;
  if (is(way, "times-put-back")) {
    utimensat(AT_FDCWD, "/tmp", past, 0);
    const struct timespec old[2] = {before.st_atim, before.st_mtim};
    return utimensat(AT_FDCWD, "/tmp", old, 0), 1;
  }
  if (is(way, "listed-directory")) {
    DIR* const directory = opendir("/tmp");
    while (directory && readdir(directory)) {
    }
    return 1;
  }
  if (is(way, "mode-of-tmp")) return chmod("/tmp", 0700), 1;
  if (is(way, "mode-of-home")) return chmod(home(), 0), 1;
  if (is(way, "mode-put-back")) {
    chmod("/tmp", 0700);
    return chmod("/tmp", before.st_mode & 07777), 1;
  }
  if (is(way, "sticky-tmp")) return chmod("/tmp", (before.st_mode & 07777) ^ S_ISVTX), 1;
  if (is(way, "owner-anew")) return (void)!chown("/tmp", getuid(), getgid()), 1;
  if (is(way, "flag-noatime") || is(way, "flag-nodump") || is(way, "flag-append")) {
    const int fd = open("/tmp", O_RDONLY | O_DIRECTORY);
    long flags = is(way, "flag-noatime") ? 0x80 : is(way, "flag-nodump") ? 0x40 : 0x20;
    return ioctl(fd, _IOW('f', 2, long), &flags), 1;
  }
  if (is(way, "mode-of-terminals")) return chmod("/dev/pts", 0700), 1;
  if (is(way, "mode-of-ptmx")) return chmod("/dev/pts/ptmx", 0600), 1;
  if (is(way, "times-of-ptmx")) return utimensat(AT_FDCWD, "/dev/pts/ptmx", past, 0), 1;
  if (is(way, "modes-of-devices")) {
    for (const char* const* path = (const char* const[]){"/dev/null", "/dev/zero", "/dev", "/",
                                                         "/etc", "/usr", "/proc", 0};
         *path; ++path) {
      chmod(*path, 0777);
      utimensat(AT_FDCWD, *path, past, 0);
      setxattr(*path, "user.as-left", "x", 1, 0);
    }
    return 1;
  }
  return 0;
}

// `place` below HOME is a listed path: what is above it belongs to the cell.
static int leave_above_listed(const char* way, const char* place) {
  char parent[4096], moved[4200];
  snprintf(parent, sizeof parent, "%s", place);
  char* slash = strrchr(parent, '/');
  if (strncmp(way, "parent-", 7) != 0 || !slash) return 0;
  *slash = '\0';
  snprintf(moved, sizeof moved, "%s-moved", parent);
  if (is(way, "parent-moved")) return rename(parent, moved), 1;
  if (is(way, "parent-moved-and-back")) {
    rename(parent, moved);
    return rename(moved, parent), 1;
  }
  if (is(way, "parent-replaced")) {
    rename(parent, moved);
    mkdir(parent, 0755);
    mkdir(place, 0755);
    return make_file(below(place, "file")), 1;
  }
  if (is(way, "parent-linked")) {
    rename(parent, moved);
    return symlink(moved, parent), 1;
  }
  if (is(way, "parent-exchanged")) {
    mkdir(moved, 0755);
    return done(syscall(SYS_renameat2, AT_FDCWD, parent, AT_FDCWD, moved, 2));
  }
  if (is(way, "parent-shut")) return chmod(parent, 0), 1;
  if (is(way, "parent-attribute")) return setxattr(parent, "user.as-left", "x", 1, 0), 1;
  if (is(way, "parent-times")) {
    const struct timespec past[2] = {{1000000000, 1}, {1000000000, 1}};
    return utimensat(AT_FDCWD, parent, past, 0), 1;
  }
  if (is(way, "parent-has-another-name-beside")) return make_file(below(parent, "as-left")), 1;
  if (is(way, "parent-listed-itself")) {
    chmod(place, 0);
    setxattr(place, "user.as-left", "x", 1, 0);
    rmdir(place);
    unlink(place);
    rename(place, moved);
    return umount2(place, MNT_DETACH), 1;
  }
  return 0;
}

// --- objects with names, and what is in flight ---

static int leave_object(const char* way, const char* place) {
  (void)place;
  if (is(way, "shared-memory")) {
    const int id = shmget(kKey, 8192, IPC_CREAT | 0666);
    char* const at = shmat(id, 0, 0);
    if (at != (void*)-1) memcpy(at, mark(), kMarkSize);
    return 1;
  }
  if (is(way, "private-shared-memory")) return shmget(IPC_PRIVATE, 8192, IPC_CREAT | 0666), 1;
  if (is(way, "semaphores")) return semget(kKey + 1, 3, IPC_CREAT | 0666), 1;
  if (is(way, "semaphores-with-undo")) {
    const int id = semget(kKey + 1, 1, IPC_CREAT | 0666);
    struct sembuf step = {0, 5, SEM_UNDO};
    return semop(id, &step, 1), 1;
  }
  if (is(way, "queue")) {
    const int id = msgget(kKey + 2, IPC_CREAT | 0666);
    struct {
      long type;
      char text[kMarkSize];
    } message = {.type = 1};
    memcpy(message.text, mark(), kMarkSize);
    return msgsnd(id, &message, sizeof message.text, IPC_NOWAIT), 1;
  }
  if (is(way, "empty-queue")) return msgget(kKey + 2, IPC_CREAT | 0666), 1;
  if (is(way, "destroyed-memory-still-attached")) {
    const int ready = begin_daemon();
    if (ready > 0) return 1;
    const int id = shmget(kKey, 8192, IPC_CREAT | 0666);
    shmat(id, 0, 0);
    shmctl(id, IPC_RMID, 0);
    stay(-ready);
  }
  if (is(way, "objects-made-and-removed")) {
    for (int i = 0; i < 50; ++i) {
      shmctl(shmget(kKey, 4096, IPC_CREAT | 0666), IPC_RMID, 0);
      semctl(semget(kKey, 1, IPC_CREAT | 0666), 0, IPC_RMID);
      msgctl(msgget(kKey, IPC_CREAT | 0666), IPC_RMID, 0);
    }
    return 1;
  }
  if (is(way, "posix-queue")) {
    struct mq_attr size = {.mq_maxmsg = 2, .mq_msgsize = 64};
    return mq_open("/as-left", O_CREAT | O_RDWR, 0666, &size), 1;
  }
  if (is(way, "abstract-name")) return bound("@as-left", SOCK_STREAM), 1;
  if (is(way, "abstract-names-of-a-daemon")) {
    const int ready = begin_daemon();
    if (ready > 0) return 1;
    bound("@as-left", SOCK_STREAM);
    bound("@as-left-too", SOCK_SEQPACKET);
    stay(-ready);
  }
  if (is(way, "abstract-datagrams-of-a-daemon")) {
    const int ready = begin_daemon();
    if (ready > 0) return 1;
    bound("@as-left", SOCK_DGRAM);
    stay(-ready);
  }
  if (is(way, "pending-connection")) {
    bound("@as-left", SOCK_STREAM);
    const int fd = connected("@as-left", SOCK_STREAM);
    return done(send_fd(fd, make_file("/tmp/as-left"), 0, 0));
  }
  if (is(way, "memfd")) {
    const int fd = memfd_create("as-left", MFD_ALLOW_SEALING);
    return (void)!write(fd, mark(), kMarkSize), 1;
  }
  if (is(way, "memfd-in-flight")) return fly_in_circles(memfd_create("as-left", 0)), 1;
  if (is(way, "file-in-flight")) {
    fly_in_circles(make_file("/tmp/as-left"));
    return unlink("/tmp/as-left"), 1;
  }
  if (is(way, "directory-in-flight")) return fly_in_circles(open("/tmp", O_RDONLY)), 1;
  if (is(way, "many-in-flight")) {
    for (int i = 0; i < 60; ++i) fly_in_circles(open("/proc/self/status", O_RDONLY));
    return 1;
  }
  if (is(way, "listener-in-flight")) return fly_in_circles(bound("@as-left", SOCK_STREAM)), 1;
  if (is(way, "pidfd-in-flight")) return fly_in_circles((int)syscall(SYS_pidfd_open, kInit, 0)), 1;
  if (is(way, "terminal-in-flight")) return fly_in_circles(open("/dev/ptmx", O_RDWR | O_NOCTTY)), 1;
  if (is(way, "mount-in-flight")) return fly_in_circles(open("/proc/self/ns/mnt", O_RDONLY)), 1;
  if (is(way, "full-pipe")) {
    int ends[2];
    (void)!pipe2(ends, O_NONBLOCK);
    fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    while (write(ends[1], mark(), kMarkSize) > 0) {
    }
    return 1;
  }
  if (is(way, "keys")) {
    syscall(SYS_add_key, "user", "as-left", mark(), (size_t)kMarkSize, -3);
    syscall(SYS_keyctl, 1, "as-left");
    return (void)!syscall(SYS_request_key, "user", "as-left", 0, -3), 1;
  }
  if (is(way, "terminals")) {
    for (int i = 0; i < 20; ++i) open("/dev/ptmx", O_RDWR | O_NOCTTY);
    return 1;
  }
  if (is(way, "terminal-of-a-daemon")) {
    const int ready = begin_daemon();
    if (ready > 0) return 1;
    setsid();
    const int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY);
    int unlocked = 0;
    ioctl(fd, TIOCSPTLCK, &unlocked);
    const int slave = ioctl(fd, _IO('T', 0x41), O_RDWR);  // TIOCGPTPEER
    ioctl(slave, TIOCSCTTY, 0);
    fchmod(slave, 0777);
    (void)!write(slave, mark(), kMarkSize);
    stay(-ready);
  }
  return 0;
}

// Descriptors of the scratch space, given to a socket of the host's in `place`.
static int leave_outside(const char* way, const char* place) {
  if (strncmp(way, "outside-", 8) != 0) return 0;
  const int directory = open(is(way, "outside-home") ? home() : "/tmp", O_RDONLY | O_DIRECTORY);
  if (is(way, "outside-stream") || is(way, "outside-home"))
    send_fd(connected(below(place, "stream"), SOCK_STREAM), directory, 0, 0);
  else if (is(way, "outside-seqpacket"))
    send_fd(connected(below(place, "seqpacket"), SOCK_SEQPACKET), directory, 0, 0);
  else if (is(way, "outside-connected-datagram"))
    send_fd(connected(below(place, "datagram"), SOCK_DGRAM), directory, 0, 0);
  else if (is(way, "outside-datagram") || is(way, "outside-raw") || is(way, "outside-pair")) {
    socklen_t size;
    const struct sockaddr_un address = local(below(place, "datagram"), &size);
    int pair[2] = {socket(AF_UNIX, is(way, "outside-raw") ? SOCK_RAW : SOCK_DGRAM, 0)};
    if (is(way, "outside-pair")) {
      (void)!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
      // A pair is connected; dissolved, it sends anywhere.
      const struct sockaddr none = {.sa_family = AF_UNSPEC};
      (void)!connect(pair[0], &none, sizeof none);
    }
    send_fd(pair[0], directory, &address, size);
  } else if (is(way, "outside-own-socket")) {
    // One that listens here: it sends nothing to anyone outside, and can't be reached from there.
    const int ready = begin_daemon();
    if (ready > 0) return 1;
    bound("/tmp/as-left", SOCK_STREAM);
    stay(-ready);
  } else if (is(way, "outside-by-a-daemon")) {
    const int ready = begin_daemon();
    if (ready > 0) return 1;
    send_fd(connected(below(place, "stream"), SOCK_STREAM), directory, 0, 0);
    stay(-ready);
  } else {
    return 0;
  }
  return 1;
}

// --- signals and processes ---

static void* signal_for_ever(void* unused) {
  for (;;) {
    kill(kInit, SIGCONT);
    kill(kInit, SIGRTMIN + 3);
    kill(kInit, SIGSTOP);
  }
  return unused;
}

static int leave_process(const char* way, const char* place) {
  (void)place;
  sigset_t all;
  sigfillset(&all);
  if (is(way, "term-to-init")) return kill(kInit, SIGTERM), 1;
  if (is(way, "kill-to-init")) return kill(kInit, SIGUSR1), 1;
  if (is(way, "stop-to-init")) return kill(kInit, SIGSTOP), kill(kInit, SIGTSTP), 1;
  if (is(way, "all-signals-to-init")) {
    for (int number = 1; number <= 64; ++number)
      if (number != SIGTERM && number != SIGUSR1) kill(kInit, number);
    return 1;
  }
  if (is(way, "queued-signals-to-init")) {
    const union sigval value = {.sival_int = 7};
    for (int i = 0; i < 50; ++i) {
      for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) sigqueue(kInit, number, value);
      const int pidfd = (int)syscall(SYS_pidfd_open, kInit, 0);
      syscall(SYS_pidfd_send_signal, pidfd, SIGRTMIN, 0, 0);
      syscall(SYS_tgkill, kInit, kInit, SIGRTMAX);
      close(pidfd);
    }
    return 1;
  }
  if (is(way, "kill-to-init-when-the-tool-is-gone")) {
    // The signal comes when the tool has ended, as near to it as can be.
    const pid_t tool = getpid();
    if (fork()) return 1;
    setsid();
    const int pidfd = (int)syscall(SYS_pidfd_open, tool, 0);
    for (;;)
      if (pidfd < 0 || syscall(SYS_pidfd_send_signal, pidfd, 0, 0, 0) != 0) kill(kInit, SIGUSR1);
  }
  if (is(way, "signals-without-end")) {
    const int ready = begin_daemon();
    if (ready > 0) return 1;
    for (int i = 0; i < 3; ++i)
      if (fork() == 0) signal_for_ever(0);
    stay(-ready);
  }
  if (is(way, "owner-of-a-pipe")) {
    int ends[2];
    (void)!pipe(ends);
    fcntl(ends[0], F_SETOWN, kInit);
    fcntl(ends[0], F_SETSIG, SIGRTMIN + 1);
    fcntl(ends[0], F_SETFL, O_ASYNC);
    (void)!write(ends[1], "x", 1);
    // And of the streams, which stay open on the host's side.
    for (int fd = 0; fd < 3; ++fd) {
      fcntl(fd, F_SETOWN, kInit);
      fcntl(fd, F_SETSIG, SIGUSR1);
      fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
    }
    return 1;
  }
  if (is(way, "owner-is-everyone")) {
    struct {
      int type, pid;
    } const group = {2, kInit};
    int pair[2];
    (void)!socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    fcntl(pair[0], F_SETOWN_EX, &group);
    fcntl(pair[0], F_SETSIG, SIGUSR1);
    fcntl(pair[0], F_SETFL, O_ASYNC);
    fly_in_circles(pair[0]);
    return close(pair[1]), 1;  // This is what the signal would tell.
  }
  if (is(way, "timers")) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    const struct itimerspec soon = {{0, 1000000}, {0, 1000000}};
    timer_t timer;
    sigprocmask(SIG_BLOCK, &all, 0);
    for (int i = 0; i < 20; ++i)
      if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) timer_settime(timer, 0, &soon, 0);
    const struct itimerval often = {{0, 1000}, {0, 1000}};
    for (int which = 0; which < 3; ++which) setitimer((enum __itimer_which)which, &often, 0);
    usleep(5000);
    return 1;
  }
  if (is(way, "blocked-and-ignored-signals")) {
    for (int number = 1; number <= 64; ++number) signal(number, SIG_IGN);
    sigprocmask(SIG_BLOCK, &all, 0);
    return kill(getpid(), SIGRTMIN), 1;
  }
  if (is(way, "daemon")) {
    const int ready = begin_daemon();
    if (ready > 0) return 1;
    sigprocmask(SIG_BLOCK, &all, 0);
    stay(-ready);
  }
  if (is(way, "daemons-that-write")) {
    const int ready = begin_daemon();
    if (ready > 0) return 1;
    (void)!write(-ready, "", 1);
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
      (void)!write(1, "x",
                   1);  // Not the mark, which a host of functions would have in its memory then.
      make_file("/tmp/as-left");
    }
  }
  if (is(way, "stopped-process")) {
    const pid_t pid = fork();
    if (pid == 0) wait_for_ever(0);
    kill(pid, SIGSTOP);
    return 1;
  }
  if (is(way, "process-in-vfork")) {
    if (fork()) return usleep(1000), 1;
    setsid();
    clone_of(CLONE_VM | CLONE_VFORK | SIGCHLD);  // The parent can't go on.
    _exit(0);
  }
  if (is(way, "process-without-a-signal-at-its-end")) return usleep(clone_of(0) < 0), 1;
  if (is(way, "brother")) return usleep(clone_of(CLONE_PARENT) < 0), 1;
  if (is(way, "brother-with-the-same-memory"))
    return usleep(clone_of(CLONE_PARENT | CLONE_VM | CLONE_FILES | CLONE_FS) < 0), 1;
  if (is(way, "thread")) {
    pthread_t thread;
    return pthread_create(&thread, 0, wait_for_ever, 0), 1;
  }
  if (is(way, "zombies")) {
    for (int i = 0; i < 30; ++i)
      if (fork() == 0) _exit(0);
    return 1;
  }
  if (is(way, "subreaper")) {
    if (fork()) return usleep(2000), 1;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int i = 0; i < 5; ++i)
      if (fork() == 0) {
        if (fork()) _exit(0);
        wait_for_ever(0);
      }
    wait_for_ever(0);
  }
  if (is(way, "storm")) {
    for (int i = 0; i < 3; ++i)
      if (fork() == 0) {
        const time_t end = time(0) + 20;  // Even if all else fails.
        setsid();
        while (time(0) < end)
          if (fork() > 0) _exit(0);
        _exit(0);
      }
    return 1;
  }
  if (is(way, "traced-process")) {
    const pid_t pid = fork();
    if (pid == 0) {
      ptrace(PTRACE_TRACEME, 0, 0, 0);
      wait_for_ever(0);
    }
    ptrace(PTRACE_SEIZE, pid, 0, 0);
    return ptrace(PTRACE_ATTACH, kInit, 0, 0), 1;
  }
  if (is(way, "group-of-init")) {
    setpgid(0, kInit);
    const pid_t pid = fork();
    if (pid == 0) wait_for_ever(0);
    return setpgid(pid, kInit), 1;
  }
  if (is(way, "group-of-a-daemon")) {
    const pid_t pid = fork();
    if (pid == 0) {
      setpgid(0, 0);
      wait_for_ever(0);
    }
    return setpgid(pid, pid), 1;
  }
  if (is(way, "many-numbers")) {
    for (int i = 0; i < 300; ++i) {
      const pid_t pid = fork();
      if (pid == 0) _exit(0);
      waitpid(pid, 0, 0);
    }
    return 1;
  }
  return 0;
}

// --- limits and scheduling, of the init above all ---

static int leave_limit(const char* way, const char* place) {
  (void)place;
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes_of = {48, SCHED_BATCH, 0, 7, 0, 0, 0, 0};
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  const struct sched_param none = {0};
  const int idle = 3 << 13;
  if (!strncmp(way, "limit-of-init-", 14)) {
    const struct rlimit low = {16, 16};
    const int resource = atoi(way + 14);
    return prlimit(kInit, (enum __rlimit_resource)resource, &low, 0), 1;
  }
  if (is(way, "nice-of-init")) return setpriority(PRIO_PROCESS, kInit, 10), 1;
  if (is(way, "nice-of-its-group")) return setpriority(PRIO_PGRP, kInit, 10), 1;
  if (is(way, "nice-of-the-user")) return setpriority(PRIO_USER, 0, 10), 1;
  if (is(way, "nice-of-the-user-by-number")) return setpriority(PRIO_USER, getuid(), 10), 1;
  if (is(way, "nice-with-dirty-upper-half"))
    return done(syscall(SYS_setpriority, 0x100000002ul, 0x100000000ul, 10ul));
  if (is(way, "ioprio-of-init")) return done(syscall(SYS_ioprio_set, 1, kInit, idle));
  if (is(way, "ioprio-of-its-group")) return done(syscall(SYS_ioprio_set, 2, kInit, idle));
  if (is(way, "ioprio-of-the-user")) return done(syscall(SYS_ioprio_set, 3, getuid(), idle));
  if (is(way, "processor-of-init")) return sched_setaffinity(kInit, sizeof one, &one), 1;
  if (is(way, "policy-of-init")) return sched_setscheduler(kInit, SCHED_IDLE, &none), 1;
  if (is(way, "parameter-of-init")) return sched_setparam(kInit, &none), 1;
  if (is(way, "attributes-of-init"))
    return done(syscall(SYS_sched_setattr, kInit, &attributes_of, 0));
  if (is(way, "attributes-of-init-with-dirty-upper-half"))
    return done(syscall(SYS_sched_setattr, 0x700000001ul, &attributes_of, 0ul));
  if (is(way, "limits-of-its-own")) {
    for (int i = 0; i < RLIM_NLIMITS; ++i) {
      struct rlimit limit;
      getrlimit((enum __rlimit_resource)i, &limit);
      if (limit.rlim_cur > 64) limit.rlim_cur = limit.rlim_max = limit.rlim_cur / 2;
      if (i != RLIMIT_AS && i != RLIMIT_DATA && i != RLIMIT_STACK)
        setrlimit((enum __rlimit_resource)i, &limit);
    }
    return 1;
  }
  if (is(way, "scheduling-of-its-own")) {
    setpriority(PRIO_PROCESS, 0, 10);
    setpriority(PRIO_PGRP, 0, 11);
    syscall(SYS_ioprio_set, 1, 0, idle);
    syscall(SYS_ioprio_set, 2, 0, idle);
    sched_setaffinity(0, sizeof one, &one);
    sched_setscheduler(0, SCHED_IDLE, &none);
    return done(syscall(SYS_sched_setattr, 0, &attributes_of, 0));
  }
  if (is(way, "autogroup-of-its-own")) return done(write_text("/proc/self/autogroup", "19"));
  if (is(way, "files-of-init") || is(way, "files-of-its-own")) {
    // Whatever a process can write there.
    char path[512];
    const char* const texts[] = {"1000", "7", "0x7f", "0", mark()};
    DIR* const all = opendir(is(way, "files-of-init") ? "/proc/1" : "/proc/self");
    for (const struct dirent* entry; all && (entry = readdir(all));)
      for (unsigned i = 0; i < sizeof texts / sizeof *texts; ++i) {
        if (is(entry->d_name, "mem")) continue;
        snprintf(path, sizeof path, "/proc/%s/%s", is(way, "files-of-init") ? "1" : "self",
                 entry->d_name);
        const int fd = open(path, O_WRONLY | O_NONBLOCK);
        if (fd >= 0) (void)!write(fd, texts[i], strlen(texts[i]));
        close(fd);
      }
    return 1;
  }
  if (is(way, "own-habits")) {
    umask(0);
    (void)!chdir("/usr");
    prctl(PR_SET_TIMERSLACK, 1000000);
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    prctl(PR_SET_SECUREBITS, 0x3f);
    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_SET_KEEPCAPS, 1);
    prctl(PR_MCE_KILL, 1, 1, 0, 0);
    prctl(PR_SET_TSC, 2);
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    syscall(SYS_set_mempolicy, 1, 0, 0);
    mlockall(MCL_CURRENT | MCL_FUTURE);
    setenv("AS_LEFT", mark(), 1);
    return done(syscall(SYS_personality, 0x0040000));
  }
  if (is(way, "processor-time")) {
    struct timespec now;
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while (now.tv_sec == 0 && now.tv_nsec < 600000000);
    return 1;
  }
  return 0;
}

// --- the shape of the room ---

static void write_below(const char* path, int depth) {
  DIR* const directory = opendir(path);
  char child[4096];
  for (const struct dirent* entry; directory && (entry = readdir(directory));) {
    if (entry->d_name[0] == '.') continue;
    snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
    if (entry->d_type == DT_DIR && depth > 0) write_below(child, depth - 1);
    if (entry->d_type != DT_REG) continue;
    const int fd = open(child, O_WRONLY | O_NONBLOCK);
    if (fd < 0) continue;
    (void)!write(fd, "1", 1);
    close(fd);
  }
  if (directory) closedir(directory);
}

static int leave_room(const char* way, const char* place) {
  char path[4096];
  snprintf(path, sizeof path, "%s/file", place);
  if (is(way, "mount")) return mount("x", "/tmp", "tmpfs", 0, ""), 1;
  if (is(way, "bound-mount")) return mount("/usr", "/tmp", 0, MS_BIND, 0), 1;
  if (is(way, "unmount")) return umount2("/workspace", MNT_DETACH), 1;
  if (is(way, "namespace")) return unshare(CLONE_NEWUSER | CLONE_NEWNS), 1;
  if (is(way, "root")) return done(chroot("/tmp"));
  if (is(way, "host-name")) return sethostname("as-left", 7), 1;
  if (is(way, "sysctls")) {
    write_below("/proc/sys/kernel", 1);
    write_below("/proc/sys/net", 6);
    write_below("/proc/sys/user", 1);
    write_below("/proc/sys/fs/mqueue", 1);
    return write_below("/proc/sys/vm", 1), 1;
  }
  if (is(way, "memory-of-init")) {
    char text[kMarkSize];
    memcpy(text, mark(), kMarkSize);
    struct iovec here = {text, kMarkSize}, there = {(void*)0x400000, kMarkSize};
    return done(process_vm_writev(kInit, &here, 1, &there, 1, 0));
  }
  if (is(way, "memory-of-init-by-its-file")) return (void)!open("/proc/1/mem", O_RDWR), 1;
  if (is(way, "watch-of-files"))
    return inotify_add_watch(inotify_init1(0), "/tmp", IN_ALL_EVENTS), 1;
  if (is(way, "notice-of-a-directory"))
    return fcntl(open("/tmp", O_RDONLY), F_NOTIFY, DN_CREATE | DN_MULTISHOT), 1;
  if (is(way, "lease")) return fcntl(open(path, O_RDONLY), F_SETLEASE, F_RDLCK), 1;
  if (is(way, "locks") || is(way, "locks-of-a-daemon") || is(way, "locks-in-flight")) {
    const int ready = is(way, "locks-of-a-daemon") ? begin_daemon() : 0;
    if (ready > 0) return 1;
    const int fd = open(path, O_RDONLY), directory = open("/tmp", O_RDONLY);
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    flock(fd, LOCK_SH);
    flock(directory, LOCK_EX);
    fcntl(fd, F_SETLK, &lock);
    fcntl(open(path, O_RDONLY), F_OFD_SETLK, &lock);
    if (ready < 0) stay(-ready);
    if (is(way, "locks-in-flight")) {
      fly_in_circles(directory);
      fly_in_circles(fd);
    }
    return 1;
  }
  if (is(way, "memory-of-its-own")) {
    char* const block = malloc(1 << 20);
    for (int i = 0; i + kMarkSize < 1 << 20; i += kMarkSize) memcpy(block + i, mark(), kMarkSize);
    char on_stack[4096];
    for (int i = 0; i + kMarkSize < 4096; i += kMarkSize) memcpy(on_stack + i, mark(), kMarkSize);
    char* const shared =
        mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared != MAP_FAILED) memcpy(shared, on_stack, sizeof on_stack);
    return done(on_stack[100]);
  }
  if (is(way, "filter-of-its-own")) {
    struct {
      unsigned short size;
      const void* code;
    } const nothing = {0, 0};
    prctl(PR_SET_SECCOMP, 2, &nothing);
    return done(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  }
  if (is(way, "names-that-are-not-there")) {
    struct stat info;
    for (int i = 0; i < 2000; ++i) {
      char name[64];
      snprintf(name, sizeof name, "/usr/as-left-%d", i);
      stat(name, &info);
      snprintf(name, sizeof name, "/tmp/as-left-%d", i);
      stat(name, &info);
    }
    return 1;
  }
  if (is(way, "nothing")) return 1;
  return 0;
}

int leave_behind(const char* way, const char* place) {
  return leave_file(way, place) || leave_on_directory(way, place) ||
                 leave_above_listed(way, place) || leave_object(way, place) ||
                 leave_outside(way, place) || leave_process(way, place) ||
                 leave_limit(way, place) || leave_room(way, place)
             ? 0
             : 2;
}

#ifndef BRIG_NO_MAIN
// leave WAY [PLACE]
int main(int argc, char** argv) {
  if (argc < 2) return 2;
  print_room(stdout);
  return leave_behind(argv[1], argc > 2 ? argv[2] : "");
}
#endif
