// What is told of calls, as JSON.
#pragma once

#include <brig/sandbox.h>

#include <chrono>
#include <string>
#include <vector>

namespace brig::serve {

double seconds_of(std::chrono::system_clock::time_point time);  // since 1970
double milliseconds_of(std::chrono::microseconds time);
// Of a tool's: what is not UTF-8 as "base64" in place of "text".
Json data_of(const Event& event);
Json data_of(const ToolResult& result);
Json data_of(const std::vector<Violation>& violations);

}  // namespace brig::serve
