// ManifestWatch: notices that a file has changed, however editors write it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"
#include "serve/loop.h"

namespace brig::serve {

class ManifestWatch {
 public:
  // `job`: a moment after the last of a row of changes. Throws Error.
  ManifestWatch(Loop& loop, const std::string& path, std::function<void()> job);

 private:
  void read();

  Loop& loop_;
  const std::string name_;
  std::function<void()> job_;
  UniqueFd fd_;
  std::shared_ptr<void> readable_;
  Loop::Timer soon_;
};

}  // namespace brig::serve
