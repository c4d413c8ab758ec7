// Guest: the code that function zygotes run for their tools. Set once in a process, before a janitor is
// started from it.
#pragma once

#include <stddef.h>

#include "wire/plan.h"

namespace brig {

struct Guest {
  // In the zygote: jailed, but before the last locks. Says on `catalog` what it has loaded. May be null.
  void (*load)(const Plan& plan, int catalog);
  // In the cell's init: fork(), by who has more to do for it than the C library. May be null.
  int (*fork)();
  // In the tool's process, before there is a request: whatever can be done ahead, such as touching the
  // memory that a call will need. May be null.
  void (*rehearse)();
  // In the tool's process, all locks on. The arguments are JSON text, or its outline and a descriptor to
  // read from what belongs into the gaps (see json_text.h), else -1. Writes frames to `answer` (see
  // answer.h). Does not return.
  void (*run)(const char* tool, const char* arguments, size_t size, int gaps, int answer);
};

extern Guest g_guest;  // NOLINT(bugprone-dynamic-static-initializers): constant in its source

}  // namespace brig
