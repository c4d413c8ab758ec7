#include "helper/clean_up.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helper/text.h"

namespace brig::helper {

namespace {

// chmod of a directory that a tool has left without permissions. Never goes through a symlink that
// the tool has left instead.
void make_accessible(int dir, const char* name) {
  const int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  char path[64] = "/proc/self/fd/", number[24];
  (void)!chmod(strcat(path, decimal(number, static_cast<unsigned long>(fd))), 0700);
  close(fd);
}

// Empties `dir`. Moves directories that it finds in it up into `top`, so that the depth never
// grows. True if it removed or moved something.
bool flatten(int top, int dir, unsigned long& counter) {
  const int copy = dup(dir);
  DIR* stream = copy < 0 ? nullptr : fdopendir(copy);
  if (!stream) {
    if (copy >= 0) close(copy);
    return false;
  }
  bool progress = false;
  rewinddir(stream);
  while (const dirent* entry = readdir(stream)) {
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    if (unlinkat(dir, entry->d_name, 0) == 0 || unlinkat(dir, entry->d_name, AT_REMOVEDIR) == 0) {
      progress = true;
      continue;
    }
    make_accessible(dir, entry->d_name);
    if (dir != top) {
      char name[40] = "brig-", number[24];
      strcat(name, decimal(number, counter++));
      if (renameat(dir, entry->d_name, top, name) == 0) progress = true;
    }
  }
  closedir(stream);
  return progress;
}

}  // namespace

bool remove_tree(const char* path) {
  make_accessible(AT_FDCWD, path);
  const int top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (top < 0) return errno == ENOENT;
  unsigned long counter = 0;
  bool progress = true;
  while (progress) {
    progress = flatten(top, top, counter);
    const int copy = dup(top);
    DIR* stream = copy < 0 ? nullptr : fdopendir(copy);
    if (!stream) {
      if (copy >= 0) close(copy);
      break;
    }
    rewinddir(stream);
    while (const dirent* entry = readdir(stream)) {
      if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
      const int dir = openat(top, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (dir < 0) continue;
      if (flatten(top, dir, counter)) progress = true;
      close(dir);
    }
    closedir(stream);
  }
  close(top);
  return rmdir(path) == 0;
}

bool remove_cgroups(const char* base) {
  for (int attempt = 0; rmdir(base) != 0 && errno != ENOENT; ++attempt) {
    if (attempt == 200) return false;
    if (attempt > 1) usleep(10000);
    DIR* stream = opendir(base);
    if (!stream) continue;
    while (const dirent* entry = readdir(stream)) {
      if (entry->d_type != DT_DIR || entry->d_name[0] == '.') continue;
      unlinkat(dirfd(stream), entry->d_name, AT_REMOVEDIR);
    }
    closedir(stream);
  }
  return true;
}

static pid_t number_of(const char* text) { return static_cast<pid_t>(strtol(text, nullptr, 10)); }

// Reads the parent's pid from /proc/<pid>/stat: the field after ") S ".
static pid_t parent_of(const char* pid) {
  char path[64] = "/proc/", buffer[512];
  strncat(path, pid, 20);
  strcat(path, "/stat");
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const ssize_t size = read(fd, buffer, sizeof buffer - 1);
  close(fd);
  if (size <= 0) return -1;
  buffer[size] = '\0';
  const char* close_paren = strrchr(buffer, ')');
  return close_paren && strlen(close_paren) > 4 ? number_of(close_paren + 4) : -1;
}

void end_descendants() {
  // Descendants of a subreaper become its children as their parents die, so killing direct children
  // until there are none left ends the tree. The number of rounds is bounded; the cgroup bounds a
  // fork storm that outruns this.
  char self[24];
  const pid_t me = number_of(decimal(self, static_cast<unsigned long>(getpid())));
  for (int round = 0; round < 10000; ++round) {
    pid_t waited;
    while ((waited = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (waited < 0 && errno == ECHILD) return;
    DIR* proc = opendir("/proc");
    if (!proc) return;
    while (const dirent* entry = readdir(proc)) {
      if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
      if (parent_of(entry->d_name) == me) kill(number_of(entry->d_name), SIGKILL);
    }
    closedir(proc);
    usleep(round < 10 ? 200 : 2000);
  }
}

}  // namespace brig::helper
