// How a step of the set-up fails: {stage, errno, index}, told to the host on a socket. failure_text.cc words it there.
#pragma once

#include "wire/wire.h"

namespace brig::helper {

struct Failure {
  wire::Stage stage = wire::Stage::none;
  int error = 0;
  unsigned index = 0;
};
// Captures errno. Always false, so that a step can end with `return fail(...)`.
bool fail(Failure& failure, wire::Stage stage, unsigned index = 0);

// Tells the failure on `socket` and ends the process.
[[noreturn]] void die(int socket, const Failure& failure);
[[noreturn]] void die(int socket, wire::Stage stage, unsigned index = 0);

}  // namespace brig::helper
