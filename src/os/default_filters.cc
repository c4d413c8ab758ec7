#include "os/seccomp.h"

namespace brig {
namespace {
#include "default_filters.inc"
}  // namespace

std::span<const std::uint64_t> default_filter() { return kFilter; }
std::span<const std::uint64_t> default_lock_filter(bool inet) {
  return inet ? std::span<const std::uint64_t>(kLockFilterInet)
              : std::span<const std::uint64_t>(kLockFilter);
}

}  // namespace brig
