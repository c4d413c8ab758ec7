// HostCopy: a copy of this process, made while that was safe. It forks a janitor whenever this
// process's functions need a zygote, long after the process itself has threads.
#pragma once

#include <functional>
#include <mutex>

#include "base/fd.h"
#include "os/child.h"

namespace brig {

class HostCopy {
 public:
  // Forks. `in_copy` runs in the copy at once. Throws Error(config) if the process has threads that
  // are not brig's.
  explicit HostCopy(const std::function<void()>& in_copy);
  // Ends the copy. The janitors that it has started live on.
  ~HostCopy();

  // Starts a janitor, as a child of this process, with these two descriptors. Throws Error.
  Child start(int socket, int host_pidfd);

 private:
  std::mutex mutex_;
  UniqueFd socket_;
  Child process_;
};

}  // namespace brig
