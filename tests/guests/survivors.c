// Outliving the call. Arguments: how, and a marker for the host to look for in /proc/*/cmdline.
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "guest.h"

// Bounded even if all else fails: a test that finds a survivor must not leave one for ever.
static void linger(void) {
  alarm(60);
  for (;;) pause();
}

static void deaf(void) {
  for (int signal_number = 1; signal_number < 65; ++signal_number) signal(signal_number, SIG_IGN);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, 0);
}

static void daemonize(void) {
  if (fork()) return;
  setsid();
  if (fork()) _exit(0);
  prctl(PR_SET_NAME, "brig-keeper", 0, 0, 0);
  signal(SIGHUP, SIG_IGN);
  linger();
}

static void* spin(void* unused) {
  for (;;) {
  }
  return unused;
}

// Every process forks its successor and leaves; a kill that looks first and shoots later misses.
static void storm(int lines, int seconds) {
  const time_t end = time(0) + seconds;
  for (int i = 0; i < lines; ++i)
    if (fork() == 0) {
      setsid();
      while (time(0) < end) {
        const pid_t pid = fork();
        if (pid > 0) _exit(0);
      }
      _exit(0);
    }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* how = argv[1];
  printf("started\n");
  fflush(stdout);
  if (is(how, "daemon")) {
    daemonize();
    return 0;
  }
  if (is(how, "daemon-sleep")) {
    daemonize();
    linger();
  }
  if (is(how, "deaf")) {  // forks a deaf child too
    deaf();
    (void)!fork();
    linger();
  }
  if (is(how, "stop")) {
    if (fork() == 0) raise(SIGSTOP);
    raise(SIGSTOP);
    return 0;
  }
  if (is(how, "storm")) {
    storm(4, 20);
    return 0;
  }
  if (is(how, "storm-stay")) {
    deaf();
    storm(4, 20);
    linger();
  }
  if (is(how, "spin")) {
    pthread_t thread;
    for (int i = 0; i < 2; ++i) pthread_create(&thread, 0, spin, 0);
    if (vfork() == 0)
      for (;;) {
      }
    spin(0);
  }
  if (is(how, "hold-pipe")) {  // main is done; a grandchild keeps stdout open
    if (fork() == 0) linger();
    return 0;
  }
  if (is(how, "close-pipe")) {  // stdout is closed; main goes on
    close(1);
    close(2);
    linger();
  }
  if (is(how, "subreaper")) {
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    daemonize();
    return 0;
  }
  if (is(how, "kill-parent")) {  // the cell's init, where it can be reached
    prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    daemonize();
    usleep(20000);
    kill(getppid(), SIGSTOP);
    kill(getppid(), SIGKILL);
    deaf();
    linger();
  }
  return 2;
}
