// Makes one cell for one call: zygote, keeper and init are one process, without the nested
// namespaces that only reuse needs. The locks and the result are the same.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <errno.h>
#include <string.h>

#include "helper/helper.h"
#include "helper/way_out.h"
#include "os/sys.h"

namespace brig::helper {

using wire::Stage;

constexpr uint64_t kNoNetwork = 1 << 20;  // and the errno

namespace {

// Making a network namespace takes as long as building the root. So a child makes it meanwhile,
// opens it in the descriptor table that both share, and reports the descriptor's number.
struct NetworkMaker {
  pid_t pid = -1;
  int said = -1;
};

NetworkMaker start_network(int socket, int proc) {
  NetworkMaker maker;
  maker.said = eventfd(0, EFD_CLOEXEC);
  if (maker.said < 0) die(socket, Stage::network_namespace);
  maker.pid = sys::clone_process(CLONE_FILES | SIGCHLD, nullptr);
  if (maker.pid < 0) die(socket, Stage::network_namespace);
  if (maker.pid == 0) {
    const int fd =
        unshare(CLONE_NEWNET) == 0 ? openat(proc, "self/ns/net", O_RDONLY | O_CLOEXEC) : -1;
    const uint64_t word =
        fd >= 0 ? static_cast<uint64_t>(fd) : kNoNetwork + static_cast<uint64_t>(errno);
    _exit(write(maker.said, &word, sizeof word) == sizeof word ? 0 : 1);
  }
  sys::send_away(maker.pid);
  return maker;
}

void join_network(int socket, const NetworkMaker& maker) {
  uint64_t word = 0;
  int status = -1;
  while (waitpid(maker.pid, &status, 0) < 0 && errno == EINTR) {
  }
  errno = ECHILD;
  if (status != 0) die(socket, Stage::network_namespace);
  if (read(maker.said, &word, sizeof word) != sizeof word) die(socket, Stage::network_namespace);
  if (word >= kNoNetwork) {
    errno = static_cast<int>(word - kNoNetwork);
    die(socket, Stage::network_namespace);
  }
  if (setns(static_cast<int>(word), CLONE_NEWNET) != 0) die(socket, Stage::network_namespace);
  close(static_cast<int>(word));
  close(maker.said);
}

constexpr unsigned kMaxEntrances = 4;  // memory, pids, cpu, cpuacct

// Opens them by path, and so before the root changes.
void open_entrances(const Plan& plan, int socket, int* entrances) {
  if (plan.cgroups.count > kMaxEntrances) {
    errno = EINVAL;
    die(socket, Stage::cgroup);
  }
  for (unsigned i = 0; i < plan.cgroups.count; ++i) {
    const CgroupTree& tree = begin_of(plan, plan.cgroups)[i];
    char path[4096];
    entrances[i] = join(path, text(plan, tree.base), text(plan, tree.entrance))
                       ? openat(AT_FDCWD, path, O_WRONLY | O_CLOEXEC)
                       : -1;
    if (entrances[i] < 0) die(socket, Stage::cgroup);
  }
}

void enter_cgroups(const Plan& plan, int socket, const int* entrances) {
  for (unsigned i = 0; i < plan.cgroups.count; ++i)
    if (!enter_cgroup(entrances[i])) die(socket, Stage::cgroup);
}

// The host decides twice whether it is root: before the plan and in it. If the two differed, the
// tool could be left with root's id.
void check_user(const Plan& plan, int socket, const SingleStart& start) {
  if (plan.floor != Floor::jail ||
      ((plan.as_root != 0) != ((start.namespaces & CLONE_NEWUSER) != 0) && plan.user == start.user))
    return;
  errno = EINVAL;
  die(socket, Stage::plan);
}

// Enters the jail. Returns a writable /proc. `network`: the maker of a network namespace, or null.
int enter_jail(const Plan& plan, int socket, const RootStage& stage, const int* id_map_fds,
               const NetworkMaker* network, int host_proc, const int* entrances, int* workspace) {
  Failure failure;
  if (!build_root(plan, stage, id_map_fds, failure)) die(socket, failure);
  if (network) join_network(socket, *network);
  close(host_proc);  // not before: the maker opens its namespace through it
  // A second, detached view of /proc stays writable for the few writes that are left.
  const int proc = sys::open_tree(AT_FDCWD, "/proc", sys::kOpenTreeClone | sys::kOpenTreeCloexec);
  if (proc < 0) die(socket, Stage::proc);
  if (!mount_private(plan, workspace, failure) || !open_way_out(plan, socket, failure))
    die(socket, failure);
  if (!set_names(text(plan, plan.hostname))) die(socket, Stage::hostname);
  enter_cgroups(plan, socket, entrances);
  if (unshare(CLONE_NEWCGROUP) != 0) die(socket, Stage::namespaces);
  if (plan.as_root) {
    if (!become_user(plan, failure)) die(socket, failure);
    if (unshare(CLONE_NEWUSER) != 0) die(socket, Stage::user_namespace);
    if (!map_ids(proc, plan.user, plan.host_uid, plan.host_gid, failure)) die(socket, failure);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);  // new ids cleared it
  return proc;
}

// Enters the cell's directory, on floors without mounts. Sets `scratch` to it.
void enter_directory(const Plan& plan, int socket, const int* entrances, char* scratch) {
  Failure failure;
  enter_cgroups(plan, socket, entrances);
  if (plan.as_root && !become_user(plan, failure)) die(socket, failure);
  watch_over_tree();
  if (!join(scratch, text(plan, plan.scratch_directory), "0") || mkdir(scratch, 0700) != 0)
    die(socket, Stage::scratch);
}

}  // namespace

void single_main(const Plan* known, int socket, const int* id_map_fds, const SingleStart& start) {
  set_name("brig-init");
  // If the janitor gives up, the cell ends with it. If the janitor was gone before this line, the
  // host notices and sends no request.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  umask(022);
  Failure failure;
  RootStage stage;
  const int host_proc = openat(AT_FDCWD, "/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  // Do what needs no plan while the host builds it.
  if (start.namespaces & CLONE_NEWUSER &&
      !map_ids(host_proc, start.user, start.uid, start.gid, failure))
    die(socket, failure);
  if (start.namespaces & CLONE_NEWNS && !stage_root(stage, failure)) die(socket, failure);
  Extras extras{.input = -1, .terminal = start.terminal};
  if (start.namespaces & CLONE_NEWNS && start.input >= 0)
    extras.input = view_of(host_proc, start.input);
  if (start.input >= 0) close(start.input);
  const Plan& plan = known ? *known : receive_plan(socket);
  check_user(plan, socket, start);
  const bool has_network = (start.namespaces & CLONE_NEWNET) != 0;
  NetworkMaker maker;
  if (has_network) maker = start_network(socket, host_proc);
  int entrances[kMaxEntrances];
  open_entrances(plan, socket, entrances);
  char scratch[4096] = "";
  int proc = -1, workspace = -1;
  if (plan.floor == Floor::jail)
    proc = enter_jail(plan, socket, stage, id_map_fds, has_network ? &maker : nullptr, host_proc,
                      entrances, &workspace);
  else
    enter_directory(plan, socket, entrances, scratch);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  for (unsigned i = 0; i < plan.id_maps.count; ++i) close(id_map_fds[i]);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) die(socket, Stage::no_new_privileges);
  if (plan.filter.count && !load_filter(plan, plan.filter, 0, nullptr)) die(socket, Stage::seccomp);
  run_cell(plan, socket, proc, scratch, workspace, extras);
}

}  // namespace brig::helper
