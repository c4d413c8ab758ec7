/* How many processes a second the kernel can make, isolate and take down, with nothing of brig's in
 * it: a fork, then one more thing that a fresh room has at a time; and the same in a room that is
 * kept and compared. What a cell costs above these lines is brig's own.
 *   kernel_floor [PROCESSES] [SECONDS]   (as root) */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kMaps = 1, kScratch = 2, kParts = 4, kProc = 8, kMasks = 16, kTool = 32 };

static const struct {
  const char* name;
  unsigned long namespaces;
  unsigned work;
} kSteps[] = {
    {"fork", 0, 0},
    {"two forks", 0, kTool},
    {"+ pid namespace", CLONE_NEWPID, kTool},
    {"+ ipc namespace", CLONE_NEWPID | CLONE_NEWIPC, kTool},
    {"+ mount namespace", CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS, kTool},
    {"+ a tmpfs", CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS, kTool | kScratch},
    {"+ its four parts", CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS, kTool | kScratch | kParts},
    {"+ a fresh /proc", CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS,
     kTool | kScratch | kParts | kProc},
    {"+ its seven masks", CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS,
     kTool | kScratch | kParts | kProc | kMasks},
    {"+ user namespace", CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS | CLONE_NEWUSER,
     kTool | kScratch | kParts | kProc | kMasks | kMaps},
};

static void must(int failed, const char* what) {
  if (!failed) return;
  fprintf(stderr, "kernel_floor: %s: %s\n", what, strerror(errno));
  _exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static pid_t make(unsigned long namespaces) {
  struct clone_args arguments = {.flags = namespaces, .exit_signal = SIGCHLD};
  return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
}

static void put(const char* path, const char* text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  must(file < 0 || write(file, text, strlen(text)) < 0, path);
  close(file);
}

static void make_room(unsigned work) {
  if (work & kMaps) {
    put("/proc/self/setgroups", "deny");
    put("/proc/self/uid_map", "0 0 1");
    put("/proc/self/gid_map", "0 0 1");
  }
  if (work & kScratch)
    must(mount("scratch", "/scratch", "tmpfs", MS_NOSUID | MS_NODEV,
               "size=64m,nr_inodes=16384,mode=0755"),
         "tmpfs");
  static const char* const parts[][2] = {
      {"/scratch/1", "/1"}, {"/scratch/2", "/2"}, {"/scratch/3", "/3"}, {"/scratch/4", "/scratch"}};
  for (unsigned i = 0; work & kParts && i < 4; ++i)
    must(mkdir(parts[i][0], 0755) || mount(parts[i][0], parts[i][1], NULL, MS_BIND, NULL), "bind");
  if (work & kProc)
    must(mount("proc", "/proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL),
         "proc");
  static const char* const masks[] = {"kmsg",     "keys",       "key-users", "timer_list",
                                      "kallsyms", "interrupts", "cmdline"};
  for (unsigned i = 0; work & kMasks && i < 7; ++i) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%s", masks[i]);
    must(mount("/null0", path, NULL, MS_BIND, NULL) && errno != ENOENT, path);
  }
}

static void cell(unsigned work) {
  make_room(work);
  if (work & kTool) {
    const pid_t tool = make(0);
    must(tool < 0, "fork");
    if (tool == 0) _exit(0);
    waitpid(tool, NULL, 0);
  }
  _exit(0);
}

/* What the kernel says of a room: its file space and its System V objects. */
struct look {
  struct statfs space;
  struct stat parts[4];
  int used[3];
};

static void look_at(struct look* look) {
  static const char* const parts[] = {"/1", "/2", "/3", "/scratch"};
  struct shm_info memory;
  struct seminfo sets;
  struct msginfo queues;
  memset(look, 0, sizeof *look);
  must(statfs("/1", &look->space), "statfs");
  for (unsigned i = 0; i < 4; ++i) must(stat(parts[i], &look->parts[i]), parts[i]);
  must(shmctl(0, SHM_INFO, (void*)&memory) < 0 || semctl(0, 0, SEM_INFO, &sets) < 0 ||
           msgctl(0, MSG_INFO, (void*)&queues) < 0,
       "System V");
  look->used[0] = memory.used_ids;
  look->used[1] = sets.semusz;
  look->used[2] = queues.msgpool;
}

/* One tool: with `talks`, it has a socket and two pipes, a request and an answer. */
static void call(int talks) {
  int pair[2], out[2], answer[2];
  char byte = 'x';
  if (talks)
    must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) || pipe(out) || pipe(answer), "pipes");
  const pid_t tool = make(0);
  must(tool < 0, "fork");
  if (tool == 0) {
    if (talks) must(read(pair[1], &byte, 1) != 1 || write(answer[1], &byte, 1) != 1, "tool");
    _exit(0);
  }
  if (talks) {
    must(write(pair[0], &byte, 1) != 1 || read(answer[0], &byte, 1) != 1, "call");
    const int all[] = {pair[0], pair[1], out[0], out[1], answer[0], answer[1]};
    for (unsigned i = 0; i < 6; ++i) close(all[i]);
  }
  while (waitpid(-1, NULL, 0) > 0) {
  }
}

