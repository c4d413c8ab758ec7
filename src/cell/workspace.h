// Workspace: what a command has left in its cell's own directory, for the host to look at when all of the
// cell's processes are gone. All of it was made by the tool and may be made to harm: nothing here follows a link,
// leaves the directory or the file system, opens anything but a regular file or a directory, or takes what does
// not belong to the tool's user. Names, counts, depth and time are bounded.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"

namespace brig {

// Whether that is a directory, and, on floors with mounts, one of a tmpfs, as a cell's own is.
bool is_workspace(const UniqueFd& directory, bool on_tmpfs);

class Workspace {
 public:
  struct File {
    std::string path;  // relative; UTF-8 that may hold anything but NUL
    std::uint64_t size = 0;
  };
  static constexpr std::size_t kMostSeen =
      2000;                                   // names of any kind; what comes then is not listed
  static constexpr unsigned kMostDepth = 32;  // directories within one another

  // `directory` may be O_PATH. `done` is called when this goes, after the directory is closed.
  Workspace(UniqueFd directory, std::function<void()> done);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  struct Seen {
    bool all = true;          // or there were too many, or it took too long
    std::size_t unnamed = 0;  // regular files that are not listed, since their names are not UTF-8
  };
  // The regular files that the tool itself could read, by path; those that were found until then.
  std::vector<File> files(std::chrono::steady_clock::time_point until, Seen* seen = nullptr) const;
  // The first `most` bytes of one of them. Nothing if it is none, or can't be read.
  std::optional<std::string> read(const std::string& path, std::size_t most) const;
  // A guess, without looking at the names, of how many bytes a look at all of it has to do with.
  std::uint64_t weight() const;

 private:
  UniqueFd open_below(const std::string& path, int flags) const;

  UniqueFd directory_;
  std::function<void()> done_;
};

}  // namespace brig
