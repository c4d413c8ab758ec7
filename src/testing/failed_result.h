// For tests: a result with something in all its members.
#pragma once

#include <brig/sandbox.h>

namespace brig {

inline ToolResult failed() {
  using namespace std::chrono_literals;
  ToolResult result;
  result.error = "it failed";
  result.duration = 2500us;
  result.report.outcome = Outcome::memory_limit;
  result.report.message = "other";
  result.report.steps.queue = 1000us;
  result.report.steps.run = 1500us;
  result.report.usage.cpu = 500us;
  result.report.usage.memory_peak = 4096;
  result.report.out.total = 10;
  result.report.err.total = 20;
  result.report.violations = {{.code = "syscall.refused", .what = "mount", .count = 3}};
  return result;
}

}  // namespace brig
