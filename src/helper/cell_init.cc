// A cell's init: pid 1 of the inner pid namespace. It mounts what is private to the cell, locks
// itself, and forks the tool, which inherits every lock and waits for the one request. It exists
// because pid 1 ignores default-action signals: a tool that ran as pid 1 would report wrong ones.
// When the tool ends, init kills and reaps what is left and reports. Then it exits; or, if the plan
// keeps rooms and the call left nothing in this one, it forks the tool of the next cell.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <errno.h>
#include <string.h>

#include "helper/cell_lock.h"
#include "helper/helper.h"
#include "helper/room_check.h"
#include "helper/tool_request.h"
#include "helper/way_out.h"
#include "os/socket.h"
#include "os/sys.h"

namespace brig::helper {
namespace {

using wire::Stage;

// These are set once, before the handler can run: the handler needs them and takes no argument.
volatile pid_t g_tool = 0, g_keeper = 0;
volatile bool g_killed = false;  // set when the keeper has died
bool g_jailed = false;
bool g_kill_all = false;  // kill(-1) reaches this cell's processes and no others
// In a room that is kept there is no tool between two calls, and nothing to kill. If the host's
// signal comes before the tool that it is for, that tool is killed when it is there.
volatile bool g_between = false, g_kill_next = false;
bool g_keeps_room = false;

void on_term(int) {
  const int error = errno;
  if (g_kill_all)
    kill(-1, SIGTERM);
  else if (g_tool > 0)
    kill(-g_tool, SIGTERM);
  errno = error;
}

// Runs when the host ends the call, or, on floors without a pid namespace, when the keeper has
// died.
void on_kill(int) {
  if (g_between) return;
  const int error = errno;
  // Set this only if the keeper is gone. Otherwise the signal came from the host, which knows, or
  // from the tool, whose end must not look like brig's doing. In a jail the death of the keeper
  // ends this process too.
  g_killed = !g_jailed && getppid() != g_keeper;
  if (g_kill_all) kill(-1, SIGKILL);
  if (g_tool > 0) {
    kill(-g_tool, SIGKILL);
    kill(g_tool, SIGKILL);
  } else if (g_kill_all && g_keeps_room) {
    g_kill_next = true;
  } else {
    _exit(1);
  }
  errno = error;
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(number, &action, nullptr);
}

// Opens both sides of a terminal of the cell's own.
bool make_terminal(int* sides) {
  int unlocked = 0;
  sides[0] = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (sides[0] < 0 || ioctl(sides[0], TIOCSPTLCK, &unlocked) != 0) return false;
  sides[1] = ioctl(sides[0], TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  return sides[1] >= 0;
}

uint64_t micros(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1000000 + static_cast<uint64_t>(time.tv_usec);
}

// Adds what a process used that is gone by now, and what those used that it waited for.
void add_usage(wire::Message& message, const rusage& usage) {
  message.cpu_micros += micros(usage.ru_utime) + micros(usage.ru_stime);
  if (static_cast<uint64_t>(usage.ru_maxrss) > message.max_rss_kib)
    message.max_rss_kib = static_cast<uint64_t>(usage.ru_maxrss);
}

// Waits for the tool's end, and kills and reaps what else there is.
void reap_all(pid_t tool, wire::Message& message) {
  rusage usage{};
  int status = 0;
  for (;;) {
    const pid_t pid = wait4(-1, &status, 0, &usage);
    if (pid > 0) add_usage(message, usage);
    if (pid == tool) break;
    if (pid < 0 && errno != EINTR) break;
  }
  message.tag = wire::Tag::tool_ended;
  message.status = status;
  message.killed = g_killed;
  // The tool is usually alone. To kill everybody, the kernel looks at every process of the machine.
  // (Forks can't race with that: a process with a pending SIGKILL can't fork.)
  pid_t pid = wait4(-1, nullptr, WNOHANG, &usage);
  if (pid > 0) add_usage(message, usage);
  if (!g_kill_all)
    end_descendants();
  else if (pid >= 0 || errno != ECHILD)
    kill(-1, SIGKILL);
  for (;;) {
    pid = wait4(-1, nullptr, 0, &usage);
    if (pid > 0) add_usage(message, usage);
    if (pid < 0 && errno != EINTR) break;
  }
  explicit_bzero(&usage, sizeof usage);
  explicit_bzero(&status, sizeof status);
}

[[noreturn]] void reap(const Plan& plan, int socket, pid_t tool) {
  wire::Message message{};
  reap_all(tool, message);
  send_packet(socket, &message, sizeof message, nullptr, 0);
  // The host looks at the workspace now, and hangs up when it is done. Without mounts the keeper
  // removes that directory when this process ends; with mounts, the last process pays for removing
  // the scratch space, and that must not be the host. The wait ends if the keeper has died or dies
  // meanwhile: the host may be waiting for its cells to go.
  if (plan.shows_workspace)
    g_tool = 0;  // then on_kill() ends this process; the number may be another's by now
  while (plan.shows_workspace && !g_killed &&
         recv_bytes(socket, &message.status, sizeof message.status, 0) > 0) {
  }
  // Leave nothing of this cell for the next one to find in memory that the keeper has lent.
  explicit_bzero(&message, sizeof message);
  _exit(0);
}

// Handlers of the zygote's program, as an interpreter has one for SIGINT. In an init they would run
// for a tool that signals pid 1, and change memory that later tools have copies of.
struct sigaction g_handlers[_NSIG];
bool g_had_handler[_NSIG];

// Leaves the init no handler but brig's own two. The kernel drops a signal from inside whose action
// is the default.
void put_handlers_aside() {
  for (int number = 1; number < _NSIG; ++number) {
    struct sigaction& old = g_handlers[number];
    g_had_handler[number] = number != SIGTERM && number != SIGUSR1 &&
                            sigaction(number, nullptr, &old) == 0 && old.sa_handler != SIG_DFL &&
                            old.sa_handler != SIG_IGN;
    if (g_had_handler[number]) handle(number, SIG_DFL);
  }
}

void put_handlers_back() {
  for (int number = 1; number < _NSIG; ++number)
    if (g_had_handler[number]) sigaction(number, &g_handlers[number], nullptr);
}

// A process may open its own score only while it is dumpable.
int open_oom_score(int proc) {
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  const int oom = openat(proc, "self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return oom;
}

// Descriptors that the host gets with the message that the cell is ready, or -1.
struct ForHost {
  int listener, workspace, input, terminal[2];
};

[[noreturn]] void become_tool(const Plan& plan, int socket, const ForHost& for_host) {
  Failure failure;
  signal(SIGTERM, SIG_DFL);
  signal(SIGUSR1, SIG_DFL);
  put_handlers_back();
  const int hosts[] = {for_host.listener, for_host.workspace, for_host.input, for_host.terminal[0],
                       for_host.terminal[1]};
  for (const int fd : hosts)
    if (fd >= 0) close(fd);
  if (!limit_files(plan, failure)) tell_failure(socket, wire::Tag::request_failed, failure.error);
  tool_main(plan, socket);
}

// Tells the host that the cell is ready, and closes the descriptors.
void tell_ready(int socket, const ForHost& for_host) {
  wire::Message message{};
  message.tag = wire::Tag::cell_ready;
  int fds[kMaxPacketFds], count = 0;
  if (for_host.workspace >= 0) fds[count++] = for_host.workspace;
  if (for_host.input >= 0) {
    message.status |= wire::kExtraInput;
    fds[count++] = for_host.input;
  }
  if (for_host.terminal[0] >= 0) {
    message.status |= wire::kExtraTerminal;
    for (const int side : for_host.terminal) fds[count++] = side;
  }
  if (for_host.listener >= 0) fds[count++] = for_host.listener;
  if (!send_packet(socket, &message, sizeof message, fds, count)) _exit(1);
  for (int i = 0; i < count; ++i) close(fds[i]);
}

// Forks the tool's process, which the out-of-memory killer must choose before this one and the
// keeper. `oom` is this process's own score, or -1.
pid_t fork_scored(int oom) {
  if (oom >= 0) (void)!pwrite(oom, "1000", 4, 0);
  const pid_t tool = fork_tool();
  if (tool != 0 && oom >= 0) (void)!pwrite(oom, "0", 1, 0);
  return tool;
}

// The life of a room that is kept: one tool after the other, until a call leaves something behind
// or the host hangs up. A tool has a socket of its own, which the host makes for it; it never has
// this process's.
[[noreturn]] void serve_room(const Plan& plan, int socket, int oom, int sockets,
                             const ForHost& for_host) {
  RoomCheck room;
  const bool keeps = room.begin(plan, sockets);
  g_between = true;
  g_settled = true;
  tell_ready(socket, for_host);
  for (;;) {
    wire::Message message{};
    Packet packet = recv_packet(socket, &message, sizeof message, 0);
    if (packet.size <= 0) _exit(0);  // The host wants no more cells of this room.
    if (packet.size != sizeof message || message.tag != wire::Tag::next || packet.fd_count != 1)
      _exit(1);
    const int tools = packet.fds[0].release();
    g_between = false;
    const pid_t tool = fork_scored(oom);
    if (tool < 0) die(socket, Stage::fork_tool);
    if (tool == 0) {
      close(socket);
      close(sockets);
      if (oom >= 0) close(oom);
      become_tool(plan, tools, {-1, -1, -1, {-1, -1}});
    }
    close(tools);
    g_tool = tool;
    if (g_kill_next) kill(-1, SIGKILL);
    message = {};
    reap_all(tool, message);
    g_tool = 0;
    g_between = true;
    g_kill_next = false;
    message.room = keeps ? room.compare() : wire::RoomState::not_kept;
    if (!send_packet(socket, &message, sizeof message, nullptr, 0)) _exit(0);
    // The next tool's memory is a copy of this one, and must hold nothing of this cell's.
    const bool over = message.room != wire::RoomState::as_new;
    explicit_bzero(&message, sizeof message);
    if (over) _exit(0);
  }
}

}  // namespace

volatile bool g_settled = false;

void run_cell(const Plan& plan, int socket, int proc, const char* scratch, int workspace,
              const Extras& extras) {
  Failure failure;
  // The tool's own id makes it before it is locked: the first of the cell's terminals is
  // /dev/pts/0.
  int terminal[2] = {-1, -1};
  if (extras.terminal && !make_terminal(terminal)) die(socket, Stage::terminals);
  // In lent memory these still have the values of the last cell's init.
  g_tool = 0;
  g_killed = false;
  g_kill_all = false;
  g_kill_next = false;
  g_between = false;
  g_keeps_room = plan.keeps_room;
  g_keeper = getppid();
  const int oom = proc >= 0 ? open_oom_score(proc) : -1;
  const int sockets =
      plan.keeps_room ? openat(proc, "self/net/sockstat", O_RDONLY | O_CLOEXEC) : -1;
  const char* directory = plan.working_directory ? text(plan, plan.working_directory) : scratch;
  if (chdir(directory) != 0) die(socket, Stage::working_directory);
  setsid();  // fails if the process already leads a session
  int listener = -1;
  if (!lock_cell(plan, proc, scratch, extras.input, &listener, failure)) die(socket, failure);
  if (proc >= 0) close(proc);
  // kill(-1) may be used where it can't leave the cell: in a pid namespace, or, from this moment on
  // and not before, in a Landlock domain that scopes signals.
  g_jailed = plan.floor == Floor::jail;
  g_kill_all = g_jailed || (plan.landlock_scoped & sys::kScopeSignal);

  put_handlers_aside();
  handle(SIGTERM, on_term);
  handle(SIGUSR1, on_kill);
  const ForHost for_host{listener, workspace, extras.input, {terminal[0], terminal[1]}};
  if (plan.keeps_room) serve_room(plan, socket, oom, sockets, for_host);
  const pid_t tool = fork_scored(oom);
  if (tool < 0) die(socket, Stage::fork_tool);
  if (tool == 0) become_tool(plan, socket, for_host);
  g_tool = tool;
  if (oom >= 0) close(oom);
  g_settled = true;
  tell_ready(socket, for_host);
  reap(plan, socket, tool);
}

void watch_over_tree() {
  handle(SIGUSR1, on_kill);
  prctl(PR_SET_PDEATHSIG, SIGUSR1, 0, 0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void cell_init(const Plan& plan, int socket, unsigned slot) {
  set_name("brig-init");
  Failure failure;
  char scratch[4096] = "", number[24];
  int proc = -1, workspace = -1;
  if (plan.floor == Floor::jail) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);  // the zygote's
    const unsigned id = kCellId + slot_id(plan, slot);
    if (!map_ids(proc, plan.user, id, id, failure) || !mount_private(plan, &workspace, failure) ||
        !open_way_out(plan, socket, failure))
      die(socket, failure);
  } else {
    watch_over_tree();
    if (!join(scratch, text(plan, plan.scratch_directory), decimal(number, slot)))
      die(socket, Stage::scratch);
    if (plan.shows_workspace &&
        (workspace = open(scratch, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
      die(socket, Stage::scratch);
  }
  run_cell(plan, socket, proc, scratch, workspace);
}

}  // namespace brig::helper
