// A socket as the stdin of `brig run`: what programs give that were started by inetd, ssh or
// Node.js.
#pragma once

#include <cstddef>
#include <thread>

#include "base/fd.h"

namespace brig::cli {

// The command gets a pipe, not the socket: that could be written to, sent descriptors by, or
// connected elsewhere. A thread shows in the pipe what is in the socket, and takes out of the
// socket what the command has read: the rest is there for whoever reads next.
class SocketInput {
 public:
  // `socket` is borrowed. Throws Error: config for one that is no stream.
  explicit SocketInput(int socket);
  // Takes out what was read last.
  ~SocketInput();
  SocketInput(const SocketInput&) = delete;
  SocketInput& operator=(const SocketInput&) = delete;

  int inside() const { return read_.get(); }

 private:
  void relay();
  // False if it is to stop.
  bool await_empty();
  // Bytes in the pipe.
  std::size_t unread() const;
  void take_out(std::size_t unread);

  int socket_;
  UniqueFd read_, write_, stop_;
  std::size_t shown_ = 0;  // in the pipe, and still in the socket
  bool enlarged_ = false;  // by the command, before
  std::thread thread_;
};

}  // namespace brig::cli
