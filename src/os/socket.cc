#include "os/socket.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <errno.h>
#include <string.h>

namespace brig {
namespace {

// If a peer closed without reading everything, the kernel reports that before the peer's last
// packets. Those come next.
ssize_t receive(int socket, msghdr& message, int flags) {
  ssize_t size = -1;
  for (int attempt = 0; attempt < 2; ++attempt) {
    do size = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    while (size < 0 && errno == EINTR);
    if (size >= 0 || errno != ECONNRESET) break;
  }
  return size;
}

ssize_t send_once(int socket, const msghdr& message) {
  ssize_t sent;
  do sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent;
}

// The kernel counts descriptors in flight per user, and lets nobody send one while that number is
// above the sender's soft limit of open files. A tool of the same user can have as many in flight
// as its own limit, and a few more. The hard limit is usually far higher, so this call uses it for
// a moment.
//
// Several threads may do so at once. Only a thread that has found another soft limit restores it,
// so the original one stays. It may be restored before another thread has sent, which then tries
// again.
bool send_by_hard_limit(int socket, const msghdr& message, size_t size) {
  for (int attempt = 0; attempt < 16; ++attempt) {
    rlimit before;
    if (getrlimit(RLIMIT_NOFILE, &before) != 0) return false;
    const bool raised = before.rlim_cur < before.rlim_max;
    const rlimit all{before.rlim_max, before.rlim_max};
    if (raised && setrlimit(RLIMIT_NOFILE, &all) != 0) return false;
    const ssize_t sent = send_once(socket, message);
    const int error = errno;
    if (raised) setrlimit(RLIMIT_NOFILE, &before);
    errno = error;
    if (sent >= 0) return sent == static_cast<ssize_t>(size);
    if (error != ETOOMANYREFS) return false;
  }
  return false;
}

}  // namespace

bool packet_pair(int ends[2]) {
  return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
}

bool send_packet(int socket, const void* data, size_t size, const int* fds, int fd_count) {
  iovec iov{const_cast<void*>(data), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxPacketFds)];
  msghdr message{};
  message.msg_iov = &iov;
  message.msg_iovlen = 1;
  if (fd_count > kMaxPacketFds) {
    errno = EINVAL;
    return false;
  }
  if (fd_count > 0) {
    const size_t bytes = sizeof(int) * static_cast<size_t>(fd_count);
    message.msg_control = control;
    message.msg_controllen = static_cast<decltype(message.msg_controllen)>(CMSG_SPACE(bytes));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = static_cast<decltype(header->cmsg_len)>(CMSG_LEN(bytes));
    memcpy(CMSG_DATA(header), fds, bytes);
  }
  const ssize_t sent = send_once(socket, message);
  if (sent < 0 && errno == ETOOMANYREFS) return send_by_hard_limit(socket, message, size);
  return sent == static_cast<ssize_t>(size);
}

Packet recv_packet(int socket, void* data, size_t size, int flags) {
  Packet packet;
  iovec iov{data, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxPacketFds)];
  msghdr message{};
  message.msg_iov = &iov;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  packet.size = receive(socket, message, flags);
  if (packet.size < 0) return packet;
  packet.cut = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      if (packet.fd_count < kMaxPacketFds)
        packet.fds[packet.fd_count++].reset(fd);
      else
        close(fd);
    }
  }
  return packet;
}

ssize_t recv_bytes(int socket, void* data, size_t size, int flags) {
  iovec iov{data, size};
  msghdr message{};
  message.msg_iov = &iov;
  message.msg_iovlen = 1;
  return receive(socket, message, flags);
}

}  // namespace brig
