// The tool's process until it becomes the tool: it waits for the one request.
// Whatever is wrong ends the process: told to the host, unless that is gone.
#pragma once

#include <stddef.h>

#include "cell/plan.h"
#include "cell/wire.h"

namespace brig::helper {

struct CommandRequest {
  char** argv;
  char** envp;
};
// Returns with 0 to 2 in place and signals unblocked.
CommandRequest await_command(const Plan& plan, int socket);

struct Equipment {
  char** envp;
  int answer;  // the pipe for the answer, close-on-exec
};
// Likewise, as soon as the cell is made.
Equipment await_equipment(const Plan& plan, int socket);

struct FunctionRequest {
  const char* name;
  const char* arguments;  // what holds them stays mapped
  size_t arguments_size;
  int gaps;  // to read what belongs into the gaps of the arguments; or -1, if they have none
};
FunctionRequest await_function(int socket);

// Tells the host why there will be no tool, and ends the process. exec_failed: the program can't be
// run, which is the caller's doing. request_failed: it did not come to that.
[[noreturn]] void tell_failure(int socket, wire::Tag tag, int error);

}  // namespace brig::helper
