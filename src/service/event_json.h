// What is told of calls, as JSON.
#pragma once

#include <brig/sandbox.h>

#include <chrono>
#include <string>
#include <vector>

namespace brig::serve {

double milliseconds_of(std::chrono::microseconds time);
// Of a tool's: what is not UTF-8 as "base64" in place of "text".
Json data_of(const Event& event);
Json data_of(const ToolResult& result);
Json data_of(const std::vector<Violation>& violations);

}  // namespace brig::serve
