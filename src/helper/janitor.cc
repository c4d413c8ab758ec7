// The janitor: the only part of the helper that stays outside the jail, with the host's own rights.
// It starts the zygote, makes each slot's cgroups and opens them to its keeper, and leaves nothing
// behind: it outlives the host by just as long as that takes.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <errno.h>
#include <string.h>

#include "helper/helper.h"
#include "os/socket.h"
#include "os/sys.h"

namespace brig::helper {
namespace {

using wire::Stage;
using wire::Tag;

constexpr unsigned kMaxSlots = 65536;
int g_cell_socket = -1;

// Kills and reaps a child.
void end(int pidfd) {
  sys::pidfd_send_signal(pidfd, SIGKILL);
  siginfo_t info;
  while (waitid(static_cast<idtype_t>(3 /* P_PIDFD */), static_cast<id_t>(pidfd), &info,
                WEXITED | __WALL) < 0 &&
         errno == EINTR) {
  }
}

// Makes a user namespace that shows files of `map` as the tool's. The namespace lives on in the
// descriptor.
int make_id_map(const Plan& plan, const IdMap& map) {
  int pidfd = -1;
  const pid_t pid = sys::clone_process(CLONE_NEWUSER | CLONE_PIDFD | SIGCHLD, &pidfd);
  if (pid < 0) return -1;
  if (pid == 0) {
    pause();
    _exit(0);
  }
  char path[64] = "/proc/", line[80], number[24];
  strcat(path, decimal(number, static_cast<unsigned long>(pid)));
  const int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  int fd = -1;
  strcpy(line, decimal(number, map.uid));
  strcat(strcat(strcat(line, " "), decimal(number, plan.host_uid)), " 1");
  if (dir >= 0 && write_file(dir, "uid_map", line)) {
    strcpy(line, decimal(number, map.gid));
    strcat(strcat(strcat(line, " "), decimal(number, plan.host_gid)), " 1");
    if (write_file(dir, "gid_map", line)) fd = openat(dir, "ns/user", O_RDONLY | O_CLOEXEC);
  }
  const int error = errno;
  if (dir >= 0) close(dir);
  end(pidfd);
  close(pidfd);
  errno = error;
  return fd;
}

// "<slot>" or "<slot>.<generation>"
void slot_name(char* out, unsigned slot, unsigned generation) {
  char number[24];
  strcpy(out, decimal(number, slot));
  if (generation) strcat(strcat(out, "."), decimal(number, generation));
}

bool make_cgroup(const Plan& plan, const CgroupTree& tree, unsigned slot, unsigned generation) {
  char name[64], path[4096], file[4096];
  slot_name(name, slot, generation);
  if (!join(path, text(plan, tree.base), name)) return false;
  if (mkdir(path, 0755) != 0 && errno != EEXIST) return false;
  for (unsigned i = 0; i < tree.settings.count; ++i) {
    const CgroupSetting& setting = begin_of(plan, tree.settings)[i];
    if (!join(file, path, text(plan, setting.file))) return false;
    if (!write_file(AT_FDCWD, file, text(plan, setting.value)) && !setting.optional) return false;
  }
  return true;
}

// Any process that holds this descriptor may enter the cgroup with the janitor's rights.
int open_entrance(const Plan& plan, const CgroupTree& tree, unsigned slot, unsigned generation) {
  char name[64], path[4096], file[4096];
  slot_name(name, slot, generation);
  if (!join(path, text(plan, tree.base), name) || !join(file, path, text(plan, tree.entrance)))
    return -1;
  return openat(AT_FDCWD, file, O_WRONLY | O_CLOEXEC);
}

// Returns false if there is no zygote any more. That is not a failure of this slot: the host hears
// why the zygote ended.
bool grow(const Plan& plan, int zygote_socket, unsigned slot, int slot_socket) {
  wire::Message message{};
  message.tag = Tag::new_slot;
  message.index = slot;
  int fds[kMaxPacketFds] = {slot_socket}, count = 1;
  Stage failed = Stage::cgroup;
  errno = EINVAL;
  bool ok = slot < kMaxSlots && plan.cgroups.count < kMaxPacketFds;
  for (unsigned i = 0; ok && i < plan.cgroups.count; ++i) {
    const CgroupTree& tree = begin_of(plan, plan.cgroups)[i];
    ok = make_cgroup(plan, tree, slot, 0) && (fds[count] = open_entrance(plan, tree, slot, 0)) >= 0;
    if (ok) ++count;
  }
  bool ended = false;
  if (ok) {
    failed = Stage::sockets;
    ok = send_packet(zygote_socket, &message, sizeof message, fds, count);
    ended = !ok && (errno == EPIPE || errno == ECONNRESET);
  }
  if (!ok && !ended) {
    message.tag = Tag::failed;
    message.stage = failed;
    message.error = errno;
    send_packet(slot_socket, &message, sizeof message, nullptr, 0);
  }
  for (int i = 0; i < count; ++i) close(fds[i]);
  return !ended;
}

// Passes the zygote's message on to the host: the zygote is ready, or why it is not. Returns false
// if there is no message.
bool hand_on(int zygote_socket, int host_socket) {
  wire::Message message;
  const Packet packet = recv_packet(zygote_socket, &message, sizeof message, MSG_DONTWAIT);
  if (packet.size != sizeof message) return false;
  if (message.tag == Tag::zygote_ready || message.tag == Tag::failed)
    send_packet(host_socket, &message, sizeof message, nullptr, 0);
  return true;
}

// pids.peak can't be reset. So a slot that used more than one process moves into a new cgroup: its
// keeper enters it before it makes the next cell, and then the host removes the old one.
void refresh(const Plan& plan, int host_socket, unsigned slot, unsigned generation) {
  wire::Message message{};
  message.tag = Tag::failed;
  message.stage = Stage::cgroup;
  message.index = slot;
  message.status = static_cast<int>(generation);
  int entrance = -1;
  for (unsigned i = 0; i < plan.cgroups.count; ++i) {
    const CgroupTree& tree = begin_of(plan, plan.cgroups)[i];
    if (!tree.is_pids) continue;
    if (make_cgroup(plan, tree, slot, generation))
      entrance = open_entrance(plan, tree, slot, generation);
    message.error = errno;
  }
  if (entrance >= 0) message.tag = Tag::slot_refreshed;
  send_packet(host_socket, &message, sizeof message, &entrance, entrance >= 0);
  if (entrance >= 0) close(entrance);
}

[[noreturn]] void finish(const Plan& plan, int zygote_pidfd) {
  end(zygote_pidfd);
  bool clean = true;
  if (plan.floor != Floor::jail) {
    end_descendants();
    if (plan.scratch_directory) clean = remove_tree(text(plan, plan.scratch_directory));
  }
  for (unsigned i = 0; i < plan.cgroups.count; ++i)
    clean &= remove_cgroups(text(plan, begin_of(plan, plan.cgroups)[i].base));
  _exit(clean ? 0 : 1);  // the host tries again to remove what is left
}

uint64_t zygote_flags(const Plan& plan) {
  const uint64_t flags = SIGCHLD | CLONE_PIDFD;
  return plan.floor == Floor::jail
             ? flags | CLONE_NEWPID | CLONE_NEWNS | (plan.as_root ? 0 : CLONE_NEWUSER)
             : flags;
}

void start_zygote(const Plan& plan, int host_socket, int host_pidfd, const int* id_maps,
                  int catalog, int* pidfd, int* socket) {
  int pair[2];
  if (!packet_pair(pair)) die(host_socket, Stage::sockets);
  const pid_t zygote = sys::clone_process(zygote_flags(plan), pidfd);
  if (zygote < 0) die(host_socket, Stage::clone_zygote);
  if (zygote == 0) {
    close(pair[0]);
    close(host_socket);
    close(host_pidfd);
    zygote_main(plan, pair[1], id_maps, catalog);
  }
  close(pair[1]);
  *socket = pair[0];
}

// Starts a single cell. Returns its pidfd. Making namespaces takes long, so it can start before
// there is a plan, which then comes over the cell's socket; `plan` is set if it came first.
int start_single(const Plan* plan, const wire::Message& request, int cell_socket, int input,
                 int host_socket, int host_pidfd, const int* id_maps) {
  const SingleStart start{.namespaces = request.index,
                          .uid = geteuid(),
                          .gid = getegid(),
                          .user = request.user,
                          .input = input,
                          .terminal = (request.status & wire::kExtraTerminal) != 0};
  int pidfd = -1;
  // The network namespace takes longest, so a process of its own makes it.
  const pid_t pid = sys::clone_process(
      SIGCHLD | CLONE_PIDFD | (request.index & ~static_cast<unsigned>(CLONE_NEWNET)), &pidfd);
  if (pid < 0) die(host_socket, Stage::clone_zygote);
  if (pid == 0) {
    close(host_socket);
    close(host_pidfd);
    single_main(plan, cell_socket, id_maps, start);
  }
  wire::Message message{};
  message.tag = Tag::cell_made;
  if (!send_packet(host_socket, &message, sizeof message, &pidfd, 1)) {
    end(pidfd);
    _exit(1);
  }
  return pidfd;
}

void make_id_maps(const Plan& plan, int host_socket, int* id_maps) {
  for (unsigned i = 0; i < plan.id_maps.count && i < kMaxIdMaps; ++i) {
    id_maps[i] = make_id_map(plan, begin_of(plan, plan.id_maps)[i]);
    if (id_maps[i] < 0) die(host_socket, Stage::id_map_owner, i);
  }
}

// Drops what neither this process nor cells may inherit from the host.
void leave_the_hosts_ways() {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  // The host's ignored signals (Python ignores SIGPIPE) must not reach the tools.
  // By the system call: the library keeps a few of them to itself.
  const unsigned long default_action[4] = {};
  for (int number = 1; number <= 64; ++number)
    syscall(SYS_rt_sigaction, number, default_action, nullptr, 8);
  // A tool's core limit is 1 (see plan_builder.cc). Where the host's own is 0, only root can raise
  // it.
  const rlimit core{1, 1};
  setrlimit(RLIMIT_CORE, &core);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Terminal signals are for the host, so this process has a session of its own.
  setsid();
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // for floors without a pid namespace
}

// The descriptors of what a janitor watches: the host, and its own child, which is a zygote or a
// single cell.
struct Watched {
  int host_socket, host_pidfd;
  int zygote_pidfd = -1, zygote_socket = -1;
};

// Starts the child that the host's first message asks for. Returns the plan.
const Plan& start_child(Watched& watched) {
  const int host_socket = watched.host_socket, host_pidfd = watched.host_pidfd;
  wire::Message message;
  Packet packet = recv_packet(host_socket, &message, sizeof message, 0);
  if (packet.size == 0) _exit(1);  // the host gave up and cleans up itself
  if (packet.size != sizeof message || packet.fd_count < 1 || packet.fd_count > 2)
    die(host_socket, Stage::plan);
  int id_maps[kMaxIdMaps];
  if (message.tag == Tag::prepare) {
    g_cell_socket = packet.fds[0].release();
    watched.zygote_pidfd = start_single(nullptr, message, g_cell_socket, packet.fds[1].get(),
                                        host_socket, host_pidfd, id_maps);
    packet.fds[1].reset();
    return receive_plan(host_socket);  // if the janitor ends here, the cell ends with it
  }
  const Plan& plan = map_plan(host_socket, packet.fds[0].release());
  make_id_maps(plan, host_socket, id_maps);
  if (plan.single) {
    Packet start = recv_packet(host_socket, &message, sizeof message, 0);
    if (start.size != sizeof message || message.tag != Tag::prepare || start.fd_count < 1 ||
        start.fd_count > 2)
      _exit(1);
    g_cell_socket = start.fds[0].release();
    watched.zygote_pidfd = start_single(&plan, message, g_cell_socket, start.fds[1].get(),
                                        host_socket, host_pidfd, id_maps);
  } else {
    start_zygote(plan, host_socket, host_pidfd, id_maps, packet.fds[1].get(), &watched.zygote_pidfd,
                 &watched.zygote_socket);
  }
  for (unsigned i = 0; i < plan.id_maps.count; ++i) close(id_maps[i]);
  return plan;
}

// Does what the host asks for. Returns false if the zygote has ended.
bool obey(const Plan& plan, const Watched& watched) {
  wire::Message message;
  Packet asked = recv_packet(watched.host_socket, &message, sizeof message, MSG_DONTWAIT);
  if (asked.size <= 0 && !(asked.size < 0 && errno == EAGAIN)) finish(plan, watched.zygote_pidfd);
  if (asked.size != sizeof message) return true;
  if (message.tag == Tag::grow && asked.fd_count == 1)
    return grow(plan, watched.zygote_socket, message.index, asked.fds[0].release());
  if (message.tag == Tag::refresh_pids && message.index < kMaxSlots)
    refresh(plan, watched.host_socket, message.index, static_cast<unsigned>(message.status));
  return true;
}

[[noreturn]] void serve(const Plan& plan, const Watched& watched) {
  pollfd polls[] = {{watched.host_socket, POLLIN, 0},
                    {watched.host_pidfd, POLLIN, 0},
                    {watched.zygote_socket, POLLIN, 0},
                    {watched.zygote_pidfd, POLLIN, 0}};
  for (;;) {
    if (poll(polls, 4, -1) < 0 && errno != EINTR) finish(plan, watched.zygote_pidfd);
    // The zygote's socket closes before its process is gone, which takes long under load.
    bool zygote_ended = !plan.single && ((polls[2].revents & POLLHUP) || polls[3].revents);
    // Pass its last messages on before looking at its end.
    if ((polls[2].revents & POLLIN) && hand_on(watched.zygote_socket, watched.host_socket))
      continue;
    if ((polls[0].revents & POLLIN) && !obey(plan, watched)) zygote_ended = true;
    // A single cell ends with its call. The host still reads its cgroups, and then hangs up.
    if (polls[3].revents && plan.single) {
      polls[3].fd = -1;
      if (plan.floor != Floor::jail) {
        end_descendants();
        close(g_cell_socket);
      }
    }
    if (zygote_ended) {
      // A last message may have come after its socket was looked at.
      while (hand_on(watched.zygote_socket, watched.host_socket)) {
      }
      finish(plan, watched.zygote_pidfd);
    }
    if ((polls[0].revents & (POLLHUP | POLLERR)) || polls[1].revents)
      finish(plan, watched.zygote_pidfd);
  }
}

}  // namespace

void janitor_main(int host_socket, int host_pidfd) {
  set_name("brig-janitor");
  leave_the_hosts_ways();
  Watched watched{.host_socket = host_socket, .host_pidfd = host_pidfd};
  const Plan& plan = start_child(watched);
  // Without a pid namespace the tool could kill its init, so this end of the socket then stays open
  // until all processes are dead.
  if (plan.single && plan.floor == Floor::jail) close(g_cell_socket);
  serve(plan, watched);
}

}  // namespace brig::helper
