// ManifestWatch: notices that a manifest, or a file that its tools were loaded from, has changed, however programs
// write it: in place, as compilers do, or as a new file in the old one's place, as editors, git and linkers do.
//
// The kernel's word that something happened in a directory is only a hint: what a file is (device, inode, size,
// time) tells whether it has changed. Only on the loop's thread.
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
  // `job`: some of the files have changed, this one among them, and then all stayed as they are for a moment. A row
  // of changes is one, but it waits for the end of it no longer than 2 s. Throws Error.
  ManifestWatch(Loop& loop, std::function<void(const std::string& path)> job);

  // From now on these: files, and directories, of which the Python files and libraries in them are meant. One that
  // was changed after `loaded` counts as changed now. Returns why some can't be watched, or "".
  std::string watch(const std::vector<std::string>& paths, const timespec& loaded);

  // For `loaded`: before anything is read.
  static timespec now();

 private:
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;  // 0: it is not there
    off_t size = 0;
    timespec modified{}, changed{};
    bool is_same(const Identity& other) const;
  };
  using Files = std::map<std::string, Identity>;

  void read();
  void check();
  void later();
  // As they are now; `directories` gets where to look for changes.
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
  std::chrono::steady_clock::time_point since_;  // of the first change that is not told yet
  Loop::Timer soon_;
};

}  // namespace brig::serve
