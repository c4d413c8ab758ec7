// Terminals of the cell's own: what they are for works, and what they could be used for does not. Argument: the name
// that a terminal of the host's has there, or nothing.
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>

#include "guest.h"

static int names_in_dev_pts(void) {
  DIR* stream = opendir("/dev/pts");
  int count = 0;
  while (stream && readdir(stream)) ++count;
  if (stream) closedir(stream);
  return count - 2;
}

// A session of its own on it, with it as controlling terminal: what it says of itself.
static void use(int master, const char* name) {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    const int slave = open(name, O_RDWR);
    dup2(slave, 0);
    const int tty = open("/dev/tty", O_RDWR);
    _exit(slave >= 0 && isatty(0) && ttyname(0) && !strcmp(ttyname(0), name) && tty >= 0 &&
                  write(tty, "said", 4) == 4
              ? 0
              : 1);
  }
  int status = 1;
  char said[5] = "";
  waitpid(child, &status, 0);
  holds("it has a name, and /dev/tty opens", status == 0);
  works("read what was said", read(master, said, 4));
  holds("it was said", !strcmp(said, "said"));
}

int main(int argc, char** argv) {
  holds("there is none but ptmx at first", names_in_dev_pts() == 1);
  refused("one that nobody made", open("/dev/pts/0", O_RDWR | O_NOCTTY));
  if (argc > 1) refused("one of the host's", open(argv[1], O_RDWR | O_NOCTTY));
  refused("make a node of one", mknod("/tmp/pts", S_IFCHR | 0600, makedev(136, 0)));
  refused("a console", open("/dev/console", O_RDWR | O_NOCTTY));

  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  works("make one", master);
  works("grant it", grantpt(master));
  works("unlock it", unlockpt(master));
  const char* name = ptsname(master);
  holds("it is the first", name && !strcmp(name, "/dev/pts/0"));
  const int slave = open(name, O_RDWR | O_NOCTTY);
  works("open it", slave);
  struct termios settings;
  works("tcgetattr", tcgetattr(slave, &settings));
  works("tcsetattr", tcsetattr(slave, TCSANOW, &settings));
  struct winsize size = {24, 80, 0, 0};
  works("set its size", ioctl(master, TIOCSWINSZ, &size));
  use(master, name);

  char byte = 'X';
  const int both[] = {master, slave};
  for (int i = 0; i < 2; ++i) {
    refused("TIOCSTI", ioctl(both[i], TIOCSTI, &byte));
    refused("TIOCLINUX", ioctl(both[i], TIOCLINUX, "\3"));
    refused("TIOCSETD", ioctl(both[i], TIOCSETD, &(int){1}));
    refused("TIOCSETD with high bits",
            syscall(SYS_ioctl, both[i], TIOCSETD | 1ul << 32, &(int){1}));
    refused("TIOCCONS", ioctl(both[i], TIOCCONS, 0));
    refused("TIOCVHANGUP", ioctl(both[i], TIOCVHANGUP, 0));
  }
  refused("a file in /dev/pts", open("/dev/pts/x", O_WRONLY | O_CREAT, 0600));
  refused("a directory in /dev/pts", mkdir("/dev/pts/x", 0700));
  refused("remove ptmx", unlink("/dev/pts/ptmx"));

  int made = 1;
  while (made < 1000 && posix_openpt(O_RDWR | O_NOCTTY) >= 0) ++made;
  refused_with("more than a few", posix_openpt(O_RDWR | O_NOCTTY), ENOSPC, ENOSPC);
  printf("made %d\n", made);
  holds("there are 16", made == 16 && names_in_dev_pts() == 17);
  return guest_failed;
}
