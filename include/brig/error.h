// What brig throws. Only construction and configuration throw; how a call ended is a Report.
#pragma once

#include <stdexcept>
#include <string>

namespace brig {

// What the reader of an error can do about it.
enum class ErrorKind {
  // A policy or an argument is wrong. Change it.
  config,
  // This machine lacks a feature that the policy needs. The message names the feature and the fix.
  unsupported,
  // The machine has the feature, and this user may not use it.
  permission,
  // The machine is out of memory, processes, descriptors or disk space. The same may work later.
  resource,
  // A defect of brig.
  internal,
};

// "config", "unsupported", ...
[[nodiscard]] const char* to_string(ErrorKind kind);

// what() reads "doing: call object: reason".
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace brig
