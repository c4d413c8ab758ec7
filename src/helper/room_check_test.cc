#include "helper/room_check.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "wire/plan_writer.h"

namespace brig::helper {
namespace {

using State = wire::RoomState;

constexpr int kNoRoom = 100, kNoCheck = 101;

void write_text(const char* path, const std::string& text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    _exit(kNoRoom);
  close(file);
}

// A room of this process's own, with one part, /tmp, and a listed path that would be mounted at
// /tmp/a/b/c.
void enter_room() {
  const std::string user = "0 " + std::to_string(geteuid()) + " 1";
  const std::string group = "0 " + std::to_string(getegid()) + " 1";
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET) != 0) _exit(kNoRoom);
  write_text("/proc/self/setgroups", "deny");
  write_text("/proc/self/uid_map", user);
  write_text("/proc/self/gid_map", group);
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("scratch", "/tmp", "tmpfs", MS_NOATIME, "size=1m,nr_inodes=100") != 0 ||
      mount("devpts", "/dev/pts", "devpts", MS_NOATIME, "ptmxmode=0666") != 0 ||
      mkdir("/tmp/a", 0755) != 0 || mkdir("/tmp/a/b", 0755) != 0 || mkdir("/tmp/a/b/c", 0755) != 0)
    _exit(kNoRoom);
}

std::vector<std::byte> plan_of_room() {
  PlanWriter writer;
  Plan plan{};
  plan.scratch_parts = writer.list(std::vector<PlanText>{writer.text("tmp"), writer.text("/tmp")});
  plan.late_binds =
      writer.list(std::vector<PlanText>{writer.text("/aside"), writer.text("/tmp/a/b/c")});
  return writer.take(plan);
}

// What the check finds in a room in which this was done, in a process that ends with the room.
State found_after(const std::function<void()>& done) {
  const pid_t child = fork();
  if (child == 0) {
    enter_room();
    const std::vector<std::byte> plan = plan_of_room();
    RoomCheck room;
    const int sockets = open("/proc/self/net/sockstat", O_RDONLY | O_CLOEXEC);
    if (!room.begin(*reinterpret_cast<const Plan*>(plan.data()), sockets)) _exit(kNoCheck);
    if (room.compare() != State::as_new) _exit(kNoCheck);
    done();
    _exit(static_cast<int>(room.compare()));
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) >= kNoRoom) {
    ADD_FAILURE() << "no room could be made or looked at: " << status;
    return State::not_kept;
  }
  return static_cast<State>(WEXITSTATUS(status));
}

void touch(const char* path) { close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)); }

TEST(RoomCheckKernel, FindsNothingWhereNothingWasLeft) {
  EXPECT_EQ(found_after([] {}), State::as_new);
  EXPECT_EQ(found_after([] {
              const int held = open("/tmp", O_TMPFILE | O_RDWR, 0600);
              (void)!write(held, "x", 1);
              close(held);
              int pair[2];
              socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
              close(pair[0]);
              close(pair[1]);
              shmctl(shmget(IPC_PRIVATE, 4096, 0600), IPC_RMID, nullptr);
            }),
            State::as_new);
}

TEST(RoomCheckKernel, SeesWhatTakesSpace) {
  EXPECT_EQ(found_after([] { touch("/tmp/x"); }), State::space);
  EXPECT_EQ(found_after([] { mkdir("/tmp/a/x", 0700); }), State::space);
  EXPECT_EQ(found_after([] { open("/tmp", O_TMPFILE | O_RDWR, 0600); }), State::space)
      << "without a name";
  EXPECT_EQ(found_after([] {
              open("/tmp/x", O_RDWR | O_CREAT, 0600);
              unlink("/tmp/x");
            }),
            State::space)
      << "deleted and still open";
}

TEST(RoomCheckKernel, SeesWhatWasDoneToItsDirectories) {
  EXPECT_EQ(found_after([] { chmod("/tmp", 0700); }), State::inode);
  EXPECT_EQ(found_after([] {
              const timespec times[2] = {{1, 0}, {1, 0}};
              utimensat(AT_FDCWD, "/tmp/a", times, 0);
            }),
            State::inode);
  EXPECT_EQ(found_after([] {
              touch("/tmp/x");
              unlink("/tmp/x");
            }),
            State::inode)
      << "times";
  EXPECT_EQ(found_after([] { rename("/tmp/a/b", "/tmp/a/x"); }), State::inode);
  EXPECT_EQ(found_after([] {
              rename("/tmp/a/b", "/tmp/a/x");
              rename("/tmp/a/x", "/tmp/a/b");
            }),
            State::inode);
  EXPECT_EQ(found_after([] { chmod("/dev/pts/ptmx", 0600); }), State::inode);
}

TEST(RoomCheckKernel, SeesObjectsOfSystemVAndSockets) {
  EXPECT_EQ(found_after([] { shmget(IPC_PRIVATE, 4096, 0600); }), State::ipc);
  EXPECT_EQ(found_after([] { semget(IPC_PRIVATE, 1, 0600); }), State::ipc);
  EXPECT_EQ(found_after([] { socket(AF_UNIX, SOCK_STREAM, 0); }), State::sockets);
}

TEST(RoomCheckKernel, SeesWhatTheNextToolWouldInherit) {
  EXPECT_EQ(found_after([] {
              rlimit limit{};
              getrlimit(RLIMIT_NOFILE, &limit);
              --limit.rlim_cur;
              setrlimit(RLIMIT_NOFILE, &limit);
            }),
            State::limits);
  EXPECT_EQ(found_after([] { setpriority(PRIO_PROCESS, 0, 5); }), State::scheduling);
  EXPECT_EQ(found_after([] { syscall(SYS_ioprio_set, 1, 0, 3 << 13); }), State::scheduling);
  EXPECT_EQ(found_after([] {
              sigset_t one;
              sigemptyset(&one);
              sigaddset(&one, SIGUSR2);
              sigprocmask(SIG_BLOCK, &one, nullptr);
              raise(SIGUSR2);
            }),
            State::signals);
}

TEST(RoomCheckKernel, SeesAttributes) {
  const State state = found_after([] {
    if (setxattr("/tmp", "user.x", "y", 1, 0) != 0) _exit(static_cast<int>(State::not_kept));
  });
  if (state == State::not_kept) GTEST_SKIP() << "a tmpfs takes no user attributes before Linux 6.6";
  EXPECT_TRUE(state == State::inode || state == State::space) << static_cast<int>(state);
}

// Every call that the comparison makes is one that can fail. Then the room goes.
TEST(RoomCheckKernel, TakesNoFailureForAnAnswer) {
  for (const int call : {SYS_statfs, SYS_shmctl, SYS_semctl, SYS_msgctl, SYS_pread64, SYS_statx,
                         SYS_getrlimit, SYS_sched_getaffinity, SYS_sched_getattr, SYS_ioprio_get,
                         SYS_rt_sigpending, SYS_listxattr}) {
    const State state = found_after([call] {
      sock_filter program[] = {
          BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1),
          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      };
      const sock_fprog filter{4, program};
      if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
          prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        _exit(kNoRoom);
    });
    EXPECT_EQ(state, State::unknown) << "system call " << call;
  }
}

}  // namespace
}  // namespace brig::helper
