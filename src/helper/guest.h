// Guest: the code that function zygotes run for their tools. It is set once in a process, before a
// janitor starts from it.
#pragma once

#include <stddef.h>

#include "wire/plan.h"

namespace brig {

struct Guest {
  // Runs in the zygote, jailed, but before the last locks. Writes to `catalog` what it has loaded.
  // May be null.
  void (*load)(const Plan& plan, int catalog);
  // Runs in the cell's init: fork(), for runtimes that do more for it than the C library. May be
  // null.
  int (*fork)();
  // Runs in the tool's process before there is a request: does ahead what it can, such as touching
  // the memory that a call needs. May be null.
  void (*rehearse)();
  // Runs in the tool's process, with all locks on. The arguments are JSON text; or their outline,
  // with `gaps` as the descriptor to read what belongs into the gaps (see json_text.h). Without
  // gaps, `gaps` is -1. Writes frames to `answer` (see answer.h). Does not return.
  void (*run)(const char* tool, const char* arguments, size_t size, int gaps, int answer);
};

extern Guest g_guest;  // NOLINT(bugprone-dynamic-static-initializers): constant in its source

}  // namespace brig
