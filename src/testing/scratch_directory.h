// For tests: a directory that goes with its test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace brig::serve {

class ScratchDirectory {
 public:
  ScratchDirectory() {
    char name[] = "/tmp/brig-serve-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace brig::serve
