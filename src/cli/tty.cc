#include "cli/tty.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/error.h"
#include "os/event.h"

namespace brig::cli {
namespace {

// Never waits once `stop` is readable: a terminal that is not read must not hold up the end.
void write_all(int fd, const char* bytes, ssize_t size, int stop) {
  while (size > 0) {
    pollfd wait[] = {{fd, POLLOUT, 0}, {stop, POLLIN, 0}};
    if (poll(wait, 2, -1) < 0 && errno != EINTR) return;
    if (!wait[0].revents) {
      if (wait[1].revents) return;
      continue;
    }
    const ssize_t written =
        write(fd, bytes, static_cast<std::size_t>(std::min<ssize_t>(size, PIPE_BUF)));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes += written;
    size -= written;
  }
}

void copy_size(int from, int to) {
  winsize size{};
  if (ioctl(from, TIOCGWINSZ, &size) == 0) ioctl(to, TIOCSWINSZ, &size);
}

}  // namespace

Tty::Tty() {
  outside_.reset(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!outside_ || grantpt(outside_.get()) != 0 || unlockpt(outside_.get()) != 0)
    throw_sys("--tty: opening a terminal");
  inside_.reset(ioctl(outside_.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!inside_) throw_sys("--tty: opening a terminal");
  begin();
}

Tty::Tty(int outside) : outside_(fcntl(outside, F_DUPFD_CLOEXEC, 3)) {
  if (!outside_) throw_sys("--tty: opening a terminal");
  begin();
}

void Tty::begin() {
  stop_ = make_event();
  if (!stop_) throw_sys("--tty: opening a terminal");
  copy_size(0, outside_.get());
  if (tcgetattr(0, &before_) == 0) {
    termios raw = before_;
    cfmakeraw(&raw);
    raw_ = tcsetattr(0, TCSANOW, &raw) == 0;
  }
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGWINCH);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { relay(); });
}

Tty::~Tty() {
  // The last one: the relay reads what is left, then the end.
  inside_.reset();
  signal_event(stop_);
  thread_.join();
  if (raw_) tcsetattr(0, TCSANOW, &before_);
}

void Tty::relay() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGWINCH);
  const UniqueFd resized(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  pollfd polls[] = {{outside_.get(), POLLIN, 0},
                    {0, POLLIN, 0},
                    {resized.get(), POLLIN, 0},
                    {stop_.get(), POLLIN, 0}};
  bool stopping = false;
  for (;;) {
    // Once stopped, read on while there is something, without waiting.
    const int count = poll(polls, 4, stopping ? 20 : -1);
    if (count < 0 && errno != EINTR) return;
    if (count == 0 && stopping) return;
    char buffer[4096];
    if (polls[0].revents) {
      const ssize_t size = read(outside_.get(), buffer, sizeof buffer);
      if (size > 0)
        write_all(1, buffer, size, stop_.get());
      else if (stopping)
        return;  // EIO: nobody holds the other side any more
      else if (size == 0 || errno == EIO)
        polls[0].fd = -1;
    }
    if (polls[1].revents) {
      const ssize_t size = read(0, buffer, sizeof buffer);
      if (size > 0) {
        write_all(outside_.get(), buffer, size, stop_.get());
      } else {
        // End of input, as a terminal says it.
        write_all(outside_.get(), "\4", 1, stop_.get());
        polls[1].fd = -1;
      }
    }
    if (polls[2].revents) {
      signalfd_siginfo info;
      (void)!read(resized.get(), &info, sizeof info);
      copy_size(0, outside_.get());
    }
    if (polls[3].revents) {
      stopping = true;
      polls[1].fd = polls[3].fd = -1;
    }
  }
}

}  // namespace brig::cli
