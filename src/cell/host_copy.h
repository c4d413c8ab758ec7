// HostCopy: a copy of this process, made while that was safe. Janitors are forked from it whenever a
// zygote of this process' functions is needed, long after the process itself has threads.
#pragma once

#include <functional>
#include <mutex>

#include "base/fd.h"
#include "os/child.h"

namespace brig {

class HostCopy {
 public:
  // Forks. `in_copy` runs in the copy at once. Throws Error(config) if the process has threads that are
  // not brig's.
  explicit HostCopy(const std::function<void()>& in_copy);
  // What it has started lives on.
  ~HostCopy();

  // A janitor, as a child of this process, with these two descriptors. Throws Error.
  Child start(int socket, int host_pidfd);

 private:
  std::mutex mutex_;
  UniqueFd socket_;
  Child process_;
};

}  // namespace brig
