// GiveBack: gives memory that nothing uses any more back to the kernel. The values of a large request or result are small pieces,
// which the C library keeps for the next one: so a server stayed as large as the largest that it ever had.
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <fstream>

#include "http/loop.h"

namespace brig::serve {

// On the loop's thread.
class GiveBack {
 public:
  explicit GiveBack(Loop& loop) : timer_(loop.every(std::chrono::seconds(2), [this] { look(); })) {}

 private:
  // What is needed again soon is not worth it, nor is what was not given back the last time.
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

  std::size_t least_ = 0;  // after the last time
  Loop::Timer timer_;
};

}  // namespace brig::serve
