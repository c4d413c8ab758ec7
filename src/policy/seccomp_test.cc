#include "policy/seccomp.h"

#include <brig/error.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/in6.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <string>

namespace brig {
namespace {

bool load(std::span<const std::uint64_t> program) {
  sock_fprog filter{static_cast<unsigned short>(program.size()),
                    reinterpret_cast<sock_filter*>(const_cast<std::uint64_t*>(program.data()))};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

// The errno that `attempt` ends with in a child under `program`. 0 if it works, 255 if the child
// died.
int under(std::span<const std::uint64_t> program, const std::function<long()>& attempt) {
  const pid_t pid = fork();
  if (pid == 0) {
    if (!load(program)) _exit(254);
    errno = 0;
    _exit(attempt() < 0 ? errno : 0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

// The lock filter asks a listener. Where there is none, the kernel itself answers ENOSYS.
constexpr int kAsked = ENOSYS;

TEST(SeccompKernel, TheFilterAllowsOrdinaryCalls) {
  EXPECT_EQ(under(default_filter(), [] { return open("/dev/null", O_RDONLY); }), 0);
  EXPECT_EQ(under(default_filter(), [] { return syscall(SYS_getpid); }), 0);
  EXPECT_EQ(under(default_filter(), [] { return socket(AF_UNIX, SOCK_STREAM, 0); }), 0);
  EXPECT_EQ(under(default_filter(), [] { return fork() == 0 ? (_exit(0), 0) : 0; }), 0);
}

TEST(SeccompKernel, TheFilterRefusesWhatIsNewForeignOrUnneeded) {
  for (const long number :
       {long{SYS_clone3}, long{SYS_openat2}, long{SYS_io_uring_setup}, long{SYS_io_setup},
        long{SYS_keyctl}, long{SYS_add_key}, 451L, 462L, 500L, 1000L})
    EXPECT_EQ(under(default_filter(), [=] { return syscall(number, 0, 0, 0, 0, 0); }), ENOSYS)
        << number;
#if defined(__x86_64__)
  EXPECT_EQ(under(default_filter(), [] { return syscall(0x40000000 | SYS_getpid); }), ENOSYS)
      << "x32";
  EXPECT_EQ(under(default_filter(),
                  [] {
                    long result = 20;  // getpid of i386.
                    asm volatile("int $0x80" : "+a"(result) : : "memory");
                    errno = static_cast<int>(-result);
                    return result < 0 ? -1L : 0L;
                  }),
            ENOSYS)
      << "i386";
#endif
  EXPECT_NE(under(default_filter(), [] { return socket(AF_PACKET, SOCK_RAW, 0); }), 0);
  EXPECT_NE(under(default_filter(), [] { return socket(AF_VSOCK, SOCK_STREAM, 0); }), 0);
  EXPECT_NE(under(default_filter(),
                  [] { return syscall(SYS_personality, 0x0400000 /* READ_IMPLIES_EXEC */); }),
            0);
}

TEST(SeccompKernel, TheLockRefusesTheShapeOfTheJail) {
  const auto lock = default_lock_filter(false);
  EXPECT_EQ(under(lock, [] { return mount(nullptr, nullptr, nullptr, 0, nullptr); }), kAsked);
  EXPECT_EQ(under(lock, [] { return unshare(CLONE_NEWUSER); }), kAsked);
  EXPECT_EQ(under(lock, [] { return syscall(SYS_ptrace, 0, 0, 0, 0); }), kAsked);
  EXPECT_EQ(under(lock, [] { return syscall(SYS_bpf, 0, 0, 0); }), kAsked);
  for (const int flag : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC,
                         CLONE_NEWUTS, CLONE_NEWCGROUP})
    EXPECT_EQ(under(lock, [=] { return syscall(SYS_clone, flag | SIGCHLD, 0, 0, 0, 0); }), kAsked)
        << flag;
  EXPECT_EQ(
      under(lock, [] { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0 ? (_exit(0), 0) : 0; }),
      0);
}

TEST(SeccompKernel, TheLockLooksAtTheWholeArgument) {
  const auto lock = default_lock_filter(false);
  EXPECT_EQ(under(lock, [] { return socket(AF_INET, SOCK_STREAM, 0); }), kAsked);
  EXPECT_EQ(under(lock, [] { return syscall(SYS_socket, 1ul << 32 | AF_INET, SOCK_STREAM, 0); }),
            kAsked);
  EXPECT_NE(under(lock, [] { return syscall(SYS_socket, 1ul << 32 | AF_UNIX, SOCK_STREAM, 0); }), 0)
      << "a dirty upper half";
  EXPECT_EQ(under(lock, [] { return syscall(SYS_ioctl, 0, 1ul << 32 | TIOCSTI, ""); }), kAsked);
  EXPECT_EQ(under(lock, [] { return syscall(SYS_ioctl, 0, TIOCLINUX, ""); }), kAsked);
  EXPECT_EQ(under(lock, [] { return syscall(SYS_ioctl, 0, 1ul << 40 | TIOCSETD, ""); }), kAsked);
  EXPECT_EQ(under(lock, [] { return syscall(SYS_fcntl, 0, 1ul << 32 | F_SETLEASE, 0); }), kAsked);
  EXPECT_EQ(under(lock, [] { return syscall(SYS_fcntl, 0, F_NOTIFY, 0); }), kAsked);
  EXPECT_EQ(under(lock, [] { return syscall(SYS_fcntl, 0, 1040 /* F_SETDELEG */, 0); }), kAsked);
  EXPECT_EQ(under(lock, [] { return fcntl(0, F_GETFD); }), 0);
  EXPECT_EQ(under(lock, [] { return chmod("/dev/null/none", 04755); }), kAsked);
  EXPECT_EQ(under(lock, [] { return open("/tmp/brig-none/x", O_CREAT | O_WRONLY, 02755); }),
            kAsked);
  EXPECT_EQ(under(lock, [] { return open("/dev/null", O_RDONLY, 02755); }), 0)
      << "the mode means nothing without O_CREAT";
  EXPECT_EQ(under(default_lock_filter(true), [] { return socket(AF_INET, SOCK_STREAM, 0); }), 0);
}

TEST(SeccompKernel, TheLockGivesNothingOfPoolsThatAllSocketsShare) {
  static sock_filter accept{BPF_RET | BPF_K, 0, 0, 0xffff};
  static sock_fprog filter{1, &accept};
  const auto set = [](unsigned long level, unsigned long option) {
    const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    return syscall(SYS_setsockopt, fd, level, option, &filter, sizeof filter);
  };
  constexpr unsigned long kDirty = 1ul << 32;
  for (const auto lock : {default_lock_filter(false), default_lock_filter(true),
                          default_lock_filter(false, true), default_lock_filter(true, true)}) {
    for (const int option :
         {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF}) {
      EXPECT_EQ(under(lock, [=] { return set(SOL_SOCKET, option); }), kAsked) << option;
      EXPECT_EQ(under(lock, [=] { return set(kDirty | SOL_SOCKET, kDirty | option); }), kAsked)
          << option << " with dirty upper halves";
    }
    EXPECT_EQ(under(lock, [=] { return set(IPPROTO_IPV6, IPV6_FLOWLABEL_MGR); }), kAsked);
    EXPECT_EQ(under(lock, [=] { return set(SOL_SOCKET, SO_RCVBUF); }), 0);
    EXPECT_EQ(under(lock, [=] { return set(SOL_SOCKET, SO_LOCK_FILTER); }), 0);
    EXPECT_NE(under(lock, [=] { return set(IPPROTO_TCP, SO_ATTACH_FILTER); }), kAsked)
        << "an option of another level that has the same number";
  }
  EXPECT_EQ(under(build_lock_filter({.deny = {"setsockopt"}}),
                  [=] { return set(SOL_SOCKET, SO_RCVBUF); }),
            kAsked);
}

// The machine needs no huge pages: with MAP_NORESERVE the kernel gives the mapping anyway.
TEST(SeccompKernel, TheLockGivesNoHugePages) {
  const auto map = [](int flags) {
    return mmap(nullptr, 4 << 20, PROT_READ, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) ==
                   MAP_FAILED
               ? -1L
               : 0L;
  };
  const FilterProgram both = build_lock_filter({.shares_host = true, .counts_memory = true}),
                      given = build_lock_filter({.counts_memory = true, .allow = {"memfd_create"}});
  for (const std::span<const std::uint64_t> lock :
       {default_lock_filter(false), default_lock_filter(true), default_lock_filter(false, true),
        default_lock_filter(true, true), std::span<const std::uint64_t>(both),
        std::span<const std::uint64_t>(given)}) {
    for (const int type : {MAP_PRIVATE, MAP_SHARED, MAP_SHARED_VALIDATE})
      for (const int size : {0, 21 << MAP_HUGE_SHIFT})
        EXPECT_EQ(under(lock, [&] { return map(type | MAP_HUGETLB | size); }), ENOMEM) << type;
    EXPECT_EQ(under(lock, [&] { return map(MAP_PRIVATE); }), 0);
  }
  for (const auto lock : {default_lock_filter(false), std::span<const std::uint64_t>(given)}) {
    EXPECT_EQ(under(lock, [] { return memfd_create("x", MFD_HUGETLB); }), ENOMEM);
    EXPECT_EQ(under(lock, [] { return memfd_create("x", 0); }), 0);
  }
  for (const auto lock : {default_lock_filter(false), default_lock_filter(false, true)})
    EXPECT_EQ(under(lock, [] { return shmget(IPC_PRIVATE, 2 << 20, SHM_HUGETLB | SHM_NORESERVE); }),
              ENOMEM);
  const auto counting = default_lock_filter(false, true);
  EXPECT_EQ(under(counting, [&] { return map(MAP_SHARED); }), kAsked);
  EXPECT_EQ(under(counting, [] { return shmget(IPC_PRIVATE, 4096, 0600); }), kAsked);
}

// The errno is 0 for a change that the filter answers as done although it is not.
TEST(SeccompKernel, TheLockKeepsTheCoreLimit) {
  const auto after = [](const std::function<long()>& change) {
    return under(default_lock_filter(false), [&]() -> long {
      rlimit before{}, now{};
      getrlimit(RLIMIT_CORE, &before);
      if (change() < 0) return -1;
      getrlimit(RLIMIT_CORE, &now);
      errno = EEXIST;
      return before.rlim_cur == now.rlim_cur && before.rlim_max == now.rlim_max ? 0 : -1;
    });
  };
  static const rlimit other{12345, 12345};
  static rlimit old{};
  EXPECT_EQ(after([] { return setrlimit(RLIMIT_CORE, &other); }), 0);
  EXPECT_EQ(after([] { return syscall(SYS_setrlimit, 1ul << 32 | RLIMIT_CORE, &other); }), 0);
  EXPECT_EQ(after([] { return syscall(SYS_prlimit64, 0, RLIMIT_CORE, &other, 0); }), 0);
  EXPECT_EQ(after([] { return syscall(SYS_prlimit64, 0, RLIMIT_CORE, &other, &old); }), kAsked);
  EXPECT_EQ(after([] { return syscall(SYS_prlimit64, 0, RLIMIT_CORE, 0, &old); }), 0);
  EXPECT_EQ(after([] {
              rlimit files{};
              getrlimit(RLIMIT_NOFILE, &files);
              return setrlimit(RLIMIT_NOFILE, &files);
            }),
            0);
}

TEST(SeccompKernel, AllowAndDenyChangeBoth) {
  EXPECT_EQ(under(build_lock_filter({.allow = {"ptrace"}}),
                  [] { return syscall(SYS_ptrace, 0 /* TRACEME */, 0, 0, 0); }),
            0);
  EXPECT_EQ(under(build_lock_filter({.deny = {"getpgid"}}), [] { return getpgid(0); }), kAsked);
  EXPECT_EQ(under(build_lock_filter({.allow = {"ptrace"}, .deny = {"ptrace"}}),
                  [] { return syscall(SYS_ptrace, 0, 0, 0, 0); }),
            kAsked)
      << "deny wins";
  EXPECT_NE(under(build_filter({.allow = {"io_uring_setup"}}),
                  [] { return syscall(SYS_io_uring_setup, 0, nullptr); }),
            ENOSYS);
}

TEST(Seccomp, ThePrecomputedFiltersAreThoseThatWouldBeBuilt) {
  const auto same = [](std::span<const std::uint64_t> a, const FilterProgram& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  EXPECT_TRUE(same(default_filter(), build_filter({})));
  EXPECT_TRUE(same(default_lock_filter(false), build_lock_filter({})));
  EXPECT_TRUE(same(default_lock_filter(true), build_lock_filter({.inet = true})));
  EXPECT_LT(default_filter().size(), 4096u) << "BPF_MAXINSNS";
}

TEST(Seccomp, KnowsWhatMayBeGivenBackAndTakenAway) {
  EXPECT_TRUE(is_syscall("mount"));
  EXPECT_FALSE(is_syscall("no_such_call"));
  for (const char* name : {"ptrace", "inotify_add_watch", "inotify_init", "inotify_init1",
                           "io_setup", "io_uring_setup", "perf_event_open"})
    EXPECT_TRUE(may_allow(name)) << name;
  for (const char* name : {"mount", "unshare", "setns", "bpf", "clone3", "openat2", "read",
                           "chroot", "kexec_load", "pivot_root"})
    EXPECT_FALSE(may_allow(name)) << name;
  for (const char* name : {"execve", "exit_group", "read", "write", "clone"})
    if (std::string(name) != "read" && std::string(name) != "write") {
      EXPECT_FALSE(may_deny(name)) << name;
    }
  EXPECT_FALSE(may_deny("prlimit64")) << "the tool's process lowers its own limit of open files";
  EXPECT_TRUE(may_deny("symlink"));
}

TEST(Seccomp, WordsRefusals) {
  const auto words = [](long number, std::uint64_t first = 0, std::uint64_t second = 0,
                        std::uint64_t third = 0) {
    const std::uint64_t arguments[6] = {first, second, third, 0, 0, 0};
    return describe_refusal(static_cast<int>(number), arguments);
  };
  EXPECT_EQ(words(SYS_mount), "mount");
  EXPECT_EQ(words(SYS_socket, AF_INET), "socket(AF_INET)");
  EXPECT_EQ(words(SYS_socket, AF_INET6), "socket(AF_INET6)");
  EXPECT_EQ(words(SYS_socket, 40), "socket(40)");
  EXPECT_EQ(words(SYS_ioctl, 0, TIOCSTI), "ioctl(TIOCSTI)");
  EXPECT_EQ(words(SYS_ioctl, 0, TIOCSETD), "ioctl(TIOCSETD)");
  EXPECT_EQ(words(SYS_fcntl, 0, F_SETLEASE), "fcntl(F_SETLEASE)");
  EXPECT_EQ(words(SYS_setsockopt, 3, SOL_SOCKET, SO_ATTACH_FILTER), "setsockopt(SO_ATTACH_FILTER)");
  EXPECT_EQ(words(SYS_setsockopt, 3, IPPROTO_IPV6, IPV6_FLOWLABEL_MGR),
            "setsockopt(IPV6_FLOWLABEL_MGR)");
  EXPECT_EQ(words(SYS_setsockopt, 3, IPPROTO_TCP, SO_ATTACH_FILTER), "setsockopt");
  EXPECT_FALSE(words(99999).empty());
  EXPECT_EQ(refusal_errno(SYS_socket), EACCES);
  EXPECT_EQ(refusal_errno(SYS_mount), EPERM);
  EXPECT_EQ(refusal_errno(SYS_setsockopt), ENOPROTOOPT) << "libpcap falls back, and says nothing";
  EXPECT_EQ(refusal_errno(SYS_inotify_init1), ENOSYS) << "tail -f falls back";
}

}  // namespace
}  // namespace brig
