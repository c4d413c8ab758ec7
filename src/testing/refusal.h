// For tests: what a refusal says.
#pragma once

#include <brig/error.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace brig {

// The text of the Error(config) that `action` throws; "" if it throws none.
inline std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace brig
