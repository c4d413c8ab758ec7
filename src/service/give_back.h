// GiveBack: returns unused memory to the kernel. The values of a large request or result are many
// small pieces, which the C library keeps for the next one. Without this a server would stay as
// large as the largest request that it ever had.
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <fstream>

#include "http/loop.h"

namespace brig::serve {

// Use it on the loop's thread only.
class GiveBack {
 public:
  explicit GiveBack(Loop& loop) : timer_(loop.every(std::chrono::seconds(2), [this] { look(); })) {}

 private:
  // Less is not worth it: it is needed again soon, or could not be given back the last time.
  static constexpr std::size_t kWorthIt = std::size_t{32} << 20;

  void look() {
    if (resident() < least_ + kWorthIt) return;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    least_ = resident();
  }

  static std::size_t resident() {
    std::size_t all = 0, here = 0;
    std::ifstream("/proc/self/statm") >> all >> here;
    return here * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  }

  // After the last time.
  std::size_t least_ = 0;
  Loop::Timer timer_;
};

}  // namespace brig::serve
