// What files.noexec and files.protect keep.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "guest.h"

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

extern char** environ;

// Nothing of `directory`/program may run: executed, by its loader, by a descriptor, or mapped as code.
static void not_executable(const char* directory) {
  char program[4096], script[4096], self[64];
  snprintf(program, sizeof program, "%s/program", directory);
  snprintf(script, sizeof script, "%s/script", directory);
  char* const args[] = {program, 0};
  const int fd = open(program, O_RDONLY);
  works("read the program", fd);
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  refused("execve", execve(program, args, environ));
  refused("execve of the descriptor's name", execve(self, args, environ));
  refused("execveat", syscall(SYS_execveat, fd, "", args, environ, AT_EMPTY_PATH));
  char* const script_args[] = {script, 0};
  refused("execve of a script", execve(script, script_args, environ));
  refused("map it as code", (long)mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0));
  void* data = mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
  works("map it as data", (long)data);
  refused("turn that into code", mprotect(data, 4096, PROT_READ | PROT_EXEC));
  void* own = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  refused("turn a changed copy into code", mprotect(own, 4096, PROT_READ | PROT_EXEC));
  char* const loader[] = {"/lib64/ld-linux-x86-64.so.2", program, 0};
  if (access(loader[0], X_OK) == 0) {
    const pid_t pid = fork();
    if (pid == 0) {
      close(2);
      execve(loader[0], loader, environ);
      _exit(127);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    holds("its loader can't run it", WIFEXITED(status) && WEXITSTATUS(status) != 0);
  }
}

static void at(char* path, const char* top, const char* name) {
  snprintf(path, 4096, "%s/%s", top, name);
}

// Below `top`, which is writable: a/b/kept is a directory that must stay as it is, a/file a file.
static void kept(const char* top) {
  char directory[4096], inside[4096], file[4096], parent[4096], grand[4096], own[4096],
      own_directory[4096], away[4096];
  at(directory, top, "a/b/kept");
  at(inside, top, "a/b/kept/new");
  at(file, top, "a/file");
  at(parent, top, "a/b");
  at(grand, top, "a");
  at(own, top, "own");
  at(own_directory, top, "own-directory");
  at(away, top, "away");
  works("make a file beside it", open(own, O_WRONLY | O_CREAT, 0644));
  works("make a directory beside it", mkdir(own_directory, 0755));
  char beside[4096];
  at(beside, top, "a/b/beside");
  works("make a file in its parent", open(beside, O_WRONLY | O_CREAT, 0644));
  refused("make a file in it", open(inside, O_WRONLY | O_CREAT, 0644));
  refused("make a directory in it", mkdir(inside, 0755));
  refused("link into it", link(own, inside));
  refused("rename into it", rename(own, inside));
  refused("symlink in it", symlink("/etc/passwd", inside));
  refused("remove it", rmdir(directory));
  refused("rename it", rename(directory, away));
  refused("rename over it", rename(own_directory, directory));
  refused("exchange it",
          syscall(SYS_renameat2, AT_FDCWD, own_directory, AT_FDCWD, directory, RENAME_EXCHANGE));
  refused("rename its parent", rename(parent, away));
  refused("exchange its parent",
          syscall(SYS_renameat2, AT_FDCWD, own_directory, AT_FDCWD, parent, RENAME_EXCHANGE));
  refused("rename its parent's parent", rename(grand, away));
  refused("chmod it", chmod(directory, 0700));
  refused("write the file", open(file, O_WRONLY));
  refused("truncate the file", truncate(file, 0));
  refused("remove the file", unlink(file));
  refused("rename the file", rename(file, away));
  refused("rename over the file", rename(own, file));
  refused("exchange the file",
          syscall(SYS_renameat2, AT_FDCWD, own, AT_FDCWD, file, RENAME_EXCHANGE));
  refused("hard link of the file", link(file, away));
  refused("chmod the file", chmod(file, 0666));
  const int fd = open(file, O_RDONLY);
  works("read the file", fd);
  char self[64];
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  refused("reopen the file for writing", open(self, O_RDWR));
}

int main(int argc, char** argv) {
  if (argc == 3 && !strcmp(argv[1], "noexec"))
    not_executable(argv[2]);
  else if (argc == 3 && !strcmp(argv[1], "kept"))
    kept(argv[2]);
  else
    return 2;
  return guest_failed;
}
