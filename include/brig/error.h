// What brig throws. Only construction and configuration throw; how a call ended is a Report.
#pragma once

#include <stdexcept>
#include <string>

namespace brig {

// What the reader of an error can do about it.
enum class ErrorKind {
  config,       // a policy or an argument is wrong: change it
  unsupported,  // this machine lacks a feature the policy needs: the message names it and the fix
  permission,   // the feature is there, this user may not use it
  resource,     // out of memory, processes, descriptors, disk
  internal,     // a defect of brig
};

const char* to_string(ErrorKind kind);

// what() reads "doing: call object: reason".
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace brig
