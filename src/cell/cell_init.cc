// A cell: pid 1 of the inner pid namespace. It mounts what is private to the cell, locks itself, and
// forks the tool, which inherits every lock and waits for the one request. It exists because pid 1
// ignores default-action signals: a tool that ran as pid 1 would report wrong ones. When the tool
// ends it kills and reaps what is left, reports, and exits.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/securebits.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
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

// Set once before the handler can run; the handler needs them and takes no argument.
volatile pid_t g_tool = 0;
bool g_kill_all = false;  // kill(-1) reaches this cell's processes and no others

void on_term(int) {
  const int error = errno;
  if (g_kill_all)
    kill(-1, SIGTERM);
  else if (g_tool > 0)
    kill(-g_tool, SIGTERM);
  errno = error;
}

// The host says that it is enough; or, in floors without a pid namespace, the keeper died.
void on_kill(int) {
  const int error = errno;
  if (g_kill_all) kill(-1, SIGKILL);
  if (g_tool > 0) {
    kill(-g_tool, SIGKILL);
    kill(g_tool, SIGKILL);
  } else {
    _exit(1);
  }
  errno = error;
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigaction(number, &action, nullptr);
}

bool loopback_up(Failure& failure) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const bool ok = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  if (!ok) fail(failure, Stage::loopback_up);
  if (fd >= 0) close(fd);
  return ok;
}

// One tmpfs bounds /tmp, /dev/shm, HOME and the workspace together. It is staged where the
// workspace goes and then covered by its own part, so that no second path to the others is left.
bool mount_scratch(const Plan& plan, Failure& failure) {
  const char* stage = text(plan, plan.workspace);
  if (mount("scratch", stage, "tmpfs", MS_NOSUID | MS_NODEV, text(plan, plan.scratch_options)) != 0)
    return fail(failure, Stage::scratch);
  const PlanText* parts = begin_of(plan, plan.scratch_parts);
  for (unsigned i = 0; i + 1 < plan.scratch_parts.count; i += 2) {
    char path[4096];
    if (!join(path, stage, text(plan, parts[i])) || mkdir(path, 0755) != 0) return fail(failure, Stage::scratch, i);
    if (plan.single && plan.as_root && chown(path, plan.host_uid, plan.host_gid) != 0) return fail(failure, Stage::scratch, i);
    if (mount(path, text(plan, parts[i + 1]), nullptr, MS_BIND, nullptr) != 0) return fail(failure, Stage::scratch_bind, i);
  }
  return true;
}

// mkdir -p of what stands before the last component; the scratch space is the cell's own.
bool make_parents(const char* path) {
  char copy[4096];
  if (strlen(path) >= sizeof copy) return false;
  strcpy(copy, path);
  for (char* slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdir(copy, 0755) != 0 && errno != EEXIST && errno != EROFS) return false;
    *slash = '/';
  }
  return true;
}

// Listed paths below a scratch part, which would cover them, are put on top of it.
bool mount_late(const Plan& plan, Failure& failure) {
  const PlanText* pairs = begin_of(plan, plan.late_binds);
  for (unsigned i = 0; i + 1 < plan.late_binds.count; i += 2) {
    const char *from = text(plan, pairs[i]), *to = text(plan, pairs[i + 1]);
    struct stat info;
    if (stat(from, &info) != 0 || !make_parents(to)) return fail(failure, Stage::late_bind, i);
    if (S_ISDIR(info.st_mode)) {
      if (mkdir(to, 0755) != 0 && errno != EEXIST) return fail(failure, Stage::late_bind, i);
    } else {
      const int fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
      if (fd >= 0) close(fd);
    }
    if (mount(from, to, nullptr, MS_BIND | MS_REC, nullptr) != 0) return fail(failure, Stage::late_bind, i);
  }
  if (plan.late_binds.count &&
      mount("empty", text(plan, plan.aside), "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,mode=0555") != 0)
    return fail(failure, Stage::late_bind);
  return true;
}

