#include "cli/streams.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/error.h"

namespace brig::cli {

bool Passer::drop(int fd, std::string_view reason) {
  why_ = fd == 1 ? "standard output: " : "standard error: ";
  why_ += reason;
  return false;
}

bool Passer::pass(int fd, std::string_view bytes) {
  struct stat info;
  const bool file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  while (!bytes.empty()) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until_ - Clock::now()).count();
    pollfd wait[] = {{fd, POLLOUT, 0}, {cancel_, POLLIN, 0}};
    if (poll(wait, 2, static_cast<int>(std::clamp<long>(left, 0, 1 << 30))) <= 0)
      return drop(fd, "the reader of the output did not read in time");
    if (!wait[0].revents)
      return drop(fd, "a signal came before its reader had read all of the output");
    const ssize_t size = write(fd, bytes.data(),
                               file ? bytes.size() : std::min<std::size_t>(bytes.size(), PIPE_BUF));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0)
      return drop(fd, errno_text(errno));  // a broken pipe cancels the call, by its signal
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

std::vector<int> ignored_signals() {
  std::vector<int> ignored;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      ignored.push_back(number);
  }
  return ignored;
}

bool is_one_file(int one, int other) {
  struct stat a, b;
  return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino && (a.st_mode & S_IFMT) == (b.st_mode & S_IFMT) &&
         a.st_rdev == b.st_rdev;
}

UniqueFd signals_as_descriptor() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) sigaddset(&set, number);
  // A blocked signal comes even if it is ignored: left out, the kernel drops it.
  for (const int number : ignored_signals()) sigdelset(&set, number);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) throw_sys("signalfd");
  return fd;
}

int signal_from(int descriptor) {
  signalfd_siginfo info{};
  const bool known = read(descriptor, &info, sizeof info) == sizeof info;
  return known ? static_cast<int>(info.ssi_signo) : SIGINT;
}

}  // namespace brig::cli
