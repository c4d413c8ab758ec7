// What a process carries besides files: one call changes all of it, the next must find none of it.
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "guest.h"

static void show(void) {
  const mode_t mask = umask(0);
  umask(mask);
  char cwd[4096];
  struct rlimit files, core, stack;
  getrlimit(RLIMIT_NOFILE, &files);
  getrlimit(RLIMIT_CORE, &core);
  getrlimit(RLIMIT_STACK, &stack);
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, 0, &blocked);
  int signals = 0, ignored = 0;
  for (int i = 1; i < 65; ++i) {
    signals += sigismember(&blocked, i);
    struct sigaction action;
    if (sigaction(i, 0, &action) == 0 && action.sa_handler == SIG_IGN) ++ignored;
  }
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof cpus, &cpus);
  struct utsname names;
  uname(&names);
  printf(
      "umask %o cwd %s files %lu core %lu stack %lu blocked %d ignored %d nice %d cpus %d policy "
      "%d host %s pid %d ppid %d\n",
      mask, getcwd(cwd, sizeof cwd) ? cwd : "?", files.rlim_cur, core.rlim_max, stack.rlim_cur,
      signals, ignored, getpriority(PRIO_PROCESS, 0), CPU_COUNT(&cpus), sched_getscheduler(0),
      names.nodename, getpid(), getppid());
  for (int fd = 0; fd < 3; ++fd)
    printf("descriptor %d flags %o signal %d owner %d offset %ld\n", fd, fcntl(fd, F_GETFL),
           fcntl(fd, F_GETSIG), fcntl(fd, F_GETOWN), (long)lseek(fd, 0, SEEK_CUR));
}

static void change(void) {
  umask(0);
  (void)!chdir("/usr");
  struct rlimit low = {16, 16}, stack = {1 << 20, 1 << 20};
  setrlimit(RLIMIT_NOFILE, &low);
  setrlimit(RLIMIT_STACK, &stack);
  for (int i = 1; i < 65; ++i) signal(i, SIG_IGN);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, 0);
  setpriority(PRIO_PROCESS, 0, 10);
  setpriority(PRIO_PROCESS, 1, 10);  // the init, too
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  sched_setaffinity(0, sizeof one, &one);
  sched_setaffinity(1, sizeof one, &one);
  struct sched_param none = {0};
  sched_setscheduler(0, SCHED_IDLE, &none);
  for (int fd = 0; fd < 3; ++fd) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK | O_APPEND);
    fcntl(fd, F_SETSIG, 42);
    fcntl(fd, F_SETOWN, getpid());
    lseek(fd, 1000, SEEK_SET);
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (is(argv[1], "change"))
    change();
  else if (is(argv[1], "show"))
    show();
  else
    return 2;
  return 0;
}
