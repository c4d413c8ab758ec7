// A tool's stdin: what it gets of the host's descriptor, and where that descriptor's offset is
// afterwards.
#include "cell/call_stdin.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/error.h"
#include "cell/call.h"
#include "os/rights.h"

namespace brig {
namespace {

// The devices that every cell has: null, zero, full, random, urandom.
bool is_plain_device(const struct stat& info) {
  const unsigned number = minor(info.st_rdev);
  return S_ISCHR(info.st_mode) && major(info.st_rdev) == 1 &&
         (number == 3 || number == 5 || (number >= 7 && number <= 9));
}

bool is_on(int fd, long file_system) {
  struct statfs info;
  return fstatfs(fd, &info) == 0 && info.f_type == file_system;
}

// Whether it is an anonymous pipe, as a shell makes one.
bool is_pipe(int fd) { return is_on(fd, PIPEFS_MAGIC); }

// The same file, for reading only, with an open file description of its own: flags that the tool
// sets there (O_NONBLOCK) are not set for the host. Empty if the file may not be opened.
UniqueFd reopened(int fd, int flags) {
  UniqueFd own(open(fmt::format("/proc/self/fd/{}", fd).c_str(),
                    O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (own && fcntl(own.get(), F_SETFL, flags & O_NONBLOCK) != 0) own.reset();
  return own;
}

}  // namespace

std::string stdin_defect(int fd) {
  struct stat info;
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fstat(fd, &info) != 0)
    return fmt::format("stdin: descriptor {} is not open", fd);
  const bool known = S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) ||
                     is_plain_device(info) || (S_ISCHR(info.st_mode) && isatty(fd));
  if ((flags & O_PATH) || !known)
    return "stdin is a directory, a device or another descriptor that would lead out of the cell; "
           "give a file, a pipe or nothing";
  return "";
}

bool may_be_viewed(int fd) {
  struct stat info;
  return fd >= 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_WRONLY && fstat(fd, &info) == 0 &&
         // The content of a file of /proc depends on who opens it and when: /proc/PID/mem would be
         // brig's own.
         !is_on(fd, PROC_SUPER_MAGIC) &&
         (S_ISREG(info.st_mode) || (S_ISFIFO(info.st_mode) && !is_pipe(fd)));
}

// The descriptor that becomes the tool's stdin. `made` owns it if it was made for that.
int Call::give_stdin(UniqueFd& made) {
  const int fd = request_.command.stdin_fd;
  if (cell_.input) return cell_.input.get();
  struct stat info;
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fstat(fd, &info) != 0) throw_sys("stdin: fstat");
  if (S_ISSOCK(info.st_mode) || (S_ISCHR(info.st_mode) && !is_plain_device(info))) return fd;
  if ((flags & O_ACCMODE) == O_WRONLY) {
    // Reading from it fails, as it does for the host. Writing to it is not what stdin is for.
    made.reset(open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!made) throw_sys("stdin: opening /dev/null");
    return made.get();
  }
  if (S_ISREG(info.st_mode)) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw_sys("stdin: pipe2");
    stdin_begin_ = lseek(fd, 0, SEEK_CUR);
    stdin_read_.reset(ends[0]);
    stdin_write_.reset(ends[1]);
    // /dev/stdin must open for the tool's id too.
    (void)!fchmod(ends[0], 0444);
    return ends[0];
  }
  // Nobody but root can open root's pipe by its name, and the tool is another user. This mode
  // reaches only processes that have the pipe already.
  if (has_root_rights() && is_pipe(fd)) (void)!fchmod(fd, (info.st_mode & 07777) | 0444);
  made = reopened(fd, flags);
  if (made) return made.get();
  if ((flags & O_ACCMODE) != O_RDONLY)
    throw_error(ErrorKind::permission,
                "stdin is also open for writing, and brig can't open it for reading only: {}",
                errno_text(errno));
  return fd;
}

void Call::feed() {
  const int fd = request_.command.stdin_fd;
  ssize_t size = splice(fd, nullptr, stdin_write_.get(), nullptr, 1 << 20, SPLICE_F_NONBLOCK);
  if (size < 0 && errno == EINVAL) {  // Many files of /proc.
    char bytes[PIPE_BUF];             // As much as the pipe has room for, if it has any.
    size = read(fd, bytes, sizeof bytes);
    if (size > 0 && write(stdin_write_.get(), bytes, static_cast<std::size_t>(size)) != size)
      size = -1;
  }
  if (size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR))) return;
  // The end of the file, or of what can be read of it.
  stdin_write_.reset();
}

// Sets the host's file to where the tool stopped reading: `while read x; do brig run ...; done <
// file` loses no line.
void Call::leave_stdin() const {
  int unread = 0;
  if (cell_.input) {
    const off_t offset = lseek(cell_.input.get(), 0, SEEK_CUR);
    if (offset >= 0) lseek(request_.command.stdin_fd, offset, SEEK_SET);
  } else if (stdin_read_ && ioctl(stdin_read_.get(), FIONREAD, &unread) == 0 && unread > 0) {
    // The tool can also write into the pipe, if its user may.
    const off_t at = lseek(request_.command.stdin_fd, 0, SEEK_CUR);
    if (stdin_begin_ >= 0 && at > stdin_begin_)
      lseek(request_.command.stdin_fd, std::max(stdin_begin_, at - unread), SEEK_SET);
  }
}

}  // namespace brig
