#include "cell/workspace.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <deque>
#include <memory>
#include <utility>

#include "base/text.h"
#include "os/open_below.h"

namespace brig {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

bool is_dots(std::string_view name) { return name == "." || name == ".."; }

}  // namespace

bool is_workspace(const UniqueFd& directory, bool on_tmpfs) {
  struct stat info;
  struct statfs system;
  if (!directory || fstat(directory.get(), &info) != 0 || !S_ISDIR(info.st_mode)) return false;
  return !on_tmpfs || (fstatfs(directory.get(), &system) == 0 && system.f_type == TMPFS_MAGIC);
}

Workspace::Workspace(UniqueFd directory, std::function<void()> done)
    : directory_(std::move(directory)), done_(std::move(done)) {}

Workspace::~Workspace() {
  directory_.reset();
  if (done_) done_();
}

UniqueFd Workspace::open_below(const std::string& path, int flags) const {
  // O_NONBLOCK: a FIFO without another end opens too, and is then recognised.
  constexpr int kAlways = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  return UniqueFd(
      brig::open_below(directory_.get(), path.c_str(), {flags | kAlways, /*one_device=*/true}));
}

std::vector<Workspace::File> Workspace::files(std::chrono::steady_clock::time_point until,
                                              Seen* what) const {
  std::vector<File> found;
  struct stat top;
  if (fstat(directory_.get(), &top) != 0) return found;
  // With their depths.
  std::deque<std::pair<std::string, unsigned>> directories{{"", 0}};
  bool enough = false;
  for (std::size_t seen = 0; !enough && !directories.empty(); directories.pop_front()) {
    const auto& [path, depth] = directories.front();
    UniqueFd opened = open_below(path.empty() ? "." : path, O_DIRECTORY);
    const Directory listed(opened ? fdopendir(opened.get()) : nullptr);
    if (!listed) continue;
    opened.release();
    while (const dirent* entry = readdir(listed.get())) {
      const std::string_view name = entry->d_name;
      if (is_dots(name)) continue;
      enough = ++seen > kMostSeen || std::chrono::steady_clock::now() >= until;
      if (enough) break;
      if (!is_valid_utf8(name)) {
        if (what && entry->d_type == DT_REG) ++what->unnamed;
        continue;
      }
      if (path.size() + name.size() + 2 > PATH_MAX) continue;
      struct stat info;
      if (fstatat(dirfd(listed.get()), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      // Root could read what the tool can't: a file whose mode forbids it or, on floors without
      // mounts, another name of somebody else's file.
      if (info.st_uid != top.st_uid || !(info.st_mode & S_IRUSR)) continue;
      std::string whole = path.empty() ? std::string(name) : path + "/" + std::string(name);
      if (S_ISREG(info.st_mode))
        found.push_back({std::move(whole), static_cast<std::uint64_t>(info.st_size)});
      else if (S_ISDIR(info.st_mode) && (info.st_mode & S_IXUSR) && depth < kMostDepth)
        directories.emplace_back(std::move(whole), depth + 1);
    }
  }
  if (what) what->all = !enough;
  std::sort(found.begin(), found.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  return found;
}

std::optional<std::string> Workspace::read(const std::string& path, std::size_t most) const {
  struct stat top, info;
  const UniqueFd file = open_below(path, 0);
  if (!file || fstat(directory_.get(), &top) != 0 || fstat(file.get(), &info) != 0) return {};
  if (!S_ISREG(info.st_mode) || info.st_uid != top.st_uid || !(info.st_mode & S_IRUSR)) return {};
  std::string bytes(std::min(most, static_cast<std::size_t>(info.st_size)), '\0');
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t size = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return {};
    if (size == 0) bytes.resize(done);
    done += static_cast<std::size_t>(size);
  }
  return bytes;
}

std::uint64_t Workspace::weight() const {
  constexpr std::uint64_t kUnknown = std::uint64_t{1} << 40, kName = 256;
  struct statfs system;
  // Elsewhere the numbers describe a file system that others use as well.
  if (fstatfs(directory_.get(), &system) != 0 || system.f_type != TMPFS_MAGIC ||
      system.f_files == 0)
    return kUnknown;
  return (system.f_blocks - system.f_bfree) * static_cast<std::uint64_t>(system.f_bsize) +
         (system.f_files - system.f_ffree) * kName;
}

}  // namespace brig
