// The tool's process until it becomes the tool: it waits for the one request. Any failure is
// reported to the host, unless the host is gone, and ends the process.
#pragma once

#include <stddef.h>

#include "wire/plan.h"
#include "wire/wire.h"

namespace brig::helper {

struct CommandRequest {
  char** argv;
  char** envp;
};
// Returns with descriptors 0 to 2 in place, signals unblocked, the request's files in the working
// directory, and in the directory that the request names, if it names one.
CommandRequest await_command(const Plan& plan, int socket);

struct Equipment {
  char** envp;
  int answer;  // The pipe for the answer, close-on-exec.
};
// The same for a function, as soon as the cell is made.
Equipment await_equipment(const Plan& plan, int socket);

struct FunctionRequest {
  const char* name;
  const char* arguments;  // The memory that holds them stays mapped.
  size_t arguments_size;
  // A descriptor to read what belongs into the gaps of the arguments; -1 if they have none.
  int gaps;
};
FunctionRequest await_function(int socket);

// Makes the `count` files of `block` (see wire::FileHeader) below the working directory, with the
// tool's rights and at its expense: every lock is on. Never replaces a file that exists, and
// follows no link. False on failure; errno is set, and `index` says which file failed.
bool put_files(int block, unsigned count, unsigned* index);

// Reports to the host why there will be no tool, and ends the process. exec_failed: the program
// can't be run, which is the caller's mistake. request_failed, files_failed, directory_failed: the
// program was not tried.
[[noreturn]] void tell_failure(int socket, wire::Tag tag, int error, unsigned index = 0);

}  // namespace brig::helper
