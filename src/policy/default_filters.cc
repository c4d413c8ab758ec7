#include "policy/seccomp.h"

namespace brig {
namespace {
#include "default_filters.inc"
}  // namespace

std::span<const std::uint64_t> default_filter() { return kFilter; }
std::span<const std::uint64_t> default_lock_filter(bool inet, bool counts_memory) {
  if (inet && counts_memory) return kLockFilterInetCounting;
  if (inet) return kLockFilterInet;
  if (counts_memory) return kLockFilterCounting;
  return kLockFilter;
}

}  // namespace brig
