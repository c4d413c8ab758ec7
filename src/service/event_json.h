// Events and results of calls as JSON.
#pragma once

#include <brig/sandbox.h>

#include <chrono>
#include <string>
#include <vector>

namespace brig::serve {

double milliseconds_of(std::chrono::microseconds time);
// The data of a tool's event. Text that is not UTF-8 is "base64" in place of "text".
Json data_of(const Event& event);
Json data_of(const ToolResult& result);
Json data_of(const std::vector<Violation>& violations);
// Adds the first connections of a call, and how many there were. Nothing if there were none.
void add_connections(Json& data, const Report& report);

}  // namespace brig::serve
