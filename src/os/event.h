// An event that poll() can wait for: an eventfd.
#pragma once

#include <sys/eventfd.h>

#include "base/fd.h"

namespace brig {

// Empty if the process can have no more descriptors; errno says so.
inline UniqueFd make_event() { return UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }
// Makes the event readable until it is cleared.
inline void signal_event(const UniqueFd& event) { eventfd_write(event.get(), 1); }
inline void clear_event(const UniqueFd& event) {
  eventfd_t count;
  eventfd_read(event.get(), &count);
}

}  // namespace brig
