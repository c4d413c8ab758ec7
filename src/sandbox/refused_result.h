// The result of a call that was refused before there was one.
#pragma once

#include <brig/sandbox.h>

#include <string>
#include <utility>

namespace brig {

inline ToolResult refused_result(Outcome outcome, std::string message) {
  ToolResult result;
  result.started_at = std::chrono::system_clock::now();
  result.report.outcome = outcome;
  result.report.message = message;
  result.error = std::move(message);
  return result;
}

}  // namespace brig
