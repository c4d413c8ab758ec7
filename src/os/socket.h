// Packets with descriptors over SOCK_SEQPACKET. No allocation, no exceptions: used by the host and,
// after fork, by the helper.
#pragma once

#include <sys/types.h>

#include <stddef.h>

#include "base/fd.h"

namespace brig {

inline constexpr int kMaxPacketFds = 6;

// Two connected ends, close-on-exec. True on success, else errno is set.
bool packet_pair(int ends[2]);

// Sends one packet; never raises SIGPIPE. True on success, else errno is set. Where the user has too many
// descriptors in flight for this process' soft limit of open files, it is the hard one for a moment.
bool send_packet(int socket, const void* data, size_t size, const int* fds, int fd_count);

struct Packet {
  ssize_t size = -1;            // -1: error in errno; 0: the peer is gone
  UniqueFd fds[kMaxPacketFds];  // close-on-exec. Any that is not moved out closes with the packet
  int fd_count = 0;             // how many arrived
  bool cut = false;             // data or descriptors did not fit; what did not fit is gone
};

Packet recv_packet(int socket, void* data, size_t size, int flags);

// The bytes alone: descriptors that come with them are dropped by the kernel. As Packet::size.
ssize_t recv_bytes(int socket, void* data, size_t size, int flags);

}  // namespace brig
