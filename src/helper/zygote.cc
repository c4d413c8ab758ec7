// The zygote: pid 1 of the outer pid namespace. It builds the root, gives up its rights, loads the
// syscall filter once for all cells, and then forks a keeper for each slot.
#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
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

// A map of many ids must be written from above, by a process with root's rights. The zygote gives
// those up before it makes the namespace, so that the namespace does not belong to root. A child
// keeps the rights for this one step.
struct Mapper {
  pid_t pid = -1;
  int go = -1;
};

bool start_mapper(const Plan& plan, int proc, Mapper& mapper, Failure& failure) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(failure, Stage::id_map, 3);
  mapper.pid = sys::clone_process(SIGCHLD, nullptr);
  if (mapper.pid == 0) {
    char byte;
    close(ends[1]);
    Failure why;
    if (read(ends[0], &byte, 1) != 1) _exit(ECANCELED);
    if (!map_id_range(proc, "1", kCellId, plan.host_uid, plan.host_gid, 1 + plan.slot_ids, why))
      _exit(why.error);
    _exit(0);
  }
  close(ends[0]);
  mapper.go = ends[1];
  return mapper.pid > 0 || fail(failure, Stage::id_map, 3);
}

bool await_mapper(const Mapper& mapper, Failure& failure) {
  int status = 0;
  const bool told = write(mapper.go, "", 1) == 1;
  close(mapper.go);
  while (waitpid(mapper.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (told && status == 0) return true;
  errno = WIFEXITED(status) && status != 0 ? WEXITSTATUS(status) : ECANCELED;
  return fail(failure, Stage::id_map, 3);
}

bool enter_jail(const Plan& plan, const int* id_map_fds, Failure& failure) {
  int stand_in = -1;
  // Rootless: the user namespace comes first, and gives the right to mount. As root: the zygote
  // builds the root file system with the host's rights and then gives them up for good. The
  // namespaces that cells are made from belong to the user namespace of an unprivileged id, as in
  // the rootless case.
  int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (!plan.as_root && !map_ids(proc, kCellId, plan.host_uid, plan.host_gid, failure)) return false;
  RootStage stage;
  if (!stage_root(stage, failure, text(plan, plan.root_size)) ||
      !build_root(plan, stage, id_map_fds, failure))
    return false;
  // The program of a runtime lies on a read-only mount.
  if (!plan.runtime.count && !make_stand_in(&stand_in, failure)) return false;
  if (plan.as_root) {
    close(proc);
    proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);  // Of this pid namespace.
    Mapper mapper;
    if (plan.slot_ids && !start_mapper(plan, proc, mapper, failure)) return false;
    if (!become_user(plan, failure)) return false;
    if (unshare(CLONE_NEWUSER) != 0) return fail(failure, Stage::user_namespace);
    if (plan.slot_ids ? !await_mapper(mapper, failure)
                      : !map_ids(proc, kCellId, plan.host_uid, plan.host_gid, failure))
      return false;
  }
  if (!plan.runtime.count && !leave_program_file(stand_in, failure)) return false;
  // As root, the mounts are still the host's, and this process may not change them any more. In a
  // namespace of its own it can mount the scratch space for loading, and drop it.
  const int mounts = plan.as_root && plan.load_scratch ? CLONE_NEWNS : 0;
  if (unshare(CLONE_NEWIPC | CLONE_NEWUTS | mounts) != 0) return fail(failure, Stage::namespaces);
  close(proc);
  if (!set_names(text(plan, plan.hostname))) return fail(failure, Stage::hostname);
  return true;
}

// On floors without mounts it is a directory, beside those of the cells.
bool make_load_directory(const Plan& plan, Failure& failure) {
  const char* path = text(plan, plan.load_scratch);
  // If it exists, a killed zygote has left it.
  return mkdir(path, 0700) == 0 ||
         (errno == EEXIST && remove_tree(path) && mkdir(path, 0700) == 0) ||
         fail(failure, Stage::scratch);
}

bool drop_load_directory(const Plan& plan, Failure& failure) {
  return remove_tree(text(plan, plan.load_scratch)) || fail(failure, Stage::load_scratch);
}

}  // namespace

bool become_user(const Plan& plan, Failure& failure) {
  if (syscall(SYS_setgroups, 0, nullptr) != 0) return fail(failure, Stage::become_user, 0);
  if (syscall(SYS_setresgid, plan.host_gid, plan.host_gid, plan.host_gid) != 0)
    return fail(failure, Stage::become_user, 1);
  if (syscall(SYS_setresuid, plan.host_uid, plan.host_uid, plan.host_uid) != 0)
    return fail(failure, Stage::become_user, 2);
  return true;
}

void zygote_main(const Plan& plan, int janitor_socket, const int* id_map_fds, int catalog) {
  set_name("brig-zygote");
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  Failure failure;
  umask(022);
  if (plan.floor == Floor::jail) {
    if (!enter_jail(plan, id_map_fds, failure)) die(janitor_socket, failure);
  } else if (plan.as_root && !become_user(plan, failure)) {
    die(janitor_socket, failure);
  }
  // Changing ids has cleared it. It is set again here, and by each process below.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  for (unsigned i = 0; i < plan.id_maps.count; ++i) close(id_map_fds[i]);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) die(janitor_socket, Stage::no_new_privileges);
  if (plan.filter.count && !load_filter(plan, plan.filter, 0, nullptr))
    die(janitor_socket, Stage::seccomp);

  if (plan.runtime.count) become_runtime(plan, janitor_socket, catalog);
  zygote_serve(plan, janitor_socket, catalog);
}

void zygote_serve(const Plan& plan, int janitor_socket, int catalog) {
  // Here, and not before a runtime is executed: its program must not lie on a mount that goes away.
  const bool jail = plan.floor == Floor::jail;
  Failure failure;
  if (plan.load_scratch &&
      !(jail ? mount_load_scratch(plan, failure) : make_load_directory(plan, failure)))
    die(janitor_socket, failure);
  load_tools(plan, catalog);
  if (plan.load_scratch &&
      !(jail ? drop_load_scratch(plan, failure) : drop_load_directory(plan, failure)))
    die(janitor_socket, failure);
  if (catalog >= 0) close(catalog);
  signal(SIGCHLD, SIG_IGN);  // The kernel reaps keepers and orphans.
  wire::Message message{};
  message.tag = wire::Tag::zygote_ready;
  if (!send_packet(janitor_socket, &message, sizeof message, nullptr, 0)) _exit(1);
  for (;;) {
    Packet packet = recv_packet(janitor_socket, &message, sizeof message, 0);
    // The janitor is gone, and so is everything in this pid namespace.
    if (packet.size <= 0) _exit(0);
    if (packet.size != sizeof message || message.tag != wire::Tag::new_slot || packet.fd_count < 1)
      _exit(1);
    const pid_t pid = sys::clone_process(SIGCHLD, nullptr);
    if (pid == 0) {
      close(janitor_socket);
      int entrances[kMaxPacketFds];
      for (int i = 1; i < packet.fd_count; ++i) entrances[i - 1] = packet.fds[i].release();
      keeper_main(plan, packet.fds[0].release(), entrances, packet.fd_count - 1, message.index);
    }
    if (pid < 0) {
      // Sent on the slot's own socket, so that only this slot is lost.
      message.tag = wire::Tag::failed;
      message.stage = Stage::clone_cell;
      message.error = errno;
      send_packet(packet.fds[0].get(), &message, sizeof message, nullptr, 0);
    }
  }
}

}  // namespace brig::helper
