#include "os/surroundings.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "os/sys.h"

namespace brig {

bool in_container() {
  return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 ||
         std::getenv("KUBERNETES_SERVICE_HOST") != nullptr;
}

bool in_firejail() {
  const char* container = std::getenv("container");
  return container && !std::strcmp(container, "firejail");
}

namespace {

// Whether a process above this one is the first process of a cell: in a jail that is pid 1, on the
// other floors any process may be.
bool has_init_above() {
  std::string pid = "self";
  for (int depth = 0; depth < 64; ++depth) {
    const std::string status = read_text("/proc/" + pid + "/status");
    if (status.starts_with("Name:\tbrig-init\n")) return true;
    const std::size_t at = status.find("\nPPid:\t");
    if (at == std::string::npos) return false;
    pid = status.substr(at + 7, status.find('\n', at + 7) - at - 7);
    if (pid == "0") return false;
  }
  return false;
}

}  // namespace

bool in_cell() {
  // The line as root_layout.cc writes it. Its number may differ.
  const std::string accounts = read_text("/etc/passwd");
  const std::size_t line = accounts.find("\nbrig:x:");
  const bool has_account =
      line != std::string::npos &&
      accounts.substr(line + 1, accounts.find('\n', line + 1) - line).find(":brig:/") !=
          std::string::npos;
  return under_filter() && (has_account || has_init_above());
}

bool in_chroot() {
  struct statx info {};
  return statx(AT_FDCWD, "/", 0, STATX_BASIC_STATS, &info) == 0 &&
         (info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) &&
         !(info.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

bool under_filter() {
  return read_text("/proc/self/status").find("\nSeccomp:\t2") != std::string::npos;
}

std::string apparmor_profile() {
  const std::string profile = read_text("/proc/self/attr/current");
  const std::size_t mode = profile.find(" (enforce)");
  return mode == std::string::npos ? "" : profile.substr(0, mode);
}

std::string covered_in_proc() {
  const std::string mounts = read_text("/proc/self/mountinfo");
  // Fields: "id parent major:minor root PLACE ...".
  const std::size_t found = mounts.find(" /proc/");
  if (found == std::string::npos) return "";
  return mounts.substr(found + 1, mounts.find(' ', found + 1) - found - 1);
}

int try_user_namespace() {
  const pid_t pid = sys::clone_process(CLONE_NEWUSER | SIGCHLD, nullptr);
  if (pid < 0) return errno;
  if (pid == 0) _exit(0);
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return 0;
}

}  // namespace brig
