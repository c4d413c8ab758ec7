// A terminal of the host's as 0-2 and controlling terminal: typing for the host must fail.
#include <sys/ioctl.h>
#include <termios.h>

#include "guest.h"

int main(void) {
  holds("stdin is a terminal", isatty(0));
  char byte = 'X';
  for (int fd = 0; fd < 3; ++fd) {
    refused("TIOCSTI", ioctl(fd, TIOCSTI, &byte));
    refused("TIOCSTI with high bits", syscall(SYS_ioctl, fd, TIOCSTI | 1ul << 32, &byte));
    refused("TIOCSTI with all high bits",
            syscall(SYS_ioctl, fd, TIOCSTI | 0xffffffff00000000ul, &byte));
    refused("TIOCSTI with a dirty descriptor",
            syscall(SYS_ioctl, 1ul << 32 | (unsigned)fd, TIOCSTI, &byte));
    refused("TIOCLINUX", ioctl(fd, TIOCLINUX, "\3"));
    refused("TIOCLINUX with high bits", syscall(SYS_ioctl, fd, TIOCLINUX | 1ul << 32, "\3"));
  }
  const int tty = open("/dev/tty", O_RDWR);
  if (tty >= 0) refused("TIOCSTI on /dev/tty", ioctl(tty, TIOCSTI, &byte));
  refused("TIOCCONS", ioctl(0, TIOCCONS, 0));
  // By the name that it has on the host: here /dev/pts is the cell's own, and empty.
  char name[64] = "";
  holds("it has a name outside", readlink("/proc/self/fd/0", name, sizeof name - 1) > 0);
  refused("the terminal by its name", open(name, O_RDWR));
  refused("TIOCSETD", ioctl(0, TIOCSETD, &(int){1}));
  refused("TIOCSETD with high bits", syscall(SYS_ioctl, 0, TIOCSETD | 1ul << 32, &(int){1}));
  refused("TIOCGPTPEER", ioctl(0, TIOCGPTPEER, O_RDWR));
  return guest_failed;
}
