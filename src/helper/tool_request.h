// The tool's process until it becomes the tool: it waits for the one request.
// Whatever is wrong ends the process: told to the host, unless that is gone.
#pragma once

#include <stddef.h>

#include "wire/plan.h"
#include "wire/wire.h"

namespace brig::helper {

struct CommandRequest {
  char** argv;
  char** envp;
};
// Returns with 0 to 2 in place, signals unblocked, the files of the request in the working directory, and in the directory that the
// request names, if it does.
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

// Makes what is in `block` (see wire::FileHeader) below the working directory, `count` files, with the rights
// of the tool and at its expense: every lock is on. False: errno is set, and `index` says which file it was. One
// that is there already is never replaced, and no link is followed.
bool put_files(int block, unsigned count, unsigned* index);

// Tells the host why there will be no tool, and ends the process. exec_failed: the program can't be
// run, which is the caller's doing. request_failed, files_failed, directory_failed: it did not come to that.
[[noreturn]] void tell_failure(int socket, wire::Tag tag, int error, unsigned index = 0);

}  // namespace brig::helper
