#include "policy/seccomp.h"

namespace brig {
namespace {
#include "default_filters.inc"
}  // namespace

std::span<const std::uint64_t> default_filter() { return kFilter; }
std::span<const std::uint64_t> default_lock_filter(bool inet, bool counts_memory, bool keeps_room) {
  if (inet && counts_memory) return kLockFilterInetCounting;
  if (inet) return kLockFilterInet;
  if (keeps_room && counts_memory) return kLockFilterRoomCounting;
  if (keeps_room) return kLockFilterRoom;
  if (counts_memory) return kLockFilterCounting;
  return kLockFilter;
}

}  // namespace brig
