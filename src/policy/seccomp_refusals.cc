// How the listener of a lock filter counts memory, and how it describes refusals.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/in6.h>
#include <netinet/in.h>
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
namespace {

std::string describe_option(std::uint32_t level, std::uint32_t option) {
  if (level == IPPROTO_IPV6 && option == IPV6_FLOWLABEL_MGR)
    return "setsockopt(IPV6_FLOWLABEL_MGR)";
  if (level == SOL_SOCKET) switch (option) {
      case SO_ATTACH_FILTER: return "setsockopt(SO_ATTACH_FILTER)";
      case SO_ATTACH_BPF: return "setsockopt(SO_ATTACH_BPF)";
      case SO_ATTACH_REUSEPORT_CBPF: return "setsockopt(SO_ATTACH_REUSEPORT_CBPF)";
      case SO_ATTACH_REUSEPORT_EBPF: return "setsockopt(SO_ATTACH_REUSEPORT_EBPF)";
      default: break;
    }
  return "setsockopt";
}

}  // namespace

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
  // What a kernel without these options says: libpcap filters by itself then, without a warning.
  if (number == SCMP_SYS(setsockopt)) return ENOPROTOOPT;
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
  if (name == "setsockopt")
    return describe_option(static_cast<std::uint32_t>(arguments[1]),
                           static_cast<std::uint32_t>(arguments[2]));
  if (name == "prlimit64" && static_cast<int>(arguments[1]) == RLIMIT_CORE)
    return "prlimit64(RLIMIT_CORE)";
  if (name == "prctl" && static_cast<int>(arguments[0]) == PR_SET_MM) return "prctl(PR_SET_MM)";
  return name;
}

}  // namespace brig
