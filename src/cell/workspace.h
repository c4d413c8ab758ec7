// Workspace: what a command has left in its cell's own directory. The host looks at it when all of
// the cell's processes are gone. The tool made all of it, perhaps to do harm. So nothing here
// follows a link, leaves the directory or the file system, opens anything but a regular file or a
// directory, or accepts what does not belong to the tool's user. Names, counts, depth and time are
// bounded.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"

namespace brig {

// Whether that is a directory and, on floors with mounts, one on a tmpfs, as a cell's own is.
bool is_workspace(const UniqueFd& directory, bool on_tmpfs);

class Workspace {
 public:
  struct File {
    // Relative. UTF-8 that may hold anything but NUL.
    std::string path;
    std::uint64_t size = 0;
  };
  // Names of any kind. Further ones are not listed.
  static constexpr std::size_t kMostSeen = 2000;
  // Directories inside one another.
  static constexpr unsigned kMostDepth = 32;

  // `directory` may be O_PATH. The destructor calls `done` after the directory is closed.
  Workspace(UniqueFd directory, std::function<void()> done);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  struct Seen {
    // False: there were too many files, or it took too long.
    bool all = true;
    // How many regular files are not listed because their names are not UTF-8.
    std::size_t unnamed = 0;
  };
  // The regular files that the tool itself could read, sorted by path. At `until` it stops and
  // returns those found so far.
  std::vector<File> files(std::chrono::steady_clock::time_point until, Seen* seen = nullptr) const;
  // The first `most` bytes of such a file. Nothing if it is not one of them or can't be read.
  std::optional<std::string> read(const std::string& path, std::size_t most) const;
  // A guess, without looking at the names, of how many bytes there are to look at.
  std::uint64_t weight() const;

 private:
  UniqueFd open_below(const std::string& path, int flags) const;

  UniqueFd directory_;
  std::function<void()> done_;
};

}  // namespace brig
