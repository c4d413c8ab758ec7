// Strict comparison of JSON values, for tests and fuzzers.
#pragma once

#include <brig/json.h>

#include <algorithm>
#include <cmath>

namespace brig {

// Unlike ==, tells 1, 1u and 1.0 apart, and -0.0 from 0.0.
inline bool same(const Json& a, const Json& b) {
  if (a.type() != b.type() || a.size() != b.size()) return false;
  if (a.is_number_float())
    return std::signbit(a.get<double>()) == std::signbit(b.get<double>()) && a == b;
  if (!a.is_structured()) return a == b;
  if (a.is_object())
    for (const auto& [key, each] : a.items())
      if (!b.contains(key)) return false;
  return std::equal(a.begin(), a.end(), b.begin(), same);
}

}  // namespace brig