bool restrict_files(const Plan& plan, const char* scratch, Failure& failure) {
  if (!plan.landlock_abi) return true;
  const sys::LandlockRulesetAttr attributes{plan.landlock_fs, plan.landlock_net, plan.landlock_scoped};
  const size_t size = plan.landlock_abi >= 6 ? 24 : plan.landlock_abi >= 4 ? 16 : 8;
  const int ruleset = sys::landlock_create_ruleset(attributes, size);
  if (ruleset < 0) return fail(failure, Stage::landlock_ruleset);
  for (unsigned i = 0; i < plan.landlock_rules.count; ++i) {
    const LandlockRule& rule = begin_of(plan, plan.landlock_rules)[i];
    const char* path = rule.path ? text(plan, rule.path) : scratch;
    const int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) {
      if (rule.optional && errno == ENOENT) continue;
      return fail(failure, Stage::landlock_rule, i);
    }
    struct stat info;
    uint64_t access = rule.access;
    if (fstat(fd, &info) == 0 && !S_ISDIR(info.st_mode))
      access &= sys::kFsExecute | sys::kFsWriteFile | sys::kFsReadFile | sys::kFsTruncate | sys::kFsIoctlDev;
    if (sys::landlock_add_path(ruleset, {access, fd}) != 0) return fail(failure, Stage::landlock_rule, i);
    close(fd);
  }
  if (sys::landlock_restrict_self(ruleset) != 0) return fail(failure, Stage::landlock_restrict);
  close(ruleset);
  return true;
}

bool drop_capabilities(Failure& failure) {
  // Locked: not even uid 0 in some namespace of a tool's own would regain anything by exec.
  const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                             SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                             SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  const bool privileged = prctl(PR_CAPBSET_DROP, 0, 0, 0, 0) == 0;
  if (privileged) {
    if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) != 0) return fail(failure, Stage::capabilities, 1);
    for (int cap = 1; cap < 64; ++cap)
      if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0) {
        if (errno == EINVAL) break;  // past the last one of this kernel
        return fail(failure, Stage::capabilities, 2);
      }
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2]{};
  if (syscall(SYS_capset, &header, none) != 0) return fail(failure, Stage::capabilities, 3);
  return true;
}

bool lock(const Plan& plan, const char* scratch, int* listener, Failure& failure) {
  for (unsigned i = 0; i < plan.rlimits.count; ++i) {
    const RlimitStep& step = begin_of(plan, plan.rlimits)[i];
    rlimit limit;
    const auto resource = static_cast<decltype(RLIMIT_CPU)>(step.resource);
    if (getrlimit(resource, &limit) != 0) return fail(failure, Stage::rlimit, i);
    // A host that allows less than the policy keeps its own, lower limit.
    if (step.value < limit.rlim_max) limit.rlim_max = step.value;
    limit.rlim_cur = limit.rlim_max;
    // A second between SIGXCPU and SIGKILL, so that the limit is told by its own signal.
    if (resource == RLIMIT_CPU && limit.rlim_max != RLIM_INFINITY) limit.rlim_max += 1;
    if (setrlimit(resource, &limit) != 0) return fail(failure, Stage::rlimit, i);
  }
  if (!restrict_files(plan, scratch, failure)) return false;
  if (!drop_capabilities(failure)) return false;
  if (plan.lock_filter.count &&
      !load_filter(plan, plan.lock_filter, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, listener))
    return fail(failure, Stage::seccomp_lock);
  return true;
}

// --- the tool, before exec ---

alignas(8) char g_request[wire::kInlineRequest];
char* g_strings[wire::kMaxStrings + 2];

[[noreturn]] void exec_failed(int socket, int error) {
  wire::Message message{};
  message.tag = wire::Tag::exec_failed;
  message.error = error;
  send_packet(socket, &message, sizeof message, nullptr, 0);
  _exit(127);
}

// execvp's rules, over the cell's own PATH.
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
    // An empty entry would mean the working directory, which the model can write to: not searched.
    if (size && size + length + 2 <= sizeof file) {
      memcpy(file, path, size);
      file[size] = '/';
      memcpy(file + size + 1, name, length + 1);
      execve(file, argv, envp);
      if (errno == EACCES) denied = true;
      if (errno != ENOENT && errno != EACCES && errno != ENOTDIR && errno != ELOOP && errno != ENAMETOOLONG) return errno;
    }
    if (!*end) return denied ? EACCES : ENOENT;
    path = end + 1;
  }
}

