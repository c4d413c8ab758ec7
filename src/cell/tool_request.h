// The tool's process until it becomes the tool: it waits for the one request.
#pragma once

#include <stddef.h>

#include "cell/plan.h"
#include "cell/wire.h"

namespace brig::helper {

struct ToolRequest {
  char** argv;
  char** envp;
  const char* arguments;  // of a function; what holds them stays mapped
  size_t arguments_size;
  int answer;  // of a function: the pipe for its answer, close-on-exec; else -1
};

// Returns when the request is there, with 0 to 2 in place and signals unblocked. Whatever is wrong ends
// the process: told to the host, unless that is gone.
ToolRequest await_request(const Plan& plan, int socket, bool is_function);

// Tells the host why there will be no tool, and ends the process. exec_failed: the program can't be
// run, which is the caller's doing. request_failed: it did not come to that.
[[noreturn]] void tell_failure(int socket, wire::Tag tag, int error);

}  // namespace brig::helper
