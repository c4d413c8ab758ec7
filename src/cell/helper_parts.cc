// What the four parts of the helper share.
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell/helper.h"
#include "os/socket.h"
#include "os/sys.h"

namespace brig::helper {

bool fail(Failure& failure, wire::Stage stage, unsigned index) {
  failure = {stage, errno, index};
  return false;
}

void die(int socket, const Failure& failure) {
  wire::Message message{};
  message.tag = wire::Tag::failed;
  message.stage = failure.stage;
  message.error = failure.error;
  message.index = failure.index;
  send_packet(socket, &message, sizeof message, nullptr, 0);
  _exit(1);
}

void die(int socket, wire::Stage stage, unsigned index) {
  die(socket, Failure{stage, errno, index});
}

bool write_file(int dir, const char* path, const char* text) {
  const int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const size_t size = strlen(text);
  const bool ok = write(fd, text, size) == static_cast<ssize_t>(size);
  const int error = errno;
  close(fd);
  errno = error;
  return ok;
}

const char* decimal(char* buffer, unsigned long value) {
  char* end = buffer + 23;
  *end = '\0';
  do *--end = static_cast<char>('0' + value % 10);
  while (value /= 10);
  return static_cast<const char*>(memmove(buffer, end, static_cast<size_t>(buffer + 24 - end)));
}

bool join(char* out, const char* a, const char* b) {
  const size_t na = strlen(a), nb = strlen(b);
  if (na + 1 + nb + 1 > 4096) {
    errno = ENAMETOOLONG;
    return false;
  }
  memcpy(out, a, na);
  out[na] = '/';
  memcpy(out + na + 1, b, nb + 1);
  return true;
}

void set_name(const char* name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

namespace {

// chmod of a directory that a tool left without rights; never through a symlink it left instead.
void make_accessible(int dir, const char* name) {
  const int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  char path[64] = "/proc/self/fd/", number[24];
  (void)!chmod(strcat(path, decimal(number, static_cast<unsigned long>(fd))), 0700);
  close(fd);
}

// Empties `dir`; sub-directories found in it are moved up into `top`, so that depth never grows.
// True if something was removed or moved.
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

static pid_t number_of(const char* text) { return static_cast<pid_t>(strtol(text, nullptr, 10)); }

// Reads the parent pid from /proc/<pid>/stat: the field after ") S ".
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
  // Descendants of a subreaper come back to it as their parents die, so killing direct children
  // until there are none ends the tree. Bounded: a storm that outruns this is left to the cgroup.
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

bool enter_cgroup(int entrance) {
  const bool ok = write(entrance, "0", 1) == 1;
  const int error = errno;
  close(entrance);
  errno = error;
  return ok;
}

bool set_names(const char* host) {
  return (sethostname(host, strlen(host)) == 0 && setdomainname("", 0) == 0) || errno == EPERM;
}

bool load_filter(const Plan& plan, const PlanList<uint64_t>& program, unsigned flags,
                 int* listener) {
  sock_fprog filter;
  filter.len = static_cast<unsigned short>(program.count);
  filter.filter = reinterpret_cast<sock_filter*>(const_cast<uint64_t*>(begin_of(plan, program)));
  const long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
  if (result < 0) return false;
  if (listener) *listener = static_cast<int>(result);
  return true;
}

namespace {

bool write_map(int process, const char* file, unsigned inside, unsigned outside, unsigned count) {
  char line[80], number[24];
  strcpy(line, decimal(number, inside));
  strcat(strcat(line, " "), decimal(number, outside));
  strcat(strcat(line, " "), decimal(number, count));
  return write_file(process, file, line);
}

}  // namespace

bool map_id_range(int proc, const char* process, unsigned inside, unsigned outside_uid,
                  unsigned outside_gid, unsigned count, Failure& failure) {
  const int dir = openat(proc, process, O_PATH | O_DIRECTORY | O_CLOEXEC);
  bool ok = false;
  if (!write_file(dir, "setgroups", "deny"))
    fail(failure, wire::Stage::id_map, 0);
  else if (!write_map(dir, "uid_map", inside, outside_uid, count))
    fail(failure, wire::Stage::id_map, 1);
  else if (!write_map(dir, "gid_map", inside, outside_gid, count))
    fail(failure, wire::Stage::id_map, 2);
  else
    ok = true;
  if (dir >= 0) close(dir);
  return ok;
}

bool map_ids(int proc, unsigned inside, unsigned outside_uid, unsigned outside_gid,
             Failure& failure) {
  // Writing one's own maps needs the files to be one's own, which they are not while non-dumpable.
  // Nothing that could trace this process exists yet in a namespace that sees it.
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  if (!map_id_range(proc, "self", inside, outside_uid, outside_gid, 1, failure)) return false;
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return true;
}

// A plan is one message with one descriptor. Ends the process if the host gave up.
const Plan& receive_plan(int socket) {
  wire::Message message;
  Packet packet = recv_packet(socket, &message, sizeof message, 0);
  if (packet.size == 0) _exit(1);
  if (packet.size != sizeof message || message.tag != wire::Tag::plan || packet.fd_count != 1) {
    errno = EINVAL;
    die(socket, wire::Stage::plan);
  }
  return map_plan(socket, packet.fds[0].release());
}

const Plan& map_plan(int socket, int file) {
  struct stat info;
  if (fstat(file, &info) != 0 || info.st_size < static_cast<off_t>(sizeof(Plan)))
    die(socket, wire::Stage::plan);
  void* block = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ,
                     MAP_PRIVATE | MAP_POPULATE, file, 0);
  if (block == MAP_FAILED) die(socket, wire::Stage::plan);
  close(file);
  const Plan& plan = *static_cast<const Plan*>(block);
  if (plan.magic != kPlanMagic || plan.size != info.st_size) {
    errno = EINVAL;
    die(socket, wire::Stage::plan);
  }
  return plan;
}

}  // namespace brig::helper
