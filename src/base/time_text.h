// A point in time as text: RFC 3339, in UTC, with milliseconds. brig writes every time in this
// form.
#pragma once

#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>

namespace brig {

// "2026-11-18T09:26:53.589Z"
inline std::string time_text(std::chrono::system_clock::time_point time) {
  using std::chrono::milliseconds;
  const auto since = std::chrono::floor<milliseconds>(time.time_since_epoch());
  const auto whole = std::chrono::floor<std::chrono::seconds>(since);
  const std::time_t seconds = static_cast<std::time_t>(whole.count());
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[80];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>((since - whole).count()));
  return text;
}

}  // namespace brig
