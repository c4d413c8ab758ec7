// The keeper of one slot. It sits in the slot's cgroups and network namespace, so every cell that
// it makes is born there. It makes one cell at a time, and learns nothing from a cell except its
// exit.
#include <fcntl.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <errno.h>
#include <string.h>

#include "helper/helper.h"
#include "os/lend_memory.h"
#include "os/socket.h"
#include "os/sys.h"

namespace brig::helper {
namespace {

using wire::Stage;

constexpr uint64_t kNamespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC;

struct Birth {
  const Plan& plan;
  int slot_socket;
  unsigned slot;
  sigset_t signals;
};

// Takes an id of the slot's own. The kernel counts some things per user, such as descriptors in
// flight and pages of pipes; so no cell of another slot can use up this one's.
void take_slot_id(const Plan& plan, int slot_socket, unsigned slot) {
  if (!plan.slot_ids) return;
  const unsigned id = kCellId + slot_id(plan, slot);
  if (syscall(SYS_setresgid, id, id, id) != 0) die(slot_socket, Stage::become_user, 1);
  if (syscall(SYS_setresuid, id, id, id) != 0) die(slot_socket, Stage::become_user, 2);
  // Changing ids has cleared both.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

// Runs in the cell's init, which sends itself to the host. The keeper can't do that, because it
// waits; and if the keeper held an end of that socket, nobody would see its end of file.
void be_born(void* argument) {
  const Birth& birth = *static_cast<const Birth*>(argument);
  settle_in_lent_memory();
  int pair[2];
  if (!packet_pair(pair)) die(birth.slot_socket, Stage::sockets);
  const int pidfd = sys::pidfd_open(getpid());
  if (pidfd < 0) die(birth.slot_socket, Stage::clone_cell);
  wire::Message message{};
  message.tag = wire::Tag::cell_made;
  message.index = birth.slot;
  const int fds[] = {pidfd, pair[0]};
  if (!send_packet(birth.slot_socket, &message, sizeof message, fds, 2)) _exit(1);
  close(pidfd);
  close(pair[0]);
  close(birth.slot_socket);
  if (sigprocmask(SIG_SETMASK, &birth.signals, nullptr) != 0) die(pair[1], Stage::clone_cell);
  cell_init(birth.plan, pair[1], birth.slot);
}

// One cell of a jail, from birth to end. It works in the keeper's memory until it is gone.
void lead_cell(const Birth& birth, int* status, rusage* usage) {
  const uint64_t network = birth.plan.network_namespace == 2 ? CLONE_NEWNET : 0;
  g_settled = false;
  if (lend_memory(SIGCHLD | kNamespaces | network, be_born, const_cast<Birth*>(&birth), status,
                  usage) < 0)
    die(birth.slot_socket, Stage::clone_cell);
  // Killed halfway, it may have left anything in this memory: a held lock, or a list that is half
  // linked.
  if (lends_memory() && WIFSIGNALED(*status) && !g_settled) _exit(1);
}

// The same on floors without a pid namespace, where a tool can kill its init at any time. There the
// init has memory of its own, and the keeper keeps an end of its socket.
void lead_process(const Plan& plan, int slot_socket, unsigned slot, const char* scratch,
                  int* status, rusage* usage) {
  int pair[2], pidfd = -1;
  // If it exists, a killed keeper of this slot has left it.
  if (mkdir(scratch, 0700) != 0) {
    remove_tree(scratch);
    if (mkdir(scratch, 0700) != 0) die(slot_socket, Stage::scratch);
  }
  wire::Message message{};
  if (!packet_pair(pair)) die(slot_socket, Stage::sockets);
  const pid_t pid = sys::clone_process(SIGCHLD | CLONE_PIDFD, &pidfd);
  if (pid == 0) {
    close(pair[0]);
    close(slot_socket);
    cell_init(plan, pair[1], slot);
  }
  if (pid < 0) die(slot_socket, Stage::clone_cell);
  message.tag = wire::Tag::cell_made;
  message.index = slot;
  const int fds[] = {pidfd, pair[0]};
  const bool sent = send_packet(slot_socket, &message, sizeof message, fds, 2);
  close(pidfd);
  close(pair[0]);
  if (!sent) {
    kill(pid, SIGKILL);
    _exit(0);
  }
  while (wait4(pid, status, 0, usage) < 0 && errno == EINTR) {
  }
  end_descendants();
  // Only now, even if the tool has killed its init: the host takes the end of file for the end of
  // the whole cell.
  close(pair[1]);
  // The directory above belongs to the tool's user too, so the tool may have taken its permissions
  // away.
  (void)!chmod(text(plan, plan.scratch_directory), 0700);
  remove_tree(scratch);
}

}  // namespace

void keeper_main(const Plan& plan, int slot_socket, const int* entrances, int entrance_count,
                 unsigned slot) {
  set_name("brig-keeper");
  signal(SIGCHLD, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  wire::Message message{};
  for (int i = 0; i < entrance_count; ++i)
    if (!enter_cgroup(entrances[i])) die(slot_socket, Stage::cgroup);
  char scratch[4096] = "";
  if (plan.floor == Floor::jail) {
    if (unshare(CLONE_NEWCGROUP) != 0) die(slot_socket, Stage::namespaces);
    if (plan.network_namespace == 1 && unshare(CLONE_NEWNET) != 0)
      die(slot_socket, Stage::network_namespace);
    take_slot_id(plan, slot_socket, slot);
  } else {
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    char number[24];
    if (!join(scratch, text(plan, plan.scratch_directory), decimal(number, slot)))
      die(slot_socket, Stage::scratch);
  }
  Birth birth{plan, slot_socket, slot, {}};
  if (plan.floor == Floor::jail) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &birth.signals);  // See lend_memory.
  }
  for (;;) {
    Packet packet = recv_packet(slot_socket, &message, sizeof message, 0);
    if (packet.size <= 0) _exit(0);
    if (packet.size != sizeof message || message.tag != wire::Tag::make_cell) _exit(1);
    if (packet.fd_count && !enter_cgroup(packet.fds[0].release())) die(slot_socket, Stage::cgroup);
    int status = 0;
    rusage usage{};
    if (plan.floor == Floor::jail)
      lead_cell(birth, &status, &usage);
    else
      lead_process(plan, slot_socket, slot, scratch, &status, &usage);
    message = {};
    message.tag = wire::Tag::cell_gone;
    message.index = slot;
    message.status = status;
    message.cpu_micros =
        static_cast<uint64_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
        static_cast<uint64_t>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    message.max_rss_kib = static_cast<uint64_t>(usage.ru_maxrss);
    if (!send_packet(slot_socket, &message, sizeof message, nullptr, 0)) _exit(0);
    // The next cell's memory is a copy of this one and must hold nothing of the last cell's.
    explicit_bzero(&message, sizeof message);
    explicit_bzero(&usage, sizeof usage);
    explicit_bzero(&status, sizeof status);
  }
}

}  // namespace brig::helper