[[noreturn]] void tool_main(const Plan& plan, int socket) {
  if (plan.floor != Floor::jail) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  setsid();
  // Pages that the request will touch are copied now, not while a caller waits.
  for (size_t at = 0; at < 2 * 4096; at += 4096) {
    *reinterpret_cast<volatile char*>(g_request + at) = 0;
    *reinterpret_cast<char* volatile*>(g_strings + at / sizeof(char*)) = nullptr;
  }
  const Packet packet = recv_packet(socket, g_request, sizeof g_request, 0);
  if (packet.size < static_cast<ssize_t>(sizeof(wire::Request))) _exit(1);
  const auto& request = *reinterpret_cast<const wire::Request*>(g_request);
  const unsigned expected = static_cast<unsigned>(3 + (request.size > wire::kInlineRequest));
  if (packet.cut || request.tag != wire::Tag::request || request.argc == 0 ||
      request.argc + request.envc > wire::kMaxStrings || request.size > wire::kMaxRequest ||
      packet.fd_count != static_cast<int>(expected))
    exec_failed(socket, EINVAL);
  char* base = g_request;
  if (expected == 4) {
    void* block = mmap(nullptr, request.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, packet.fds[3], 0);
    if (block == MAP_FAILED) exec_failed(socket, errno);
    base = static_cast<char*>(block);
  }
  char* at = base + sizeof(wire::Request);
  char* const end = base + request.size;
  char** out = g_strings;
  for (unsigned i = 0; i < request.argc + request.envc; ++i) {
    char* nul = at < end ? static_cast<char*>(memchr(at, '\0', static_cast<size_t>(end - at))) : nullptr;
    if (!nul) exec_failed(socket, EINVAL);
    *out++ = at;
    at = nul + 1;
    if (i + 1 == request.argc) *out++ = nullptr;
  }
  *out = nullptr;
  for (int i = 0; i < 3; ++i)
    if (dup2(packet.fds[i], i) != i) exec_failed(socket, errno);
  if (request.has_tty) ioctl(0, TIOCSCTTY, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  char** const envp = g_strings + request.argc + 1;
  int error = exec_path(g_strings, envp);
  exec_failed(socket, error);
}

uint64_t micros(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1000000 + static_cast<uint64_t>(time.tv_usec);
}

[[noreturn]] void reap(int socket, pid_t tool) {
  wire::Message message{};
  message.tag = wire::Tag::tool_ended;
  int status = 0;
  for (;;) {
    const pid_t pid = waitpid(-1, &status, 0);
    if (pid == tool) break;
    if (pid < 0 && errno != EINTR) break;
  }
  message.status = status;
  // Atomic against forks: a process with a pending SIGKILL can't fork any more.
  if (g_kill_all)
    kill(-1, SIGKILL);
  else
    end_descendants();
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  message.cpu_micros = micros(usage.ru_utime) + micros(usage.ru_stime);
  message.max_rss_kib = static_cast<uint64_t>(usage.ru_maxrss);
  send_packet(socket, &message, sizeof message, nullptr, 0);
  _exit(0);
}

}  // namespace

