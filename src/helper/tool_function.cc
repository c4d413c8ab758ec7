// Functions: the tool's process calls a function that it inherited from the zygote.
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>

#include "helper/guest.h"
#include "helper/helper.h"
#include "helper/tool_request.h"
#include "os/sys.h"

namespace brig {

constinit Guest g_guest{};

namespace helper {
namespace {

// Moves the cell's socket to 3, behind descriptors 0 to 2, and the pipe for the answer to the
// highest possible number. An exit() in the tool flushes buffers of the host's files; they must not
// find the pipe at the number of such a file.
bool arrange(int& socket, int& answer) {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  const int top = static_cast<int>(limit.rlim_cur) - 1;
  if (answer != top && dup3(answer, top, O_CLOEXEC) < 0) return false;
  answer = top;
  if (socket != 3 && dup3(socket, 3, O_CLOEXEC) < 0) return false;
  socket = 3;
  return sys::close_range(4, static_cast<unsigned>(top) - 1, 0) == 0;
}

// Fields of /proc/self/statm. The value is in bytes; 0 if it can't be read.
enum Statm { kSize = 0, kData = 5 };
uint64_t own_memory(int proc, Statm which) {
  const int file = proc < 0 ? open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
                            : openat(proc, "self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[256]{};
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return 0;
  char* at = text;
  uint64_t pages = 0;
  for (int i = 0; i <= which; ++i) pages = strtoull(at, &at, 10);
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

rlim_t g_data_limit;  // The host's own limit.

// The zygote runs code that is not brig's, such as a library's constructors and timers, so its
// memory needs a bound too. A zygote that hits the bound fails and is replaced.
void bound_growth(const Plan& plan) {
  rlimit limit;
  if (getrlimit(RLIMIT_DATA, &limit) != 0) _exit(1);
  g_data_limit = limit.rlim_cur;
  const uint64_t now = own_memory(-1, kData);
  // The host's own limit is lower.
  if (limit.rlim_cur <= now || limit.rlim_cur - now <= plan.memory) return;
  limit.rlim_cur = now + plan.memory;
  if (setrlimit(RLIMIT_DATA, &limit) != 0) _exit(1);
}

// The zygote's tools have limits of their own.
bool unbound_growth() {
  rlimit limit;
  if (getrlimit(RLIMIT_DATA, &limit) != 0) return false;
  // Their limit may be this very one, and lower.
  limit.rlim_cur = g_data_limit < limit.rlim_max ? g_data_limit : limit.rlim_max;
  return setrlimit(RLIMIT_DATA, &limit) == 0;
}

}  // namespace

// Without this, a copy of a large host would have used up its limit before its first line. Memory
// that can't be read is not granted.
uint64_t inherited_memory(int proc, unsigned long resource) {
  if (resource == RLIMIT_AS) return own_memory(proc, kSize);
  return resource == RLIMIT_DATA ? own_memory(proc, kData) : 0;
}

void load_tools(const Plan& plan, int catalog) {
  bound_growth(plan);
  if (!g_guest.load) return;
  g_guest.load(plan, catalog);
#if defined(__GLIBC__)
  // Frees what loading needed. Otherwise every cell would get a copy of those pages.
  malloc_trim(0);
#endif
}

// The library's own fork sets locks, thread ids and atfork handlers right for code that is not
// brig's.
int fork_tool() { return g_guest.fork ? g_guest.fork() : fork(); }

void tool_main(const Plan& plan, int socket) {
  Equipment equipment = await_equipment(plan, socket);
  if (!arrange(socket, equipment.answer) || !unbound_growth())
    tell_failure(socket, wire::Tag::request_failed, errno);
  environ = equipment.envp;
  // Every cell is a copy of one zygote. Without a seed of its own each would draw the same numbers.
  unsigned seed = 0;
  if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed) srandom(seed);
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // As after an exec.
  if (g_guest.rehearse) g_guest.rehearse();
  const FunctionRequest request = await_function(socket);
  unsigned guard = 0;
  if (!guards_hold(plan, &guard)) tell_failure(socket, wire::Tag::request_failed, errno, guard);
  close(socket);  // A tool must not be able to speak for its init.
  set_name(request.name);
  g_guest.run(request.name, request.arguments, request.arguments_size, request.gaps,
              equipment.answer);
  _exit(1);
}

}  // namespace helper
}  // namespace brig
