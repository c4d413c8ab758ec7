// For tests of cgroups: small limits, and what is skipped where there are none.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "os/cgroup.h"

namespace brig {

inline bool exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

inline CgroupLimits some_limits() {
  CgroupLimits limits;
  limits.memory = 64 << 20;
  limits.processes = 10;
  limits.count_cpu = true;
  return limits;
}

// An ordinary user may have none here. CI's root must.
#define NEEDS_CGROUPS(layout)                                                     \
  if ((layout).version == 0) {                                                    \
    ASSERT_FALSE(geteuid() == 0 && getenv("BRIG_MUST_WORK")) << (layout).why_not; \
    GTEST_SKIP() << "this user may make no cgroup here";                          \
  }

}  // namespace brig
