// A child that works in its parent's memory, on its parent's stack, while the parent waits for its end.
// Nothing is copied for it, which for a large parent is most of the price of a child.
//
// Everything else is the child's own as after fork: descriptors, directory, signal handlers, ids. What it
// leaves in memory is there for the parent, so it must not die halfway through a change. From it further
// processes may be forked: they get a copy, as ever.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <stdint.h>

namespace brig {

// Makes a child with these flags of clone (SIGCHLD is among them, CLONE_VM is added), which calls
// `child` and must end in there, and waits for it. The pid, now reaped, or -1 and errno.
// No handler for a signal may run in the caller meanwhile: it would use the child's stack. To have all signals
// blocked is enough; the child has them blocked too, then.
pid_t lend_memory(uint64_t flags, void (*child)(void*), void* argument, int* status, rusage* usage);

// Whether it is so here. Otherwise the child works in a copy.
bool lends_memory();

// In the child, first of all: what the C library and the kernel agree on for each thread.
void settle_in_lent_memory();

}  // namespace brig
