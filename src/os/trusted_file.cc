#include "os/trusted_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace brig {
namespace {

// Of a line of /etc/passwd.
constexpr std::size_t kMostFields = 7;

// Calls `action` with the fields of each line of /etc/passwd or /etc/group.
template <typename Action>
void each_line(std::string_view text, char separator, const Action& action) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    std::array<std::string_view, kMostFields> fields;
    for (std::string_view& field : fields) {
      field = line.substr(0, line.find(separator));
      line.remove_prefix(std::min(line.size(), field.size() + 1));
    }
    action(fields);
  }
}

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Who can write the file beside its owner, as words for a message, or "".
std::string written_by(const Ownership& file, uid_t self, const Accounts& accounts) {
  if (file.mode & S_IWOTH) return "everyone can write";
  if (!(file.mode & S_IWGRP)) return "";
  if (file.has_acl) return "an access list lets others write";
  if (accounts.is_private(file.group, file.owner, self)) return "";
  return fmt::format("all of group {} can write", file.group);
}

Ownership ownership_of(const UniqueFd& fd, const struct stat& status) {
  // The kernel refuses attributes of an O_PATH descriptor, but gives those of its link in /proc.
  const std::string link = fmt::format("/proc/self/fd/{}", fd.get());
  const ssize_t size = getxattr(link.c_str(), "system.posix_acl_access", nullptr, 0);
  const bool none = size == 0 || (size < 0 && (errno == ENODATA || errno == ENOTSUP));
  return {status.st_uid, status.st_gid, status.st_mode, !none};
}

[[noreturn]] void fail(int error, const char* doing, const FileRequest& request) {
  const ErrorKind kind = kind_of_errno(error);
  throw_error(kind == ErrorKind::internal ? ErrorKind::config : kind, "{} {} {}: {}", doing,
              request.what, in_quotes(request.path), errno_text(error));
}

UniqueFd open_at(int directory, const std::string& name, int flags) {
  return UniqueFd(::openat(directory, name.c_str(), flags | O_CLOEXEC | O_NOCTTY));
}

struct stat status_of(const UniqueFd& fd, const FileRequest& request) {
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) fail(errno, "reading", request);
  return status;
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// N of /dev/fd/N and the like, or -1. Such a name means the descriptor itself. If brig opened the
// name, the kernel would refuse a socket and another user's pipe, and would read a file from its
// start.
int own_descriptor(std::string_view path) {
  if (path == "/dev/stdin") return STDIN_FILENO;
  for (const std::string_view directory : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(directory)) continue;
    const auto found = number(path.substr(directory.size()));
    return found && *found <= INT_MAX ? static_cast<int>(*found) : -1;
  }
  return -1;
}

bool is_stream(mode_t mode) { return S_ISFIFO(mode) || S_ISSOCK(mode); }

// Whether it is a pipe without a name, which only processes have that were given it, or a socket
// whose other end belongs to this user or root.
bool is_private_stream(const UniqueFd& file, mode_t mode) {
  if (S_ISFIFO(mode)) {
    struct statfs system;
    return fstatfs(file.get(), &system) == 0 && system.f_type == PIPEFS_MAGIC;
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  int type = 0;
  socklen_t type_size = sizeof type;
  return getsockopt(file.get(), SOL_SOCKET, SO_TYPE, &type, &type_size) == 0 &&
         type == SOCK_STREAM &&
         getsockopt(file.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid > 0 &&
         (peer.uid == geteuid() || peer.uid == 0);
}

// Waits until there is something to read, or the end. A FIFO opened before its writer has neither;
// that does not count as its end.
void await_input(const UniqueFd& file, std::chrono::steady_clock::time_point until,
                 const FileRequest& request) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    pollfd wait{file.get(), POLLIN, 0};
    const int count = left.count() > 0 ? ::poll(&wait, 1, static_cast<int>(left.count())) : 0;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno, "reading", request);
    if (count > 0) return;
    throw_error(ErrorKind::config, "reading {} {}: no end of file after {}; close its other end",
                request.what, in_quotes(request.path), format_duration(request.patience));
  }
}

std::string directory_of(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path();
  return directory.empty() ? "." : directory;
}

}  // namespace

Accounts Accounts::of_this_machine() {
  return Accounts(read_text("/etc/passwd"), read_text("/etc/group"));
}

bool Accounts::is_private(gid_t group, uid_t owner, uid_t self) const {
  constexpr std::size_t kName = 0, kId = 2, kGroup = 3, kMembers = 3;
  std::vector<std::string_view> trusted{"root"};
  std::string_view owner_name;
  bool is_private = group == owner || group == 0;
  bool has_stranger = false;
  each_line(passwd_, ':', [&](const auto& fields) {
    const auto id = number(fields[kId]);
    if (!id) return;
    const bool is_trusted = *id == owner || *id == self || *id == 0;
    if (is_trusted) trusted.push_back(fields[kName]);
    if (*id == owner) owner_name = fields[kName];
    if (number(fields[kGroup]) == group && !is_trusted) has_stranger = true;
  });
  each_line(group_, ':', [&](const auto& fields) {
    if (number(fields[kId]) != group) return;
    if (!owner_name.empty() && fields[kName] == owner_name) is_private = true;
    for (std::string_view rest = fields[kMembers]; !rest.empty();) {
      const std::string_view name = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      if (!name.empty() && std::find(trusted.begin(), trusted.end(), name) == trusted.end())
        has_stranger = true;
    }
  });
  return is_private && !has_stranger;
}

