// RoomCheck: what a cell stands in, as far as a call could change it. A room is used for another cell
// only if the kernel itself shows that the last one left nothing in it: all is compared with what
// was there before the first tool, and nothing that a tool says is taken for an answer.
//
// What is compared: blocks and inodes of the scratch space; of each of its own directories, and of
// /dev/pts, all that statx tells and the names of the attributes; System V objects; sockets of the
// network namespace; limits, scheduling and pending signals of pid 1. decision 046 says why no more
// is needed: which other traces there are, and what keeps each of them out.
//
// Not a boundary by itself: the host keeps only rooms whose call had a clean end, no network, no
// writable path, and no way to hand a descriptor out.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include "os/sys.h"
#include "wire/plan.h"
#include "wire/wire.h"

namespace brig::helper {

class RoomCheck {
 public:
  // Looks at the room when it is locked and no tool was in it. `sockets` is a descriptor of
  // /proc/self/net/sockstat; this object does not own it. False if the room can't be compared: then
  // it must not be kept.
  bool begin(const Plan& plan, int sockets);
  // Looks again, when pid 1 is alone. Returns as_new, or the first difference.
  wire::RoomState compare() const;

 private:
  static constexpr unsigned kMaxPlaces = 40;
  struct Place {
    const char* path;  // In the plan, or in paths_.
    sys::Statx info;
    long attributes;  // The size of the list of their names.
  };
  struct Counts {
    uint64_t blocks, free_blocks, inodes, free_inodes;
    long shared_memory, semaphores, queues;
    char sockets[32];
  };
  struct Self {
    rlimit limits[RLIM_NLIMITS];
    cpu_set_t cpus;
    uint32_t scheduling[14];  // struct sched_attr
    long io_priority;
  };

  bool add(const char* path);
  bool add_parents(const Plan& plan, const char* path);
  static bool look(Place& place);
  bool count(Counts& counts, wire::RoomState& what) const;
  static bool look_at_self(Self& self);
  static wire::RoomState compare_self(const Self& before, const Self& now);

  const char* scratch_ = nullptr;
  int sockets_ = -1;
  unsigned place_count_ = 0;
  Place places_[kMaxPlaces];
  size_t paths_used_ = 0;
  char paths_[4096];
  Counts counts_;
  Self self_;
};

}  // namespace brig::helper