bool mount_private(const Plan& plan, Failure& failure) {
  if (plan.loopback_up && !loopback_up(failure)) return false;
  if (!mount_scratch(plan, failure) || !mount_late(plan, failure)) return false;
  // Read-only: nothing in it is the cell's to change, oom_score_adj and sysctls included.
  if (plan.single) {
    sys::MountAttr read_only{.set = sys::kAttrRdonly, .clear = 0, .propagation = 0, .userns_fd = 0};
    if (sys::mount_setattr(AT_FDCWD, "/proc", 0, &read_only) != 0) return fail(failure, Stage::proc);
  } else if (mount("proc", "/proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
    return fail(failure, Stage::proc);
  }
  for (unsigned i = 0; i < plan.proc_masks.count; ++i) {
    const char* path = text(plan, begin_of(plan, plan.proc_masks)[i]);
    if (mount("/dev/null", path, nullptr, MS_BIND, nullptr) != 0 && errno != ENOENT) return fail(failure, Stage::mask, i);
  }
  return true;
}

void run_cell(const Plan& plan, int socket, int proc, const char* scratch) {
  Failure failure;
  // The out-of-memory killer must choose the tool before this process and the keeper.
  int oom = -1;
  if (proc >= 0) {
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    oom = openat(proc, "self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    close(proc);
  }
  const char* directory = plan.working_directory ? text(plan, plan.working_directory) : scratch;
  if (chdir(directory) != 0) die(socket, Stage::working_directory);
  // kill(-1) may be used where it can't leave the cell: in a pid namespace, or in a Landlock domain
  // that scopes signals.
  g_kill_all = plan.floor == Floor::jail || (plan.landlock_scoped & sys::kScopeSignal);
  setsid();  // fails where the process leads a session of its own already
  int listener = -1;
  if (!lock(plan, scratch, &listener, failure)) die(socket, failure);

  handle(SIGTERM, on_term);
  handle(SIGUSR1, on_kill);
  if (oom >= 0) (void)!write(oom, "800", 3);
  const pid_t tool = sys::clone_process(SIGCHLD, nullptr);
  if (tool < 0) die(socket, Stage::fork_tool);
  if (tool == 0) {
    signal(SIGTERM, SIG_DFL);
    signal(SIGUSR1, SIG_DFL);
    if (listener >= 0) close(listener);
    tool_main(plan, socket);
  }
  g_tool = tool;
  if (oom >= 0) {
    (void)!pwrite(oom, "0", 1, 0);
    close(oom);
  }
  wire::Message message{};
  message.tag = wire::Tag::cell_ready;
  if (!send_packet(socket, &message, sizeof message, &listener, listener >= 0)) _exit(1);
  if (listener >= 0) close(listener);
  reap(socket, tool);
}

// Floors without a pid namespace: this process sees to the end of its tree, also when it is orphaned.
static void watch_over_tree() {
  handle(SIGUSR1, on_kill);
  prctl(PR_SET_PDEATHSIG, SIGUSR1, 0, 0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void cell_init(const Plan& plan, int socket, unsigned slot) {
  set_name("brig-init");
  Failure failure;
  char scratch[4096] = "", number[24];
  int proc = -1;
  if (plan.floor == Floor::jail) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);  // the zygote's
    if (!map_ids(plan, proc, plan.cell_uid, plan.cell_gid, failure) || !mount_private(plan, failure)) die(socket, failure);
  } else {
    watch_over_tree();
    if (!join(scratch, text(plan, plan.scratch_directory), decimal(number, slot))) die(socket, Stage::scratch);
  }
  run_cell(plan, socket, proc, scratch);
}

void single_main(const Plan& plan, int socket, int gate, const int* id_map_fds) {
  set_name("brig-init");
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  umask(022);
  Failure failure;
  char scratch[4096] = "";
  int proc = -1;
  const auto wait_for_cgroups = [&] {
    uint64_t go = 0;
    if (read(gate, &go, sizeof go) != sizeof go) _exit(1);
    if (go != 1) {
      errno = static_cast<int>(go - 2);
      die(socket, Stage::cgroup);
    }
    close(gate);
  };
  if (plan.floor == Floor::jail) {
    const int host_proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (!plan.as_root && !map_ids(plan, host_proc, plan.host_uid, plan.host_gid, failure)) die(socket, failure);
    close(host_proc);
    if (!build_root(plan, id_map_fds, failure)) die(socket, failure);
    // A second, detached view of /proc stays writable for the few writes that are left.
    proc = sys::open_tree(AT_FDCWD, "/proc", sys::kOpenTreeClone | sys::kOpenTreeCloexec);
    if (proc < 0) die(socket, Stage::proc);
    if (!mount_private(plan, failure)) die(socket, failure);
    const char* name = text(plan, plan.hostname);
    if (sethostname(name, strlen(name)) != 0 || setdomainname("", 0) != 0) die(socket, Stage::hostname);
    wait_for_cgroups();
    if (unshare(CLONE_NEWCGROUP) != 0) die(socket, Stage::namespaces);
    if (plan.as_root) {
      if (!become_user(plan, failure)) die(socket, failure);
      if (unshare(CLONE_NEWUSER) != 0) die(socket, Stage::user_namespace);
      if (!map_ids(plan, proc, plan.host_uid, plan.host_gid, failure)) die(socket, failure);
    }
  } else {
    wait_for_cgroups();
    if (plan.as_root && !become_user(plan, failure)) die(socket, failure);
    watch_over_tree();
    if (!join(scratch, text(plan, plan.scratch_directory), "0") || mkdir(scratch, 0700) != 0) die(socket, Stage::scratch);
  }
  if (plan.floor == Floor::jail) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  for (unsigned i = 0; i < plan.id_maps.count; ++i) close(id_map_fds[i]);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) die(socket, Stage::no_new_privileges);
  if (plan.filter.count && !load_filter(plan, plan.filter, 0, nullptr)) die(socket, Stage::seccomp);
  run_cell(plan, socket, proc, scratch);
}

}  // namespace brig::helper
