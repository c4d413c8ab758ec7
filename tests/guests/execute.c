// Code that was not there before: what a cell may do with its own memory and files. None of it is a
// boundary: whatever runs, runs under the same locks. Each copy started here checks that.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "guest.h"

extern char** environ;

static void locked(const char* name) {
  char line[128];
  snprintf(line, sizeof line, "%s: mount", name);
  refused(line, syscall(SYS_mount, "x", "/tmp", "tmpfs", 0, 0));
  snprintf(line, sizeof line, "%s: unshare", name);
  refused(line, syscall(SYS_unshare, 0x10000000));
  snprintf(line, sizeof line, "%s: write /usr", name);
  refused(line, open("/usr/brig-escape", O_WRONLY | O_CREAT, 0644));
  snprintf(line, sizeof line, "%s: no_new_privs", name);
  holds(line, prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
}

static int copy_to(int to) {
  const int from = open("/proc/self/exe", O_RDONLY);
  struct stat info;
  fstat(from, &info);
  const ssize_t size = sendfile(to, from, 0, (size_t)info.st_size);
  close(from);
  return size == info.st_size ? 0 : -1;
}

static void await(const char* name, pid_t pid) {
  int status = -1;
  waitpid(pid, &status, 0);
  holds(name, WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char** argv) {
  if (argc > 1) {
    locked(argv[1]);
    return guest_failed;
  }
  const int memory = memfd_create("program", 0);
  works("copy into a memfd", copy_to(memory));
  pid_t pid = fork();
  if (pid == 0) {
    char* const args[] = {"x", "from a memfd", 0};
    syscall(SYS_execveat, memory, "", args, environ, AT_EMPTY_PATH);
    _exit(9);
  }
  await("a memfd ran, locked", pid);
  const int file = open("/tmp/program", O_WRONLY | O_CREAT, 0755);
  works("copy into /tmp", copy_to(file));
  close(file);
  pid = fork();
  if (pid == 0) {
    char* const args[] = {"x", "from /tmp", 0};
    execve("/tmp/program", args, environ);
    _exit(9);
  }
  await("a file in /tmp ran, locked", pid);
  pid = fork();
  if (pid == 0) {  // set-user-ID programs of the system: nosuid and no_new_privs
    static const char* const programs[] = {"/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount",
                                           "/usr/bin/chsh"};
    for (int i = 0; i < 4; ++i) {
      struct stat info;
      if (stat(programs[i], &info) == 0)
        holds("a set-user-ID file's owner is nobody here",
              info.st_uid != getuid() || !(info.st_mode & S_ISUID));
    }
    _exit(guest_failed);
  }
  await("set-user-ID programs give nothing", pid);
  works("memory that is writable and executable",
        mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
                MAP_FAILED
            ? -1
            : 0);
  return guest_failed;
}
