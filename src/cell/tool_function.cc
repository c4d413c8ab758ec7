// Functions: the tool's process calls one that it inherited from the zygote.
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "cell/guest.h"
#include "cell/helper.h"
#include "cell/tool_request.h"
#include "os/sys.h"

namespace brig {

Guest g_guest{};

namespace helper {
namespace {

// The pipe for the answer goes to the highest number that there may be: buffers of the host's files,
// flushed by an exit() in the tool, must not find it where a file of theirs was.
int move_to_top(int fd) {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
  const int top = static_cast<int>(limit.rlim_cur) - 1;
  return fd == top ? fd : dup3(fd, top, O_CLOEXEC);
}

}  // namespace

void load_tools(const Plan& plan, int catalog) {
  if (g_guest.load) g_guest.load(plan, catalog);
}

// The library's own fork: locks, thread ids and atfork handlers are set right for code that is not
// brig's.
int fork_tool() { return fork(); }

void tool_main(const Plan& plan, int socket) {
  const ToolRequest request = await_request(plan, socket, true);
  const int answer = move_to_top(request.answer);
  if (answer < 0) tell_failure(socket, wire::Tag::request_failed, errno);
  // The cell's socket goes with the rest: a tool must not be able to speak for its init.
  if (sys::close_range(3, static_cast<unsigned>(answer) - 1, 0) != 0)
    tell_failure(socket, wire::Tag::request_failed, errno);
  environ = request.envp;
  // Every cell is a copy of one zygote: without a seed of its own each would draw the same numbers.
  unsigned seed = 0;
  if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed) srandom(seed);
  set_name(request.argv[0]);
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // as after an exec
  g_guest.run(request.argv[0], request.arguments, request.arguments_size, answer);
}

}  // namespace helper
}  // namespace brig
