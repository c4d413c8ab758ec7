// Reaching processes outside by signal. Arguments: what to try, pids of the host.
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "guest.h"

static void at(pid_t pid) {
  char name[64];
  snprintf(name, sizeof name, "kill %d", pid);
  refused(name, kill(pid, SIGKILL));
  refused("kill its group", kill(-pid, SIGKILL));
  refused("tgkill", syscall(SYS_tgkill, pid, pid, SIGKILL));
  refused("tkill", syscall(SYS_tkill, pid, SIGKILL));
  siginfo_t info = {.si_signo = SIGKILL, .si_code = SI_QUEUE};
  refused("rt_sigqueueinfo", syscall(SYS_rt_sigqueueinfo, pid, SIGKILL, &info));
  const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  refused("pidfd", fd < 0 ? -1 : syscall(SYS_pidfd_send_signal, fd, SIGKILL, 0, 0));
  refused("setpriority", setpriority(PRIO_PROCESS, (id_t)pid, 19));
  struct rlimit none = {0, 0};
  refused("prlimit", syscall(SYS_prlimit64, pid, RLIMIT_CPU, &none, 0));
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  refused("sched_setaffinity", sched_setaffinity(pid, sizeof one, &one));
  // SIGIO by the back door: the kernel sends it for us.
  int pair[2];
  works("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
  long owned = fcntl(pair[0], F_SETOWN, pid);
  fcntl(pair[0], F_SETSIG, SIGKILL);
  fcntl(pair[0], F_SETFL, O_ASYNC | O_NONBLOCK);
  (void)!write(pair[1], "x", 1);
  if (owned == -1) refused("F_SETOWN", -1);
  int number = pid;
  ioctl(pair[0], FIOSETOWN, &number);
  ioctl(pair[0], SIOCSPGRP, &number);
  (void)!write(pair[1], "x", 1);
  struct {
    int type;
    pid_t pid;
  } owner = {1 /* F_OWNER_PID */, pid};
  fcntl(pair[0], F_SETOWN_EX, &owner);
  (void)!write(pair[1], "x", 1);
  send(pair[1], "x", 1, MSG_OOB);
  // And on the streams, which the host shares.
  fcntl(1, F_SETOWN, pid);
  fcntl(1, F_SETSIG, SIGKILL);
  fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_ASYNC);
}

static void everyone(void) {
  // Processes of this cell; pid 1 must outlive it, or nobody could report.
  kill(-1, SIGKILL);
  refused_with("nobody but pid 1 is left", kill(-1, 0), ESRCH, EPERM);
  for (int signal = 1; signal < 65; ++signal)
    if (signal != SIGTERM && signal != SIGUSR1) kill(1, signal);  // those it passes on
  kill(getppid(), SIGKILL);
  kill(0, 0);
  usleep(100000);
  works("pid 1 is still there", kill(1, 0));
}

static void scheduling(void) {
  struct sched_param param = {.sched_priority = 10};
  refused("SCHED_FIFO", sched_setscheduler(0, SCHED_FIFO, &param));
  refused("SCHED_RR", sched_setscheduler(0, SCHED_RR, &param));
  unsigned attr[14] = {56, 6 /* DEADLINE */};
  unsigned long long* times = (unsigned long long*)(attr + 6);
  times[0] = 1000000, times[1] = 10000000, times[2] = 10000000;
  refused("SCHED_DEADLINE", syscall(SYS_sched_setattr, 0, attr, 0));
  refused("nice -20", setpriority(PRIO_PROCESS, 0, -20));
  refused("ioprio real time", syscall(SYS_ioprio_set, 1, 0, 1 << 13 | 0));
  refused("mlockall", syscall(SYS_mlockall, 7));
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (is(argv[1], "at"))
    for (int i = 2; i < argc; ++i) at(atoi(argv[i]));
  else if (is(argv[1], "everyone"))
    everyone();
  else if (is(argv[1], "scheduling"))
    scheduling();
  else
    return 2;
  return guest_failed;
}
