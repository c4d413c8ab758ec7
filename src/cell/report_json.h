// Parts of a report as JSON values. They have the same members, and the same texts, as in
// to_json(report).
#pragma once

#include <brig/json.h>
#include <brig/report.h>

#include <chrono>
#include <string>
#include <vector>

namespace brig {

double milliseconds_of(std::chrono::microseconds time);
Json json_of(const Usage& usage);
Json json_of(const Steps& steps);
Json json_of(const std::vector<Violation>& violations);
// Adds bytes under `name` if they are UTF-8, otherwise as base64 under `name` + "_base64".
void add_bytes(Json& object, const std::string& name, const std::string& bytes);

}  // namespace brig
