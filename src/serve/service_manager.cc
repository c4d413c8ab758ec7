#include "serve/service_manager.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace brig::serve {
namespace {

constexpr int kFirstFd = 3, kMostFds = 16;

}  // namespace

std::vector<UniqueFd> inherited_sockets() {
  std::vector<UniqueFd> sockets;
  const char* pid = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  if (pid && count && std::strtol(pid, nullptr, 10) == getpid()) {
    const long most = std::strtol(count, nullptr, 10);
    for (int fd = kFirstFd; fd < kFirstFd + most && fd < kFirstFd + kMostFds; ++fd) {
      fcntl(fd, F_SETFD, FD_CLOEXEC);
      fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
      sockets.emplace_back(fd);
    }
  }
  unsetenv("LISTEN_PID");
  unsetenv("LISTEN_FDS");
  unsetenv("LISTEN_FDNAMES");
  return sockets;
}

bool has_manager() { return std::getenv("NOTIFY_SOCKET") != nullptr; }

void notify_manager(const std::string& state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (!path || (path[0] != '/' && path[0] != '@')) return;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::size_t size = std::strlen(path);
  if (size >= sizeof name.sun_path) return;
  std::memcpy(name.sun_path, path, size);
  // An abstract one.
  if (path[0] == '@') name.sun_path[0] = '\0';
  const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  (void)!sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL,
                reinterpret_cast<const sockaddr*>(&name),
                static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size));
}

}  // namespace brig::serve
