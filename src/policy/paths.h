// Paths of a policy, as text. Nothing here looks at the disk.
#pragma once

#include <string>
#include <string_view>

namespace brig {

// The path with single slashes and without one at its end, except "/". Does not resolve "." and
// "..": a validated policy has none.
inline std::string normal_path(std::string_view path) {
  std::string result;
  result.reserve(path.size());
  for (const char c : path) {
    if (c != '/' || result.empty() || result.back() != '/') result += c;
  }
  if (result.size() > 1 && result.back() == '/') result.pop_back();
  return result;
}

// Whether `path` is `directory` or lies below it. Both are normal and absolute.
inline bool is_at_or_below(std::string_view path, std::string_view directory) {
  if (directory == "/") return path.starts_with('/');
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

}  // namespace brig
