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

constexpr int kOnePage = 1;  // the kernel rounds it up
constexpr int kNap = 20;     // milliseconds

// False if it is to stop. `fd` -1: waits for the time alone.
bool await(int fd, short events, int stop, int milliseconds = -1) {
  pollfd wait[] = {{fd, events, 0}, {stop, POLLIN, 0}};
  while (poll(wait, 2, milliseconds) < 0)
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
                "stdin is a socket, but not a stream socket; use a file or a pipe, or close it");
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw_sys("stdin: pipe2");
  read_.reset(ends[0]);
  write_.reset(ends[1]);
  // One page: it can be written to when all of it was read.
  if (fcntl(ends[1], F_SETPIPE_SZ, kOnePage) < 0) throw_sys("stdin: F_SETPIPE_SZ");
  if (fcntl(ends[0], F_SETFL, 0) != 0) throw_sys("stdin: F_SETFL");
  stop_ = make_event();
  if (!stop_) throw_sys("stdin: eventfd");
  thread_ = std::thread([this] { relay(); });
}

SocketInput::~SocketInput() {
  signal_event(stop_);
  thread_.join();
  take_out(unread());
}

std::size_t SocketInput::unread() const {
  int size = 0;
  return ioctl(read_.get(), FIONREAD, &size) == 0 ? static_cast<unsigned>(size) : shown_;
}

void SocketInput::take_out(std::size_t unread) {
  std::size_t left = shown_ - std::min(shown_, unread);
  shown_ -= left;
  char bytes[4096];
  while (left > 0) {
    const ssize_t size = recv(socket_, bytes, std::min(left, sizeof bytes), MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EINTR)) return;
    if (size > 0) left -= static_cast<std::size_t>(size);
  }
}

// The bytes in the pipe are also in the socket, and must not be shown twice. A writable pipe need
// not be empty: the command can make it larger.
bool SocketInput::await_empty() {
  while (await(write_.get(), POLLOUT, stop_.get())) {
    const std::size_t left = unread();
    take_out(left);
    if (left == 0) return true;
    // Once the pipe is small again, poll can wait for it. If the command prevents that, look from
    // time to time.
    if (fcntl(write_.get(), F_SETPIPE_SZ, kOnePage) < 0 || enlarged_)
      if (!await(-1, 0, stop_.get(), kNap)) return false;
    enlarged_ = true;
  }
  return false;
}

void SocketInput::relay() {
  while (await_empty()) {
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