/* Calls in one room, which is compared with what it was when new after each of them. */
static long kept(int talks, double begin, double seconds) {
  int results[2];
  must(pipe(results), "pipe");
  const unsigned all = sizeof kSteps / sizeof *kSteps - 1;
  const pid_t pid = make(kSteps[all].namespaces);
  must(pid < 0, "room");
  if (pid == 0) {
    struct look before, now_seen;
    make_room(kSteps[all].work);
    look_at(&before);
    long count = 0;
    for (; now() - begin < seconds; ++count) {
      call(talks);
      look_at(&now_seen);
      must(memcmp(&before, &now_seen, sizeof before) != 0, "the room is not as new");
    }
    must(write(results[1], &count, sizeof count) != sizeof count, "write");
    _exit(0);
  }
  close(results[1]);
  long count = 0;
  must(read(results[0], &count, sizeof count) != sizeof count, "room");
  close(results[0]);
  waitpid(pid, NULL, 0);
  return count;
}

static long fresh(unsigned step, double begin, double seconds) {
  long count = 0;
  for (; now() - begin < seconds; ++count) {
    const pid_t pid = make(kSteps[step].namespaces);
    must(pid < 0, kSteps[step].name);
    if (pid == 0) cell(kSteps[step].work);
    int status = 0;
    waitpid(pid, &status, 0);
    if (status != 0) _exit(1);
  }
  return count;
}

static double rate(unsigned step, int processes, double seconds) {
  int results[2];
  must(pipe(results), "pipe");
  const double begin = now();
  for (int i = 0; i < processes; ++i) {
    if (fork() != 0) continue;
    const unsigned steps = sizeof kSteps / sizeof *kSteps;
    const long count =
        step < steps ? fresh(step, begin, seconds) : kept(step > steps, begin, seconds);
    must(write(results[1], &count, sizeof count) != sizeof count, "write");
    _exit(0);
  }
  close(results[1]);
  long total = 0, count;
  while (read(results[0], &count, sizeof count) == sizeof count) total += count;
  close(results[0]);
  while (wait(NULL) > 0) {
  }
  return (double)total / (now() - begin);
}

/* A root of as many mounts as a cell's zygote has. */
static void make_root(void) {
  must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
  must(mount("root", "/mnt", "tmpfs", 0, "size=8m"), "root");
  static const char* const directories[] = {"/mnt/scratch", "/mnt/1",   "/mnt/2",  "/mnt/3",
                                            "/mnt/proc",    "/mnt/old", "/mnt/usr"};
  for (unsigned i = 0; i < 7; ++i) must(mkdir(directories[i], 0755), directories[i]);
  must(mount("/usr", "/mnt/usr", NULL, MS_BIND, NULL), "/usr");
  for (int i = 0; i < 11; ++i) {
    char path[64];
    snprintf(path, sizeof path, "/mnt/null%d", i);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    must(mount("/dev/null", path, NULL, MS_BIND, NULL), path);
  }
  must(mount("proc", "/mnt/proc", "proc", 0, NULL), "proc");
  must(chdir("/mnt") || syscall(SYS_pivot_root, ".", "old") || chdir("/") ||
           umount2("/old", MNT_DETACH),
       "pivot_root");
}

int main(int argc, char** argv) {
  const int processes = argc > 1 ? atoi(argv[1]) : 4;
  const double seconds = argc > 2 ? atof(argv[2]) : 1;
  must(unshare(CLONE_NEWNS | CLONE_NEWPID), "unshare (it needs root)");
  const pid_t inside = fork();
  if (inside != 0) {
    int status = 1;
    waitpid(inside, &status, 0);
    return status != 0;
  }
  make_root();
  char* const memory = malloc(1 << 20);
  memset(memory, 1, 1 << 20);
  printf("-- the kernel alone, %d processes back to back\n", processes);
  double first = 0;
  const unsigned steps = sizeof kSteps / sizeof *kSteps;
  for (unsigned i = 0; i < steps + 2; ++i) {
    const double each = rate(i, processes, seconds);
    if (i == 0) first = each;
    const char* name = i < steps    ? kSteps[i].name
                       : i == steps ? "the room kept"
                                    : "+ sockets and pipes";
    printf("%-20s %7.0f /s  %.2fx\n", name, each, each / first);
    fflush(stdout);
  }
  return 0;
}
