// What one of several may have of a thing that all of them share.
#pragma once

#include <cstddef>

namespace brig {

// Whether someone who has `own` may have `more`, when all together have `used` (its own included) of `limit`. Nobody has more
// than three times what is then left: one alone can have three quarters, and N that take all they can have the same each, and
// leave a share of 1 in 3N+1. So somebody who has nothing always finds something, and nothing is set aside for those who do not
// come. Up to `least` one has it while there is any.
constexpr bool is_fair(std::size_t own, std::size_t more, std::size_t used, std::size_t limit,
                       std::size_t least = 1) {
  constexpr std::size_t kTimes = 3;
  if (more > limit || used > limit - more) return false;
  const std::size_t all = own + more, left = limit - used - more;
  return all <= least || (all + kTimes - 1) / kTimes <= left;
}

}  // namespace brig
