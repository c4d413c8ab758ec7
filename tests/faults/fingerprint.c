// Run in a cell: writes all that tells how well it is locked to the file given, which is its mark that
// it ran. Two runs under one policy write the same, whatever failed on the way.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

static FILE* out;

static int compare(const void* a, const void* b) {
  return strcmp(*(char* const*)a, *(char* const*)b);
}

// The lines of a file that begin with one of `keys` (all, if there are none); words from `skip` on.
static void show(const char* path, const char* const* keys, int skip) {
  char line[4096];
  FILE* file = fopen(path, "r");
  if (!file) {
    fprintf(out, "%s: %s\n", path, strerror(errno));
    return;
  }
  while (fgets(line, sizeof line, file)) {
    int wanted = !keys;
    for (const char* const* key = keys; key && *key; ++key)
      wanted |= !strncmp(line, *key, strlen(*key));
    if (!wanted) continue;
    char* at = line;
    for (int i = 0; i < skip && at; ++i) at = strchr(at, ' ') ? strchr(at, ' ') + 1 : 0;
    fprintf(out, "%s: %s", path, at ? at : line);
  }
  fclose(file);
}

// A slot gets a new pids cgroup, beside its first, when a call has used up its processes: which of them a call is in
// depends on the calls before it, and says nothing of how it is locked.
static void show_cgroups(void) {
  char line[4096], number[64];
  FILE* file = fopen("/proc/self/cgroup", "r");
  while (file && fgets(line, sizeof line, file)) {
    char* at = strstr(line, ":pids:/../");
    if (at && sscanf(at, ":pids:/../%63[0-9.]\n", number) == 1 &&
        strlen(at) == strlen(":pids:/../") + strlen(number) + 1)
      strcpy(at, ":pids:/\n");
    fprintf(out, "/proc/self/cgroup: %s", line);
  }
  if (!file) fprintf(out, "/proc/self/cgroup: %s\n", strerror(errno));
  if (file) fclose(file);
}

static void list(const char* path) {
  char* names[512];
  int count = 0;
  DIR* stream = opendir(path);
  while (stream && count < 512) {
    const struct dirent* entry = readdir(stream);
    if (!entry) break;
    names[count++] = strdup(entry->d_name);
  }
  if (stream) closedir(stream);
  qsort(names, (size_t)count, sizeof *names, compare);
  fprintf(out, "%s:", path);
  for (int i = 0; i < count; ++i) fprintf(out, " %s", names[i]);
  fprintf(out, "\n");
}

// Which ids there are inside; those outside differ by run.
static void show_map(const char* path) {
  unsigned long inside, outside, count;
  FILE* file = fopen(path, "r");
  while (file && fscanf(file, "%lu %lu %lu", &inside, &outside, &count) == 3)
    fprintf(out, "%s: %lu %s %lu\n", path, inside, outside ? "not root" : "ROOT", count);
  if (file) fclose(file);
}

static void attempt(const char* name, long result) {
  fprintf(out, "%s: %s\n", name, result < 0 ? strerrorname_np(errno) : "works");
}

// This program, at the place of a path that is listed with noexec: without arguments it would end with 9.
static void try_to_execute(const char* path) {
  int status = 0;
  fflush(out);
  const pid_t pid = fork();
  if (pid == 0) {
    execl(path, path, (char*)0);
    _exit(100 + errno);
  }
  if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) status = 0;
  errno = WEXITSTATUS(status) - 100;
  attempt("execute", WEXITSTATUS(status) == 9 ? 0 : -1);
  const int fd = open(path, O_RDONLY);
  attempt("read what can't be executed", fd);
  if (fd < 0) return;
  attempt("map as code",
          mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0);
  close(fd);
}

// A protected file of a directory that can be written to.
static void try_to_change(const char* mark) {
  char here[4096], kept[4096 + 8], other[4096 + 8];
  snprintf(here, sizeof here, "%s", mark);
  const char* directory = dirname(here);
  snprintf(kept, sizeof kept, "%s/kept", directory);
  snprintf(other, sizeof other, "%s/moved", directory);
  show(kept, 0, 0);
  const int fd = open(kept, O_WRONLY | O_APPEND);
  attempt("write what is kept", fd);
  if (fd >= 0) close(fd);
  attempt("rename what is kept", rename(kept, other));
  rename(other, kept);
}

int main(int argc, char** argv) {
  char* text;
  size_t size;
  if (argc < 2 || !(out = open_memstream(&text, &size))) return 9;
  const int jailed =
      getppid() == 1;  // else ids, pids and cgroups are the host's, and differ by run
  const char* status[] = {"Groups",
                          "Cap",
                          "NoNewPrivs",
                          "Seccomp",
                          "SigBlk",
                          "SigIgn",
                          "SigCgt",
                          "Umask",
                          jailed ? "Uid" : "-",
                          jailed ? "Gid" : "-",
                          jailed ? "NSp" : "-",
                          0};
  show("/proc/self/status", status, 0);
  if (jailed)
    show("/proc/1/status", (const char*[]){"Name", "Uid", "Cap", "NoNewPrivs", "Seccomp", 0}, 0);
  show("/proc/self/limits", 0, 0);
  show("/proc/self/mountinfo", 0, 3);  // without ids and device numbers, which differ by run
  if (jailed) show_cgroups();
  fprintf(out, "%s\n", getuid() && geteuid() && getgid() && getegid() ? "not root" : "ROOT");
  show_map("/proc/self/uid_map");
  show_map("/proc/self/gid_map");
  show("/proc/self/setgroups", 0, 0);
  if (jailed) show("/proc/net/dev", (const char*[]){"    lo", "  eth", 0}, 0);
  show("/proc/self/oom_score_adj", 0, 0);
  struct utsname names;
  uname(&names);
  fprintf(out, "host %s domain %s\n", names.nodename, names.domainname);
  if (jailed)
    fprintf(out, "pid %d parent %d session %d group %d\n", getpid(), getppid(), getsid(0),
            getpgid(0));
  const char* places[] = {"/",    "/tmp",          "/workspace", "/dev",   "/dev/shm",
                          "/etc", "/proc/self/ns", "/var",       "/opt/a", 0};
  for (const char** place = places; *place; ++place) list(*place);
  for (char** variable = environ; *variable; ++variable)
    if (strncmp(*variable, "TMPDIR=", 7) && strncmp(*variable, "HOME=", 5))
      fprintf(out, "%s\n", *variable);
  for (int fd = 0; fd < 1024; ++fd) {
    struct stat info;
    if (fstat(fd, &info) == 0) fprintf(out, "descriptor %d mode %o\n", fd, info.st_mode & S_IFMT);
  }
  attempt("mknod of a whiteout",
          mknod("/workspace/node", S_IFCHR, makedev(0, 0)));  // Landlock alone forbids it
  attempt("unshare", unshare(CLONE_NEWUSER));
  attempt("socket", socket(AF_INET, SOCK_STREAM, 0));
  attempt("shadow", open("/etc/shadow", O_RDONLY));
  attempt("root", open("/root/.profile", O_RDONLY));
  attempt("usr", open("/usr/brig-faults", O_WRONLY | O_CREAT, 0600));
  attempt("oom", open("/proc/self/oom_score_adj", O_WRONLY));
  attempt("kill parent", kill(getppid(), 0));
  try_to_execute("/opt/a/program");
  try_to_change(argv[1]);
  fclose(out);
  // All of it or nothing: the tool may be killed at any time.
  const int mark = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644);
  return mark >= 0 && write(mark, text, size) == (ssize_t)size ? 0 : 9;
}
