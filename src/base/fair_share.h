// How much one of several users of a shared resource may take.
#pragma once

#include <cstddef>

namespace brig {

// Whether a user that has `own` may take `more`, when all users together have `used` (`own`
// included) of `limit`. No user may have more than three times what is left after that. One user
// alone can have three quarters; N users that take all they can have equal shares and leave 1 in
// 3N+1. So a newcomer always finds something, and nothing is reserved for users that never come. Up
// to `least`, a user may take whatever is left.
constexpr bool is_fair(std::size_t own, std::size_t more, std::size_t used, std::size_t limit,
                       std::size_t least = 1) {
  constexpr std::size_t kTimes = 3;
  if (more > limit || used > limit - more) return false;
  const std::size_t all = own + more, left = limit - used - more;
  return all <= least || (all + kTimes - 1) / kTimes <= left;
}

}  // namespace brig
