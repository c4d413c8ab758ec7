#include "cli/socket_input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "os/event.h"

namespace brig::cli {
namespace {

// False if it is to stop.
bool await(int fd, short events, int stop) {
  pollfd wait[] = {{fd, events, 0}, {stop, POLLIN, 0}};
  while (poll(wait, 2, -1) < 0)
    if (errno != EINTR) return false;
  return wait[1].revents == 0;
}

}  // namespace

SocketInput::SocketInput(int socket) : socket_(socket) {
  int type = 0, ends[2];
  socklen_t size = sizeof type;
  if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0) throw_sys("stdin: getsockopt");
  if (type != SOCK_STREAM)
    throw_error(ErrorKind::config,
                "stdin is a socket that is no stream; give a file, a pipe or nothing");
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw_sys("stdin: pipe2");
  read_.reset(ends[0]);
  write_.reset(ends[1]);
  // One page: it can be written to when all of it was read.
  if (fcntl(ends[1], F_SETPIPE_SZ, 1) < 0) throw_sys("stdin: F_SETPIPE_SZ");
  if (fcntl(ends[0], F_SETFL, 0) != 0) throw_sys("stdin: F_SETFL");
  stop_ = make_event();
  if (!stop_) throw_sys("stdin: eventfd");
  thread_ = std::thread([this] { relay(); });
}

SocketInput::~SocketInput() {
  signal_event(stop_);
  thread_.join();
  take_out();
}

void SocketInput::take_out() {
  int unread = 0;
  if (ioctl(read_.get(), FIONREAD, &unread) != 0) return;
  std::size_t left = shown_ - std::min<std::size_t>(shown_, static_cast<unsigned>(unread));
  shown_ -= left;
  char bytes[4096];
  while (left > 0) {
    const ssize_t size = recv(socket_, bytes, std::min(left, sizeof bytes), MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EINTR)) return;
    if (size > 0) left -= static_cast<std::size_t>(size);
  }
}

void SocketInput::relay() {
  while (await(write_.get(), POLLOUT, stop_.get())) {
    take_out();
    if (!await(socket_, POLLIN, stop_.get())) return;
    char bytes[4096];
    const ssize_t size = recv(socket_, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    // The end, or what can't be read is no more than that.
    if (size <= 0 || write(write_.get(), bytes, static_cast<std::size_t>(size)) != size) break;
    shown_ = static_cast<std::size_t>(size);
  }
  write_.reset();
}

}  // namespace brig::cli
