#include "cell/host_copy.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

#include "base/error.h"
#include "base/own_thread.h"
#include "helper/helper.h"
#include "os/socket.h"
#include "os/sys.h"
#include "os/threads.h"

namespace brig {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr int kOwn = 2;  // The sanitizer has a thread too.
#else
constexpr int kOwn = 1;
#endif

void require_no_threads() {
  int foreign = 0;
  // A thread that was joined is still listed for a moment.
  for (int attempt = 0; attempt < 50; ++attempt) {
    foreign = count_threads() - kOwn - OwnThread::count();
    if (foreign <= 0) return;
    usleep(1000);
  }
  throw_error(ErrorKind::config,
              "sandbox: this process already runs {} other thread{}, so a copy of it for its C++ "
              "tools could hang; make the Sandbox before starting threads, or put the tools into a "
              "shared library",
              foreign, foreign == 1 ? "" : "s");
}

std::string read_proc(const char* path) {
  std::string text;
  const UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
  char piece[4096];
  for (ssize_t size; (size = read(file.get(), piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<std::size_t>(size));
  return text;
}

// An address as /proc writes it.
void* address(unsigned long number) {
  return reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr)
}

// A host's secrets are in its environment more than anywhere else.
void wipe_environment() {
  for (char** each = environ; each && *each; ++each) memset(*each, 0, strlen(*each));
  static char* none[] = {nullptr};
  environ = none;
  // The kernel keeps the original environment in place, even if the host has changed or unset it
  // since. Fields 50 and 51 say where; counting starts at 3 after the name.
  const std::string stat = read_proc("/proc/self/stat");
  std::size_t at = stat.rfind(')');
  for (int field = 2; field < 50 && at != std::string::npos; ++field) at = stat.find(' ', at + 1);
  if (at == std::string::npos) return;
  char* rest = nullptr;
  const unsigned long begin = strtoul(stat.c_str() + at, &rest, 10),
                      end = strtoul(rest, nullptr, 10);
  if (begin && begin < end) memset(address(begin), 0, end - begin);
}

// Replaces a shared mapping by a private copy.
bool make_private(unsigned long begin, std::size_t size, int protection) {
  constexpr std::size_t kMost = 1ul << 30;
  if (size > kMost) protection = PROT_NONE;
  void* copy = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (copy == MAP_FAILED) return false;
  static char page[4096], zeros[4096];
  for (std::size_t at = 0; protection != PROT_NONE && at < size; at += sizeof page) {
    // Uses a system call: a missing page (behind the end of its file) is then an error and not a
    // signal.
    const iovec here{page, sizeof page}, there{address(begin + at), sizeof page};
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == sizeof page &&
        memcmp(page, zeros, sizeof page) != 0)
      memcpy(static_cast<char*>(copy) + at, page, sizeof page);
  }
  return mprotect(copy, size, protection) == 0 &&
         mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, address(begin)) != MAP_FAILED;
}

// A fork copies all memory except shared memory, through which a tool could write to the host's.
bool unshare_memory() {
  const std::string maps = read_proc("/proc/self/maps");
  if (maps.empty()) return false;
  for (std::size_t line = 0; line < maps.size(); line = maps.find('\n', line) + 1) {
    // "begin-end rwxs ...".
    char* at = nullptr;
    const unsigned long begin = strtoul(maps.c_str() + line, &at, 16);
    const unsigned long end = strtoul(at + 1, &at, 16);
    const char* rights = at + 1;
    if (begin >= end) return false;
    if (rights[3] != 's') continue;
    const int protection = (rights[0] == 'r' ? PROT_READ : 0) |
                           (rights[1] == 'w' ? PROT_WRITE : 0) | (rights[2] == 'x' ? PROT_EXEC : 0);
    if (!make_private(begin, end - begin, protection)) return false;
  }
  return true;
}

[[noreturn]] void host_copy_main(int socket, int host) {
  helper::set_name("brig-host-copy");
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  setsid();
  for (;;) {
    pollfd polls[] = {{socket, POLLIN, 0}, {host, POLLIN, 0}};
    if (poll(polls, 2, -1) < 0 && errno != EINTR) _exit(1);
    if (polls[1].revents) _exit(0);
    if (!polls[0].revents) continue;
    wire::Message message{};
    Packet packet = recv_packet(socket, &message, sizeof message, 0);
    if (packet.size != sizeof message || packet.fd_count != 2) _exit(0);
    int pidfd = -1;
    // The host's own child and not this process's, so that the host can wait for it.
    const pid_t pid = sys::clone_process(CLONE_PARENT | CLONE_PIDFD, &pidfd);
    if (pid == 0) {
      close(socket);
      close(host);
      helper::janitor_main(packet.fds[0].release(), packet.fds[1].release());
    }
    message.status = pid;
    message.error = pid < 0 ? errno : 0;
    const bool sent = send_packet(socket, &message, sizeof message, &pidfd, pid > 0);
    if (pid > 0) close(pidfd);
    if (!sent) _exit(0);
  }
}

}  // namespace

HostCopy::HostCopy(const std::function<void()>& in_copy) {
  require_no_threads();
  const UniqueFd host(sys::pidfd_open(getpid()));
  int pair[2];
  if (!host || !packet_pair(pair)) throw_sys("sandbox: pidfd_open, socketpair");
  socket_.reset(pair[0]);
  const UniqueFd theirs(pair[1]);
  // Otherwise a tool that calls exit() would write what is buffered now once more.
  std::cout.flush();
  std::clog.flush();
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw_sys("sandbox: fork");
  if (pid == 0) {
    // Two descriptors, and nothing else of the host's.
    constexpr int kSocketFd = 3, kHostFd = 4;
    const int a = fcntl(theirs.get(), F_DUPFD, kHostFd + 1);
    const int b = fcntl(host.get(), F_DUPFD, kHostFd + 1);
    if (dup3(a, kSocketFd, O_CLOEXEC) < 0 || dup3(b, kHostFd, O_CLOEXEC) < 0 ||
        sys::close_range(kHostFd + 1, ~0u, 0) != 0)
      _exit(1);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 3; ++i)
      if (null < 0 || dup2(null, i) != i) _exit(1);
    if (null > 2) close(null);
    wipe_environment();
    if (!unshare_memory()) _exit(1);
    in_copy();
    host_copy_main(kSocketFd, kHostFd);
  }
  process_ = Child(pid, UniqueFd(sys::pidfd_open(pid)));
  if (!process_) throw_sys("sandbox: pidfd_open");
}

HostCopy::~HostCopy() {
  shutdown(socket_.get(), SHUT_RDWR);
  process_.wait(1000);
}

Child HostCopy::start(int socket, int host_pidfd) {
  const std::lock_guard lock(mutex_);
  wire::Message message{};
  const int fds[] = {socket, host_pidfd};
  if (send_packet(socket_.get(), &message, sizeof message, fds, 2)) {
    Packet packet = recv_packet(socket_.get(), &message, sizeof message, 0);
    if (packet.size == sizeof message && packet.fds[0])
      return Child(message.status, std::move(packet.fds[0]));
    if (packet.size == sizeof message)
      throw_sys_error(message.error, "starting the helper: clone in the copy of the host");
  }
  throw Error(ErrorKind::internal,
              "starting the helper: the process that C++ tools are forked from was killed; make a "
              "new Sandbox");
}

}  // namespace brig
