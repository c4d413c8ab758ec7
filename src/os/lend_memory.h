// A child that works in its parent's memory, on its parent's stack, while the parent waits for its
// end. Nothing is copied for it; for a large parent, copying is most of the price of a child.
//
// Everything else is the child's own, as after fork: descriptors, directory, signal handlers, ids.
// What it leaves in memory stays there for the parent, so it must not die halfway through a change.
// Processes that it forks get a copy, as usual.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <stdint.h>

namespace brig {

// Makes a child with these flags of clone (SIGCHLD is one of them; this adds CLONE_VM), which calls
// `child` and must end in there, and waits for it. Returns the pid of the reaped child, or -1 with
// errno set. No signal handler may run in the caller meanwhile: it would use the child's stack. It
// is enough to block all signals; then they are blocked in the child too.
pid_t lend_memory(uint64_t flags, void (*child)(void*), void* argument, int* status, rusage* usage);

// Whether that works here. Otherwise the child works in a copy of the memory.
bool lends_memory();

// The child calls this first: it restores what the C library and the kernel agree on for each
// thread.
void settle_in_lent_memory();

}  // namespace brig
