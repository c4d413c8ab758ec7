// How a step of the set-up fails: {stage, errno, index}, sent to the host over a socket. There
// failure_text.cc puts it into words.
#pragma once

#include "wire/wire.h"

namespace brig::helper {

struct Failure {
  wire::Stage stage = wire::Stage::none;
  int error = 0;
  unsigned index = 0;
};
// Records a failure with the current errno. Always false, so that a step can end with `return
// fail(...)`.
bool fail(Failure& failure, wire::Stage stage, unsigned index = 0);

// Sends the failure over `socket` and ends the process.
[[noreturn]] void die(int socket, const Failure& failure);
[[noreturn]] void die(int socket, wire::Stage stage, unsigned index = 0);

}  // namespace brig::helper
