// ManifestWatch: notices when a manifest, or a file that its tools were loaded from, has changed.
// It does not matter how programs write it: in place, as compilers do, or as a new file in the old
// one's place, as editors, git and linkers do.
//
// An event from the kernel is only a hint: a file has changed if its device, inode, size or time
// has changed. Use it on the loop's thread only.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "http/loop.h"

namespace brig::serve {

class ManifestWatch {
 public:
  // Calls `job` with the path of a changed file, once all files have stayed unchanged for a moment.
  // So a series of changes counts as one, but it waits for the end of a series for at most 2 s.
  // Throws Error.
  ManifestWatch(Loop& loop, std::function<void(const std::string& path)> job);

  // Watches these paths from now on: files, and directories, where it watches the Python files and
  // libraries below. A file that was changed after `loaded` counts as changed now. Returns why a
  // path can't be watched, or "".
  std::string watch(const std::vector<std::string>& paths, const timespec& loaded);

  // The time for `loaded`: take it before anything is read.
  static timespec now();

 private:
  struct Identity {
    dev_t device = 0;
    // 0: it is not there.
    ino_t inode = 0;
    off_t size = 0;
    timespec modified{}, changed{};
    bool is_same(const Identity& other) const;
  };
  using Files = std::map<std::string, Identity>;

  void read();
  void check();
  void later();
  // The files as they are now; `directories` gets the directories to watch.
  Files look(std::set<std::string>* directories) const;
  std::string follow(const std::set<std::string>& directories);
  static std::string changed(const Files& before, const Files& after);

  Loop& loop_;
  std::function<void(const std::string&)> job_;
  UniqueFd fd_;
  std::shared_ptr<void> readable_;
  std::vector<std::string> paths_;
  Files loaded_, seen_;
  std::set<int> watched_;
  bool checking_ = false;
  // Of the first change that is not reported yet.
  std::chrono::steady_clock::time_point since_;
  Loop::Timer soon_;
};

}  // namespace brig::serve
