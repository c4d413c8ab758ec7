// How the listener of a lock filter counts memory, and how it describes refusals.
#include <fcntl.h>
#include <fmt/format.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "policy/seccomp.h"

namespace brig {

std::uint64_t counted_memory(int number, const std::uint64_t* arguments) {
  constexpr std::uint64_t kQueue = 2 << 20;  // 16384 empty messages, and what holds them
  constexpr std::uint64_t kSemaphore = 128;
  // A minimum per call bounds the number of these calls too, each of which the listener has to
  // answer.
  constexpr std::uint64_t kLeast = 64 << 10;
  if (number == SCMP_SYS(msgget)) return kQueue;
  const std::uint64_t size = number == SCMP_SYS(semget)
                                 ? static_cast<std::uint32_t>(arguments[1]) * kSemaphore
                                 : arguments[1];
  return std::max(size, kLeast);
}

bool may_hand_out(int number, const std::uint64_t* arguments) {
  if (number == SCMP_SYS(socket)) return arguments[0] == AF_UNIX;
  return number == SCMP_SYS(connect) || number == SCMP_SYS(socketpair);
}

int refusal_errno(int number) {
  if (number == SCMP_SYS(socket)) return EACCES;
  // Programs that watch files check them from time to time if the kernel "can't" watch.
  const bool watches = number == SCMP_SYS(inotify_init) || number == SCMP_SYS(inotify_init1) ||
                       number == SCMP_SYS(inotify_add_watch);
  return watches ? ENOSYS : EPERM;
}

std::string describe_refusal(int number, const std::uint64_t* arguments) {
  char* raw = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
  std::string name = raw ? raw : fmt::format("syscall {}", number);
  free(raw);
  if (name == "socket") {
    switch (static_cast<int>(arguments[0])) {
      case AF_INET: return "socket(AF_INET)";
      case AF_INET6: return "socket(AF_INET6)";
      case AF_NETLINK: return "socket(AF_NETLINK)";
      default: return fmt::format("socket({})", static_cast<int>(arguments[0]));
    }
  }
  if (name == "clone") return "clone(CLONE_NEW*)";
  if (name == "ioctl") {
    switch (static_cast<std::uint32_t>(arguments[1])) {
      case TIOCSTI: return "ioctl(TIOCSTI)";
      case TIOCSETD: return "ioctl(TIOCSETD)";
      default: return "ioctl(TIOCLINUX)";
    }
  }
  if (name == "fcntl") {
    switch (static_cast<std::uint32_t>(arguments[1])) {
      case F_SETLEASE: return "fcntl(F_SETLEASE)";
      case F_NOTIFY: return "fcntl(F_NOTIFY)";
      default: return name;
    }
  }
  if (name == "prlimit64" && static_cast<int>(arguments[1]) == RLIMIT_CORE)
    return "prlimit64(RLIMIT_CORE)";
  if (name == "prctl" && static_cast<int>(arguments[0]) == PR_SET_MM) return "prctl(PR_SET_MM)";
  return name;
}

}  // namespace brig
