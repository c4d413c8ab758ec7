// Commands: the tool's process runs a program.
#include <unistd.h>

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "helper/helper.h"
#include "helper/tool_request.h"
#include "os/sys.h"

namespace brig::helper {

bool make_stand_in(int*, Failure&) { return true; }
bool leave_program_file(int, Failure&) { return true; }

namespace {

// Follows execvp's rules with the cell's own PATH.
int exec_path(char** argv, char** envp) {
  const char* name = argv[0];
  if (!*name) return ENOENT;
  if (strchr(name, '/')) {
    execve(name, argv, envp);
    return errno;
  }
  const char* path = "/usr/local/bin:/usr/bin:/bin";
  for (char** variable = envp; *variable; ++variable)
    if (!strncmp(*variable, "PATH=", 5)) path = *variable + 5;
  bool denied = false;
  while (true) {
    const char* end = strchrnul(path, ':');
    char file[4096];
    const size_t size = static_cast<size_t>(end - path), length = strlen(name);
    // An empty entry would mean the working directory, which the model can write to, so it is
    // skipped.
    if (size && size + length + 2 <= sizeof file) {
      memcpy(file, path, size);
      file[size] = '/';
      memcpy(file + size + 1, name, length + 1);
      execve(file, argv, envp);
      if (errno == EACCES) denied = true;
      if (errno != ENOENT && errno != EACCES && errno != ENOTDIR && errno != ELOOP &&
          errno != ENAMETOOLONG)
        return errno;
    }
    if (!*end) return denied ? EACCES : ENOENT;
    path = end + 1;
  }
}

}  // namespace

void load_tools(const Plan&, int) {}

uint64_t inherited_memory(int, unsigned long) { return 0; }  // An exec leaves nothing of it.

int fork_tool() { return sys::clone_process(SIGCHLD, nullptr); }

void tool_main(const Plan& plan, int socket) {
  const CommandRequest request = await_command(plan, socket);
  tell_failure(socket, wire::Tag::exec_failed, exec_path(request.argv, request.envp));
}

}  // namespace brig::helper
