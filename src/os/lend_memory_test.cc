#include "os/lend_memory.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#if defined(__x86_64__) && __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define BRIG_RSEQ 1
#else
#define BRIG_RSEQ 0
#endif

namespace brig {
namespace {

struct Work {
  volatile int seen = 0;
  int descriptor = -1;
  pid_t child = 0;
  pid_t grandchild = 0;
};

// As keepers do it.
int lend(void (*child)(void*), Work& work, uint64_t flags = SIGCHLD) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  int status = -1;
  rusage usage{};
  const pid_t pid = lend_memory(flags, child, &work, &status, &usage);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  EXPECT_GT(pid, 0) << strerror(errno);
  if (lends_memory()) {
    EXPECT_EQ(pid, work.child);
  }
  EXPECT_GT(usage.ru_maxrss, 0);
  EXPECT_EQ(waitpid(pid, nullptr, 0), -1) << "it is reaped";
  return status;
}

TEST(LendMemory, TheChildsChangesAreTheParents) {
  Work work;
  const int status = lend(
      [](void* argument) {
        settle_in_lent_memory();
        auto& mine = *static_cast<Work*>(argument);
        mine.child = getpid();
        mine.seen = 7;
        char stack[64 * 1024];  // the parent's, below what it uses itself
        memset(stack, 0xff, sizeof stack);
        asm volatile("" ::"r"(stack) : "memory");
        _exit(3);
      },
      work);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(work.seen, lends_memory() ? 7 : 0);
}

TEST(LendMemory, DescriptorsAndHandlersAreItsOwn) {
  Work work;
  work.descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(work.descriptor, 0);
  lend(
      [](void* argument) {
        auto& mine = *static_cast<Work*>(argument);
        mine.child = getpid();
        close(mine.descriptor);
        signal(SIGUSR1, SIG_IGN);
        _exit(0);
      },
      work);
  EXPECT_EQ(close(work.descriptor), 0);
  struct sigaction action {};
  sigaction(SIGUSR1, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

TEST(LendMemory, ASignalThatEndsTheChildIsTold) {
  Work work;
  const int status = lend(
      [](void* argument) {
        static_cast<Work*>(argument)->child = getpid();
        kill(getpid(), SIGKILL);
        _exit(0);
      },
      work);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

// What the C library believes to be registered, is. (Registering the same again is EBUSY.)
TEST(LendMemory, WhatTheChildForksHasRestartableSequences) {
#if BRIG_RSEQ
  Work work;
  if (__rseq_size == 0) GTEST_SKIP() << "this C library registers none";
  const int status = lend(
      [](void* argument) {
        settle_in_lent_memory();
        static_cast<Work*>(argument)->child = getpid();
        const pid_t pid = fork();
        if (pid == 0) {
          char* here;
          asm("mov %%fs:0, %0" : "=r"(here));
          const long result = syscall(SYS_rseq, here + __rseq_offset, 32, 0, RSEQ_SIG);
          _exit(result == -1 && errno == EBUSY ? 0 : 1);
        }
        int ended = -1;
        waitpid(pid, &ended, 0);
        _exit(ended == 0 ? 0 : 1);
      },
      work);
  EXPECT_EQ(status, 0);
#else
  GTEST_SKIP() << "the way to ask is written for x86-64 and a C library with <sys/rseq.h>";
#endif
}

TEST(LendMemory, WhatCanNotBeMadeIsAnError) {
  int status = 0;
  rusage usage{};
  errno = 0;
  // These two can't go together.
  EXPECT_EQ(
      lend_memory(
          SIGCHLD | CLONE_NEWNS | CLONE_FS, [](void*) { _exit(0); }, nullptr, &status, &usage),
      -1);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace brig
