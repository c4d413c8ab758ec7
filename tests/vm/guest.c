// What the smoke test runs in cells; static, so it needs nothing there.
//   vm-guest hog MIB [CHILDREN]   touches MIB MiB, then ends with 0; in CHILDREN processes at once
//   vm-guest huge MIB             the same in pages of the machine's pool of huge ones
//   vm-guest bomb                 forks children that stay, until refused; says how many it got
//   vm-guest net                  tries sockets; ends with 0 if all were refused
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int hog_of(size_t mib, int flags) {
  char* memory =
      mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (memory == MAP_FAILED) {
    printf("hog: %s\n", strerror(errno));
    return 3;
  }
  for (size_t at = 0; at < mib << 20; at += 4096) memory[at] = 1;
  printf("hog: touched %zu MiB\n", mib);
  return 0;
}

static int hog(size_t mib) { return hog_of(mib, 0); }

static int hogs(size_t mib, int children) {
  int worst = 0, status = 0;
  for (int i = 0; i < children; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      status = hog(mib);
      if (status == 0) sleep(3);  // all at once
      fflush(stdout);
      _exit(status);
    }
  }
  while (wait(&status) > 0)
    if (status) worst = WIFEXITED(status) ? WEXITSTATUS(status) : 4;
  return worst;
}

static int bomb(void) {
  int children = 0;
  pid_t pid;
  while (children < 5000 && (pid = fork()) > 0) ++children;
  if (children < 5000 && pid == 0) {
    pause();
    _exit(0);
  }
  printf("bomb: %d children, then: %s\n", children, strerror(errno));
  return 5;
}

static int net(void) {
  const struct {
    const char* name;
    int family, type;
  } tries[] = {{"AF_INET", AF_INET, SOCK_STREAM},
               {"AF_INET6", AF_INET6, SOCK_DGRAM},
               {"AF_PACKET", AF_PACKET, SOCK_RAW},
               {"AF_NETLINK", AF_NETLINK, SOCK_RAW}};
  int open = 0;
  for (unsigned i = 0; i < sizeof tries / sizeof *tries; ++i) {
    const int fd = socket(tries[i].family, tries[i].type, 0);
    printf("net: %s: %s\n", tries[i].name, fd < 0 ? strerror(errno) : "open");
    open |= fd >= 0;
  }
  return open;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "hog") && argc == 3) return hog(strtoul(argv[2], NULL, 10));
  if (!strcmp(what, "huge") && argc == 3) return hog_of(strtoul(argv[2], NULL, 10), MAP_HUGETLB);
  if (!strcmp(what, "hog") && argc == 4) return hogs(strtoul(argv[2], NULL, 10), atoi(argv[3]));
  if (!strcmp(what, "bomb")) return bomb();
  if (!strcmp(what, "net")) return net();
  fprintf(stderr, "vm-guest: hog, huge, bomb or net?\n");
  return 2;
}
