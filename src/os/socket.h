// Packets with descriptors over SOCK_SEQPACKET. No allocation and no exceptions: the host uses
// this, and so does the helper after fork.
#pragma once

#include <sys/types.h>

#include <stddef.h>

#include "base/fd.h"

namespace brig {

inline constexpr int kMaxPacketFds = 6;

// Makes two connected ends, close-on-exec. False on failure; errno is set.
bool packet_pair(int ends[2]);

// Sends one packet. Never raises SIGPIPE. False on failure; errno is set. If the user has more
// descriptors in flight than this process's soft limit of open files, the hard limit applies for a
// moment.
bool send_packet(int socket, const void* data, size_t size, const int* fds, int fd_count);

struct Packet {
  // -1: an error, see errno. 0: the peer is gone.
  ssize_t size = -1;
  // Close-on-exec. Descriptors that are not moved out close with the packet.
  UniqueFd fds[kMaxPacketFds];
  // How many descriptors arrived.
  int fd_count = 0;
  // Whether data or descriptors did not fit. What did not fit is lost.
  bool cut = false;
};

Packet recv_packet(int socket, void* data, size_t size, int flags);

// Receives only the bytes. The kernel drops descriptors that come with them. Returns what
// Packet::size would be.
ssize_t recv_bytes(int socket, void* data, size_t size, int flags);

}  // namespace brig
