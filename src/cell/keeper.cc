// The keeper of one slot. It sits in the slot's cgroups and network namespace, so every cell it
// makes is born there. One cell at a time; it learns nothing from a cell but its exit.
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

#include "cell/helper.h"
#include "os/socket.h"
#include "os/sys.h"

namespace brig::helper {
namespace {

using wire::Stage;

uint64_t cell_flags(const Plan& plan) {
  if (plan.floor != Floor::jail) return SIGCHLD | CLONE_PIDFD;
  return SIGCHLD | CLONE_PIDFD | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC |
         (plan.network_namespace == 2 ? CLONE_NEWNET : 0);
}

// Makes one cell and hands it to the host. The init's pid, or -1 (told to the host).
pid_t make_cell(const Plan& plan, int slot_socket, unsigned slot, int* cell_end) {
  int pair[2], pidfd = -1;
  wire::Message message{};
  if (!packet_pair(pair)) die(slot_socket, Stage::sockets);
  const pid_t pid = sys::clone_process(cell_flags(plan), &pidfd);
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
  *cell_end = pair[1];
  if (!sent) {
    kill(pid, SIGKILL);
    _exit(0);
  }
  return pid;
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
  } else {
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    char number[24];
    if (!join(scratch, text(plan, plan.scratch_directory), decimal(number, slot)))
      die(slot_socket, Stage::scratch);
  }
  for (;;) {
    const Packet packet = recv_packet(slot_socket, &message, sizeof message, 0);
    if (packet.size <= 0) _exit(0);
    if (packet.size != sizeof message || message.tag != wire::Tag::make_cell) _exit(1);
    if (packet.fd_count && !enter_cgroup(packet.fds[0])) die(slot_socket, Stage::cgroup);
    if (*scratch) {
      // One that is there was left by a keeper of this slot that was killed.
      if (mkdir(scratch, 0700) != 0) {
        remove_tree(scratch);
        if (mkdir(scratch, 0700) != 0) die(slot_socket, Stage::scratch);
      }
    }
    int cell_end = -1;
    const pid_t pid = make_cell(plan, slot_socket, slot, &cell_end);
    if (plan.floor == Floor::jail) close(cell_end);
    int status = 0;
    rusage usage{};
    while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    if (*scratch) {
      end_descendants();
      // Only now, if the tool has killed its init: the host takes the end of file for the end of all.
      close(cell_end);
      // The directory above is the tool's user's too: it may have taken its own rights away.
      (void)!chmod(text(plan, plan.scratch_directory), 0700);
      remove_tree(scratch);
    }
    message = {};
    message.tag = wire::Tag::cell_gone;
    message.index = slot;
    message.status = status;
    message.cpu_micros =
        static_cast<uint64_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
        static_cast<uint64_t>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    message.max_rss_kib = static_cast<uint64_t>(usage.ru_maxrss);
    if (!send_packet(slot_socket, &message, sizeof message, nullptr, 0)) _exit(0);
  }
}

}  // namespace brig::helper