std::string distrust(const Ownership& file, const Ownership& directory, Consent consent, uid_t self,
                     const Accounts& accounts) {
  const auto is_own = [&](uid_t owner) { return owner == self || owner == 0; };
  const auto strange = [](const char* whose, uid_t owner) {
    return fmt::format("{} belongs to user {}, who is neither you nor root", whose, owner);
  };
  if (const std::string by = written_by(file, self, accounts); !by.empty()) return by + " it";
  const bool shared = directory.mode & S_IWOTH;
  if (consent == Consent::found) {
    if (!is_own(file.owner)) return strange("it", file.owner);
    if (!is_own(directory.owner)) return strange("its directory", directory.owner);
    const std::string by = written_by(directory, self, accounts);
    return by.empty() ? "" : by + " to its directory";
  }
  if (shared && !(directory.mode & S_ISVTX)) return "everyone can write to its directory";
  // The rule that the kernel has for links in such directories: the user who put the file there
  // must be known.
  if (shared && !is_own(file.owner) && file.owner != directory.owner)
    return strange("everyone can write to its directory, and it", file.owner);
  return "";
}

UniqueFd open_trusted(const FileRequest& request, const ModeCheck& check) {
  const std::string& path = request.path;
  if (path.find('\0') != std::string::npos) fail(EINVAL, "opening", request);
  const int own = request.may_be_pipe ? own_descriptor(path) : -1;
  // Non-blocking, so that a FIFO without a writer is an error and not a wait.
  UniqueFd file = own >= 0 ? UniqueFd(::fcntl(own, F_DUPFD_CLOEXEC, 3))
                           : open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK);
  if (!file) fail(errno, "opening", request);
  const struct stat status = status_of(file, request);
  const bool stream = request.may_be_pipe && is_stream(status.st_mode);
  if (stream && is_private_stream(file, status.st_mode)) return file;
  if (stream && S_ISSOCK(status.st_mode))
    throw_error(ErrorKind::permission,
                "{} {} is not trusted: it is a socket whose other end is not a process of yours or "
                "root's; use a pipe or a file",
                request.what, in_quotes(path));
  if (!S_ISREG(status.st_mode) && !stream)
    throw_error(ErrorKind::config, "reading {} {}: not a regular file{}", request.what,
                in_quotes(path), request.may_be_pipe ? " or a pipe" : "");
  if (check) check(status.st_mode);
  const Ownership owned = ownership_of(file, status);
  const Accounts accounts = Accounts::of_this_machine();
  const auto judge = [&](const UniqueFd& directory) {
    if (!directory) fail(errno, "opening the directory of", request);
    const Ownership around = ownership_of(directory, status_of(directory, request));
    const uid_t self = geteuid();
    const std::string reason = distrust(owned, around, request.consent, self, accounts);
    if (reason.empty()) return;
    const bool naming_helps = !request.how_to_name.empty() &&
                              distrust(owned, around, Consent::named, self, accounts).empty();
    throw_error(ErrorKind::permission, "{} {} is not trusted: {}. {}", request.what,
                in_quotes(path), reason,
                naming_helps ? fmt::format("If you trust it, name it: {}", request.how_to_name)
                             : "Remove that permission (chmod go-w), or use a copy of your own");
  };
  // Judges the directory of the name, and the directory of the file itself if links lead there. A
  // file that has no name any more can only be changed by processes that have it open.
  if (status.st_nlink == 0) {
    judge(file);
  } else {
    judge(open_at(AT_FDCWD, directory_of(path), O_PATH | O_DIRECTORY));
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(path, error);
    if (error) fail(error.value(), "opening", request);
    const UniqueFd directory = open_at(AT_FDCWD, directory_of(real), O_PATH | O_DIRECTORY);
    judge(directory);
    const UniqueFd again = open_at(directory.get(), real.filename(), O_PATH | O_NOFOLLOW);
    if (!again || !is_same(status, status_of(again, request)))
      throw_error(ErrorKind::config, "reading {} {}: another file replaced it meanwhile",
                  request.what, in_quotes(path));
  }
  return file;
}

std::string read_trusted(const FileRequest& request, std::size_t most, const ModeCheck& check) {
  const UniqueFd file = open_trusted(request, check);
  const bool stream = request.may_be_pipe && is_stream(status_of(file, request).st_mode);
  const auto until = std::chrono::steady_clock::now() + request.patience;
  std::string text;
  std::array<char, 16384> chunk;
  while (text.size() <= most) {
    if (stream) await_input(file, until, request);
    const ssize_t size = ::read(file.get(), chunk.data(), chunk.size());
    if (size < 0 && (errno == EINTR || (stream && errno == EAGAIN))) continue;
    if (size < 0) fail(errno, "reading", request);
    if (size == 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(size));
  }
  if (stream && text.empty())
    throw_error(ErrorKind::config,
                "reading {} {}: it ended without any data; did the program that should have "
                "written it fail?",
                request.what, in_quotes(request.path));
  return text;
}

void check_trusted_directory(const std::string& path, std::string_view what) {
  const FileRequest request{path, what};
  const UniqueFd directory = open_at(AT_FDCWD, path, O_PATH | O_DIRECTORY);
  if (!directory) fail(errno, "opening", request);
  if (status_of(directory, request).st_mode & S_IWOTH)
    throw_error(ErrorKind::permission,
                "{} {} is not trusted: everyone can write to it. Remove that permission "
                "(chmod o-w), or use a copy of your own",
                what, in_quotes(path));
}

}  // namespace brig
