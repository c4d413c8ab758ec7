#include "cell/git_config.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "os/open_below.h"
#include "policy/paths.h"

namespace brig {
namespace {

// Where cargo keeps repositories below ~/.cargo. The preset lists `git` and `registry`.
constexpr std::string_view kOfCargo[] = {"git/db/*", "registry/index/*", "git/checkouts/*/*"};
// Of the file, in bytes: whoever fills a listed directory must not fill the cell's root too.
constexpr std::size_t kMostSettings = 256 << 10;
constexpr char kDirectory[] = "\tdirectory = ";

using Listing = std::unique_ptr<DIR, decltype([](DIR* stream) { closedir(stream); })>;

// Opens it if a stranger may list and enter it, as a cell of root's is one: the file tells no name
// that the cell could not read itself. Null: it is not there, or not for strangers.
Listing open_public(const std::string& path) {
  struct stat info;
  UniqueFd fd(open_below(AT_FDCWD, path.c_str(), {.flags = O_RDONLY | O_DIRECTORY}));
  if (!fd && errno != ENOENT && errno != ENOTDIR && errno != EACCES && errno != EPERM &&
      errno != ELOOP && errno != ENAMETOOLONG)
    throw_sys("the cell's root: looking for repositories in '{}'", path);
  if (!fd || fstat(fd.get(), &info) != 0 || (~info.st_mode & (S_IROTH | S_IXOTH)) != 0)
    return nullptr;
  Listing opened(fdopendir(fd.get()));
  if (!opened) throw_sys("the cell's root: looking for repositories in '{}'", path);
  // The stream owns it now.
  (void)fd.release();
  return opened;
}

bool is_repository(const Listing& directory) {
  struct stat info;
  return fstatat(dirfd(directory.get()), ".git", &info, AT_SYMLINK_NOFOLLOW) == 0 ||
         (fstatat(dirfd(directory.get()), "HEAD", &info, AT_SYMLINK_NOFOLLOW) == 0 &&
          fstatat(dirfd(directory.get()), "objects", &info, AT_SYMLINK_NOFOLLOW) == 0);
}

// Returns the line for a repository, or "" for a name that a line can't hold. A name must not
// become another setting.
std::string line_for(const std::string& place) {
  std::string line = std::string(kDirectory) + "\"";
  for (const char c : place) {
    if (static_cast<unsigned char>(c) < ' ') return "";
    if (c == '"' || c == '\\') line += '\\';
    line += c;
  }
  return line + "\"\n";
}

class Finder {
 public:
  Finder(const Files& files, const std::vector<ListedEntry>& entries)
      : files_(files), entries_(entries) {}

  // Adds the repositories that the entry shows at `place`, or where `pattern` leads below it.
  void find(const ListedEntry& entry, const std::string& place, std::string_view pattern) {
    const std::string path = behind(entry, place);
    if (!shows(entry, place, path)) return;
    const Listing directory = open_public(path);
    if (!directory) return;
    if (pattern.empty()) {
      if (is_repository(directory)) add(line_for(place));
      return;
    }
    const std::size_t end = std::min(pattern.find('/'), pattern.size());
    const std::string name(pattern.substr(0, end));
    pattern.remove_prefix(std::min(end + 1, pattern.size()));
    if (name != "*") return find(entry, place + "/" + name, pattern);
    for (const std::string& each : names_in(directory, path))
      find(entry, place + "/" + each, pattern);
  }

  const std::string& text() const { return text_; }

 private:
  void add(const std::string& line) {
    if (text_.size() + line.size() <= kMostSettings) text_ += line;
  }

  bool shows(const ListedEntry& entry, const std::string& place, const std::string& path) const {
    return entry_over(entries_, place) == &entry &&
           std::none_of(files_.hide.begin(), files_.hide.end(), [&](const std::string& hidden) {
             return is_at_or_below(path, normal_path(hidden));
           });
  }

  static std::vector<std::string> names_in(const Listing& directory, const std::string& path) {
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* each = readdir(directory.get())) {
      if (each->d_name[0] != '.') names.emplace_back(each->d_name);
    }
    if (errno != 0) throw_sys("the cell's root: looking for repositories in '{}'", path);
    std::sort(names.begin(), names.end());
    return names;
  }

  const Files& files_;
  const std::vector<ListedEntry>& entries_;
  std::string text_ = std::string("[safe]\n") + kDirectory + "*\n";
};

}  // namespace

// A cell of root's runs as another user, for whom every readable file belongs to somebody else: git
// would refuse each repository. Git guards against a stranger's repository running something as
// this user; in a cell, the cell guards against that. libgit2 before 1.6 takes "*" for a name, and
// wants each repository's. What is writable shows the tool's own id.
std::string git_config(const Files& files, const std::vector<ListedEntry>& entries) {
  Finder finder(files, entries);
  for (const ListedEntry& entry : entries) {
    if (entry.writable) continue;
    finder.find(entry, entry.at, "");
    const std::string name = entry.at.substr(entry.at.rfind('/') + 1);
    for (std::string_view pattern : kOfCargo) {
      if (name == pattern.substr(0, pattern.find('/'))) pattern.remove_prefix(name.size() + 1);
      finder.find(entry, entry.at, pattern);
    }
  }
  return finder.text();
}

}  // namespace brig
