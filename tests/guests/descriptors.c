// Descriptors that a cell should not have, and ways to get at others'.
#include <dirent.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "guest.h"

int main(void) {
  int found = 0;
  for (int fd = 3; fd < 4096; ++fd)
    if (fcntl(fd, F_GETFD) != -1) {
      char link[64], target[256] = "";
      snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
      (void)!readlink(link, target, sizeof target - 1);
      printf("descriptor %d: PRESENT %s\n", fd, target);
      found = 1;
    }
  holds("descriptors above 2: none", !found);

  DIR* dir = opendir("/proc/self/fd");
  int count = 0;
  for (struct dirent* entry; dir && (entry = readdir(dir));)
    if (entry->d_name[0] != '.') ++count;
  holds("/proc/self/fd has 0, 1, 2 and its own", count == 4);

  for (int fd = 0; fd < 3; ++fd) {
    struct stat info;
    char name[64];
    snprintf(name, sizeof name, "descriptor %d is no directory and no socket", fd);
    holds(name, fstat(fd, &info) == 0 && !S_ISDIR(info.st_mode) && !S_ISSOCK(info.st_mode));
  }

  // A forged result: there is nothing to send it on.
  char forged[56] = {13, 0, 0, 0};
  refused("send on 0", send(0, forged, sizeof forged, 0));
  refused("send on 1", send(1, forged, sizeof forged, 0));
  refused("write to 3", write(3, forged, sizeof forged));
  refused("/proc/1/fd", (long)opendir("/proc/1/fd") ? 0 : -1);
  refused("/proc/1/fd/3", open("/proc/1/fd/3", O_RDWR));
  refused("/proc/1/fd/4", open("/proc/1/fd/4", O_RDWR));

  const int init = (int)syscall(SYS_pidfd_open, 1, 0);
  refused("pidfd_getfd of pid 1", syscall(SYS_pidfd_getfd, init, 3, 0));
  const int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
  refused("pidfd_getfd of oneself", syscall(SYS_pidfd_getfd, self, 1, 0));
  refused("userfaultfd", syscall(SYS_userfaultfd, 0));
  refused("/dev/userfaultfd", open("/dev/userfaultfd", O_RDWR));
  return guest_failed;
}
