#include "policy/seccomp.h"

#include <fcntl.h>
#include <linux/in6.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "policy/seccomp_builder.h"

namespace brig {
namespace {

// The newest system call that a cell may use: set_mempolicy_home_node, Linux 5.17. The number is
// fixed here and does not follow libseccomp's version: a cell may not make a call that nobody has
// reviewed.
constexpr int kLastKnown = 450;

// These fail with ENOSYS, and programs and libraries fall back to other calls.
constexpr const char* kAbsent[] = {
    "clone3",    // its flags are behind a pointer; glibc falls back to clone
    "openat2",   // its mode is behind a pointer (set-user-ID files on writable paths)
    "io_setup",  // one call can take all that the machine has; databases fall back to threads
    "mq_open",   // Landlock refuses it only after the queue was made
    "io_uring_setup", "io_uring_enter", "io_uring_register",  // Node probes it at start
    "keyctl",         "add_key",        "request_key",       "memfd_secret",  "_sysctl",
    "uselib",         "nfsservctl",     "afs_syscall",       "create_module", "get_kernel_syms",
    "query_module",   "getpmsg",        "putpmsg",           "tuxcall",       "security",
    "vserver",        "epoll_ctl_old",  "epoll_wait_old",    "modify_ldt",    "remap_file_pages",
};

// These are refused, and the report says so.
constexpr const char* kRefused[] = {
    // the shape of the jail
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "unshare",
    "setns",
    "sethostname",
    "setdomainname",
    // other processes' memory and descriptors
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "kcmp",
    "pidfd_getfd",
    // kernel interfaces with a history
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "fanotify_init",
    "fanotify_mark",
    // these reveal the names that the host and other cells open below a shared path such as
    // /usr/bin
    "inotify_init",
    "inotify_init1",
    "inotify_add_watch",
    "lookup_dcookie",
    "name_to_handle_at",
    "open_by_handle_at",
    "move_pages",
    "migrate_pages",
    "vhangup",
    "syslog",
    // the machine
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "reboot",
    "swapon",
    "swapoff",
    "acct",
    "quotactl",
    "quotactl_fd",
    "iopl",
    "ioperm",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
};

// Entries of the two lists above that an operator may give back, for debuggers and profilers.
constexpr const char* kReturnable[] = {
    "ptrace",          "process_vm_readv", "process_vm_writev", "process_madvise",   "kcmp",
    "perf_event_open", "inotify_init",     "inotify_init1",     "inotify_add_watch", "io_setup",
    "io_uring_setup",  "io_uring_enter",   "io_uring_register", "name_to_handle_at", "move_pages",
    "migrate_pages",   "memfd_secret",     "modify_ldt",        "remap_file_pages",  "userfaultfd",
    "adjtimex",        "memfd_create",
};

// Calls that a cell's init, and the tool before its exec, make under the lock filter while nobody
// listens yet.
constexpr const char* kNeeded[] = {
    "brk",     "clone",        "close",          "dup2",         "dup3",
    "execve",  "exit",         "exit_group",     "fork",         "getrusage",
    "kill",    "mmap",         "munmap",         "prlimit64",    "pwrite64",
    "recvmsg", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sendmsg",
    "setsid",  "statx",        "wait4",          "write",        "writev"};

constexpr int kNamespaceFlags[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                   CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};

template <typename List>
bool contains(const List& list, std::string_view name) {
  return std::any_of(std::begin(list), std::end(list),
                     [&](const auto& each) { return name == each; });
}

// One condition on an argument. (libseccomp's macros for conditions are C.)
scmp_arg_cmp compare(unsigned argument, scmp_compare how, scmp_datum_t a, scmp_datum_t b = 0) {
  return {argument, how, a, b};
}

// Refuses to create set-user-ID and set-group-ID files. nosuid protects the cell, but not the host,
// which later finds such a file on a writable path, owned by the directory's owner.
void refuse_set_id_modes(FilterBuilder& builder, const std::vector<std::string>& denied) {
  struct Call {
    const char* name;
    unsigned mode;
    int flags;  // the argument that must have O_CREAT, or -1
  };
  constexpr Call calls[] = {{"chmod", 1, -1}, {"fchmod", 1, -1},  {"fchmodat", 2, -1},
                            {"creat", 1, -1}, {"mkdir", 1, -1},   {"mkdirat", 2, -1},
                            {"mknod", 1, -1}, {"mknodat", 2, -1}, {"open", 2, 1},
                            {"openat", 3, 2}};
  for (const Call& call : calls) {
    if (contains(denied, call.name)) continue;  // refused whatever its mode
    for (const scmp_datum_t bit : std::initializer_list<scmp_datum_t>{S_ISUID, S_ISGID}) {
      const scmp_arg_cmp mode = compare(call.mode, SCMP_CMP_MASKED_EQ, bit, bit);
      if (call.flags < 0) {
        builder.rule(SCMP_ACT_NOTIFY, call.name, {mode});
        continue;
      }
      // A file without a name (O_TMPFILE) is made without O_CREAT, and can be given a name later.
      for (const scmp_datum_t makes :
           std::initializer_list<scmp_datum_t>{O_CREAT, O_TMPFILE & ~O_DIRECTORY})
        builder.rule(
            SCMP_ACT_NOTIFY, call.name,
            {compare(static_cast<unsigned>(call.flags), SCMP_CMP_MASKED_EQ, makes, makes), mode});
    }
  }
}

// If core_pattern names a program, the kernel starts it as the host's root for every crash,
// whatever the core limit is, unless the limit is 1. So a cell keeps the limit 1: not even 0 may
// replace it. Programs that turn core dumps off (key agents do, and exit if they can't) get the
// answer that it worked, since they have no core dumps anyway. A call that also asks for the old
// limit can't be answered like that, and is refused.
void keep_core_limit(FilterBuilder& builder, const std::vector<std::string>& denied) {
  const scmp_arg_cmp core_first = compare(0, SCMP_CMP_MASKED_EQ, 0xffffffffu, RLIMIT_CORE);
  const scmp_arg_cmp core_second = compare(1, SCMP_CMP_MASKED_EQ, 0xffffffffu, RLIMIT_CORE);
  const scmp_arg_cmp sets = compare(2, SCMP_CMP_NE, 0);
  if (!contains(denied, "setrlimit")) builder.rule(SCMP_ACT_ERRNO(0), "setrlimit", {core_first});
  if (contains(denied, "prlimit64")) return;
  builder.rule(SCMP_ACT_ERRNO(0), "prlimit64", {core_second, sets, compare(3, SCMP_CMP_EQ, 0)});
  builder.rule(SCMP_ACT_NOTIFY, "prlimit64", {core_second, sets, compare(3, SCMP_CMP_NE, 0)});
}

// A lease delays other processes that open the file, for lease-break-time, and a notice reports
// what others do in a directory. Both work on files that are only readable. Commands after
// F_SET_FILE_RW_HINT (such as directory delegations) have not been reviewed; there a non-zero upper
// half of the argument is refused too.
void refuse_leases(FilterBuilder& builder) {
  constexpr scmp_datum_t kFirstUnknown = F_SET_FILE_RW_HINT + 1;
  for (const scmp_datum_t command : std::initializer_list<scmp_datum_t>{F_SETLEASE, F_NOTIFY})
    builder.rule(SCMP_ACT_NOTIFY, "fcntl", {compare(1, SCMP_CMP_MASKED_EQ, 0xffffffffu, command)});
  builder.rule(SCMP_ACT_NOTIFY, "fcntl", {compare(1, SCMP_CMP_GE, kFirstUnknown)});
}

// Options of sockets that take what the whole machine shares, and no limit of a cell counts. Filters
// of sockets are compiled into the memory for BPF (net.core.bpf_jit_limit): when that is used up, no
// seccomp filter can be loaded, so no cell can start. There are 4096 flow labels, and an ordinary
// user may have 3072 of them. The kernel looks at 32 bits of both arguments.
void refuse_shared_pools(FilterBuilder& builder) {
  struct Option {
    scmp_datum_t level, name;
  };
  constexpr Option options[] = {{SOL_SOCKET, SO_ATTACH_FILTER},
                                {SOL_SOCKET, SO_ATTACH_BPF},
                                {SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF},
                                {SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF},
                                {IPPROTO_IPV6, IPV6_FLOWLABEL_MGR}};
  for (const Option& option : options)
    builder.rule(SCMP_ACT_NOTIFY, "setsockopt",
                 {compare(1, SCMP_CMP_MASKED_EQ, 0xffffffffu, option.level),
                  compare(2, SCMP_CMP_MASKED_EQ, 0xffffffffu, option.name)});
}

// Without its own namespaces a cell could leave IPC objects behind, and change the limits and
// priorities of other processes with its user id.
void refuse_reaching_out(FilterBuilder& builder, const std::vector<std::string>& denied) {
  for (const char* name : {"shmget", "msgget", "semget"})
    if (!contains(denied, name)) builder.rule(SCMP_ACT_NOTIFY, name);
  for (const char* name :
       {"prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"})
    if (!contains(denied, name)) builder.rule(SCMP_ACT_NOTIFY, name, {compare(0, SCMP_CMP_NE, 0)});
  for (const char* name : {"setpriority", "ioprio_set"})
    if (!contains(denied, name)) builder.rule(SCMP_ACT_NOTIFY, name, {compare(1, SCMP_CMP_NE, 0)});
}

// What a tool would leave to the next one in its room, and what could reach a room from outside.
// The init compares its own limits, too; but what it refuses is reported.
void watch_over_room(FilterBuilder& builder) {
  constexpr scmp_datum_t kAll = 0xffffffffu, kInit = 1;
  const auto init = [](unsigned argument) {
    return compare(argument, SCMP_CMP_MASKED_EQ, kAll, kInit);
  };
  builder.rule(SCMP_ACT_NOTIFY, "prlimit64", {init(0), compare(2, SCMP_CMP_NE, 0)});
  for (const char* name :
       {"sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"})
    builder.rule(SCMP_ACT_NOTIFY, name, {init(0)});
  // By its number, its process group, or the user, who is the same.
  const auto of_init = [&](const char* name, scmp_datum_t process) {
    for (const scmp_datum_t which : {process, process + 1})
      builder.rule(SCMP_ACT_NOTIFY, name, {compare(0, SCMP_CMP_MASKED_EQ, kAll, which), init(1)});
    builder.rule(SCMP_ACT_NOTIFY, name, {compare(0, SCMP_CMP_MASKED_EQ, kAll, process + 2)});
  };
  of_init("setpriority", PRIO_PROCESS);
  of_init("ioprio_set", 1);  // IOPRIO_WHO_PROCESS
  builder.rule(SCMP_ACT_NOTIFY, "connect");
  // The kernel takes SOCK_RAW of AF_UNIX for datagrams.
  for (const char* name : {"socket", "socketpair"})
    for (const scmp_datum_t type : std::initializer_list<scmp_datum_t>{SOCK_DGRAM, SOCK_RAW})
      builder.rule(SCMP_ACT_NOTIFY, name, {compare(1, SCMP_CMP_MASKED_EQ, 0xf, type)});
}

// RLIMIT_DATA bounds private memory. This asks for memory that processes share. Its size is in a
// register, except for a memfd, whose growth nothing counts: memfd_create is absent, and libraries
// fall back to a file. (The kernel looks at all of MAP_TYPE. Landlock handles /dev/zero, which
// makes such a mapping too.)
constexpr scmp_datum_t kMapType = 0xf;
constexpr const char* kSharedObjects[] = {"shmget", "msgget", "semget"};
void ask_for_memory(FilterBuilder& builder, const FilterRules& rules) {
  const auto denied = [&](const char* name) { return contains(rules.deny, name); };
  if (!contains(rules.allow, "memfd_create") && !denied("memfd_create"))
    builder.rule(SCMP_ACT_ERRNO(ENOSYS), "memfd_create");
  // Mappings of huge pages are refused elsewhere: if two rules match, the kernel may apply either.
  builder.rule(SCMP_ACT_NOTIFY, "mmap",
               {compare(3, SCMP_CMP_MASKED_EQ, kMapType | MAP_ANONYMOUS | MAP_HUGETLB,
                        MAP_SHARED | MAP_ANONYMOUS)});
  for (const char* name : kSharedObjects) {
    if (rules.shares_host || denied(name)) continue;
    if (std::string_view(name) == "shmget")
      builder.rule(SCMP_ACT_NOTIFY, name, {compare(2, SCMP_CMP_MASKED_EQ, SHM_HUGETLB, 0)});
    else
      builder.rule(SCMP_ACT_NOTIFY, name);
  }
}

// No memory limit counts the machine's pool of huge pages. A cell gets the answer that the pool is
// empty, as it usually is; programs that would like huge pages use normal ones.
void refuse_huge_pages(FilterBuilder& builder, const FilterRules& rules) {
  const auto denied = [&](const char* name) { return contains(rules.deny, name); };
  const auto refuse = [&](const char* name, unsigned argument, scmp_datum_t bit) {
    builder.rule(SCMP_ACT_ERRNO(ENOMEM), name, {compare(argument, SCMP_CMP_MASKED_EQ, bit, bit)});
  };
  refuse("mmap", 3, MAP_HUGETLB);
  const bool no_memfd = rules.counts_memory && !contains(rules.allow, "memfd_create");
  if (!no_memfd && !denied("memfd_create")) refuse("memfd_create", 1, MFD_HUGETLB);
  if (!rules.shares_host && !denied("shmget")) refuse("shmget", 2, SHM_HUGETLB);
}

// Refuses private memory that RLIMIT_DATA does not count. The kernel takes a mapping that grows
// downwards for a stack, which it bounds as it grows, but not as it is mapped or remapped. So no
// such mapping may be made, and the only existing one, the stack of the first thread, may not be
// remapped. A page that was given to a pipe stays allocated after it is unmapped, and a huge page
// stays as a whole.
void refuse_uncounted_memory(FilterBuilder& builder, const FilterRules& rules) {
  const auto denied = [&](const char* name) { return contains(rules.deny, name); };
  builder.rule(SCMP_ACT_ERRNO(ENOMEM), "mmap",
               {compare(3, SCMP_CMP_MASKED_EQ, MAP_GROWSDOWN, MAP_GROWSDOWN)});
  if (!denied("vmsplice")) builder.rule(SCMP_ACT_ERRNO(ENOSYS), "vmsplice");
  if (denied("mremap")) return;
#ifdef __x86_64__
  // The stack lies within the last 16 GiB below 2^47, plus its own size; mappings are below that.
  // In a 32-bit program, which may switch to 64 bits, it lies in the last 16 MiB below 2^32.
  // realloc copies other mappings there instead of remapping them.
  constexpr scmp_datum_t kLowestStack = (1ull << 47) - (16ull << 30) - (16ull << 20);
  builder.rule(SCMP_ACT_ERRNO(ENOMEM), "mremap", {compare(0, SCMP_CMP_GE, kLowestStack)});
  builder.rule(SCMP_ACT_ERRNO(ENOMEM), "mremap",
               {compare(0, SCMP_CMP_MASKED_EQ, ~0xffffffull, 0xff000000)});
#else
  // The stack's place on this architecture has not been looked up.
  builder.rule(SCMP_ACT_ERRNO(ENOMEM), "mremap");
#endif
}

// Deny wins over allow.
FilterRules settled(FilterRules rules) {
  std::erase_if(rules.allow, [&](const std::string& name) { return contains(rules.deny, name); });
  return rules;
}

}  // namespace

bool is_syscall(const std::string& name) {
  return seccomp_syscall_resolve_name(name.c_str()) != __NR_SCMP_ERROR;
}

bool may_deny(const std::string& name) { return !contains(kNeeded, name); }

bool may_allow(const std::string& name) { return contains(kReturnable, name); }

FilterProgram build_filter(const FilterRules& asked) {
  const FilterRules rules = settled(asked);
  FilterBuilder builder(SCMP_ACT_ERRNO(ENOSYS));
  for (int number = 0; number <= kLastKnown; ++number) {
    char* raw = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
    if (!raw) continue;
    const std::string name(raw);
    free(raw);
    if (contains(kAbsent, name) && !contains(rules.allow, name)) continue;
    if (name == "socket" || name == "socketpair" || name == "personality") continue;
    builder.rule(SCMP_ACT_ALLOW, number, name.c_str());
  }
  // The comparison is of all 64 bits, so that a non-zero upper half can't bypass it.
  for (const scmp_datum_t family : std::initializer_list<scmp_datum_t>{AF_UNIX, AF_INET, AF_INET6})
    builder.rule(SCMP_ACT_ALLOW, "socket", {compare(0, SCMP_CMP_EQ, family)});
  builder.rule(SCMP_ACT_ALLOW, "socket",
               {compare(0, SCMP_CMP_EQ, AF_NETLINK), compare(2, SCMP_CMP_EQ, 0)});
  builder.rule(SCMP_ACT_ALLOW, "socketpair", {compare(0, SCMP_CMP_EQ, AF_UNIX)});
  for (const scmp_datum_t persona :
       {0x0u, 0xffffffffu})  // PER_LINUX, and asking for the present one
    builder.rule(SCMP_ACT_ALLOW, "personality", {compare(0, SCMP_CMP_EQ, persona)});
  return builder.take();
}

FilterProgram build_lock_filter(const FilterRules& asked) {
  const FilterRules rules = settled(asked);
  FilterBuilder builder(SCMP_ACT_ALLOW);
  for (const char* name : kRefused)
    if (!contains(rules.allow, name)) builder.rule(SCMP_ACT_NOTIFY, name);
  for (const std::string& name : rules.deny)
    if (!contains(kRefused, name)) builder.rule(SCMP_ACT_NOTIFY, name.c_str());
  const auto denied = [&](const char* name) { return contains(rules.deny, name); };
  if (!denied("clone"))
    for (const int flag : kNamespaceFlags) {
      const auto bit = static_cast<scmp_datum_t>(flag);
      builder.rule(SCMP_ACT_NOTIFY, "clone", {compare(0, SCMP_CMP_MASKED_EQ, bit, bit)});
    }
  if (!denied("ioctl"))
    // TIOCSETD loads drivers of other line disciplines, which only modems need.
    for (const scmp_datum_t request : std::initializer_list<scmp_datum_t>{
             TIOCSTI, TIOCLINUX, TIOCSETD})  // the kernel looks at 32 bits only
      builder.rule(SCMP_ACT_NOTIFY, "ioctl",
                   {compare(1, SCMP_CMP_MASKED_EQ, 0xffffffffu, request)});
  if (!denied("seccomp"))
    builder.rule(SCMP_ACT_NOTIFY, "seccomp",
                 {compare(1, SCMP_CMP_MASKED_EQ, 8, 8)});  // NEW_LISTENER
  if (!denied("prctl"))
    builder.rule(SCMP_ACT_NOTIFY, "prctl",
                 {compare(0, SCMP_CMP_MASKED_EQ, 0xffffffffu, PR_SET_MM)});
  if (!rules.inet && !denied("socket"))
    builder.rule(SCMP_ACT_NOTIFY, "socket", {compare(0, SCMP_CMP_NE, AF_UNIX)});
  refuse_set_id_modes(builder, rules.deny);
  keep_core_limit(builder, rules.deny);
  if (!denied("fcntl")) refuse_leases(builder);
  if (!denied("setsockopt")) refuse_shared_pools(builder);
  if (rules.shares_host) refuse_reaching_out(builder, rules.deny);
  if (rules.keeps_room) watch_over_room(builder);
  refuse_huge_pages(builder, rules);
  if (rules.counts_memory) {
    ask_for_memory(builder, rules);
    refuse_uncounted_memory(builder, rules);
  }
  return builder.take();
}

std::vector<int> counted_calls(const FilterRules& rules) {
  if (!rules.counts_memory) return {};
  std::vector<int> numbers{SCMP_SYS(mmap)};
  for (const char* name : kSharedObjects)
    if (!rules.shares_host && !contains(rules.deny, name))
      numbers.push_back(seccomp_syscall_resolve_name(name));
  return numbers;
}

}  // namespace brig
