#include "os/child.h"

#include <brig/error.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

#include "os/sys.h"

namespace brig {
namespace {

// In ms. Tells "at once" from "never" even on a machine that stalls.
constexpr int kChildsTime = 15'000;

// The program to start is this one again. It gets no arguments and no environment, so its name says
// what it has to do.
const bool kRole = [] {
  char name[64] = {};
  const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  const ssize_t size = read(file, name, sizeof name - 1);
  close(file);
  const std::string role(name, size > 0 ? strlen(name) : 0);
  if (role == "brig-role-sleep")
    for (;;) pause();
  if (role == "brig-role-exit") _exit(0);
  if (role != "brig-role-tell") return false;
  std::string text =
      environ[0] ? std::string("environment ") + environ[0] + "\n" : "empty environment\n";
  for (int fd = 0; fd < 64; ++fd) {
    char target[256] = {};
    if (readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target - 1) > 0)
      text += std::to_string(fd) + " " + target + "\n";
  }
  (void)!write(3, text.data(), text.size());
  (void)!write(4, "four\n", 5);
  _exit(0);
}();

Child start(const char* role, int first, int second) {
  const UniqueFd program(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  return CleanSpawn(program.get(), role, {first, second}).take();
}

struct Pipe {
  UniqueFd reader, writer;
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    reader.reset(ends[0]);
    writer.reset(ends[1]);
  }
  std::string rest() {
    writer.reset();
    std::string text;
    char buffer[512];
    for (ssize_t size; (size = read(reader.get(), buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(size));
    return text;
  }
};

TEST(SpawnClean, GivesTwoDescriptorsAndNoEnvironment) {
  const UniqueFd leak(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
  Pipe pipe;
  Child child = start("brig-role-tell", pipe.writer.get(), pipe.writer.get());
  const std::string text = pipe.rest();
  EXPECT_TRUE(child.wait(kChildsTime));
  EXPECT_EQ(text.substr(0, 18), "empty environment\n") << text;
  EXPECT_NE(text.find("0 /dev/null\n1 /dev/null\n2 /dev/null\n3 pipe:"), std::string::npos) << text;
  EXPECT_EQ(text.find("\n5 "), std::string::npos) << text;
  EXPECT_NE(text.find("four\n"), std::string::npos) << text;
}

TEST(SpawnClean, WorksWhenItsDescriptorsAreThoseTheyMustBecome) {
  Pipe pipe;
  // 3 and 4 in reverse order, with other descriptors of the host in their places.
  const int three = fcntl(3, F_DUPFD_CLOEXEC, 30), four = fcntl(4, F_DUPFD_CLOEXEC, 30);
  const UniqueFd reader(fcntl(pipe.reader.get(), F_DUPFD_CLOEXEC, 40)),
      writer(fcntl(pipe.writer.get(), F_DUPFD_CLOEXEC, 40));
  const UniqueFd other(open("/dev/null", O_WRONLY | O_CLOEXEC));
  const UniqueFd program(open("/proc/self/exe", O_RDONLY | O_CLOEXEC)),
      high(fcntl(program.get(), F_DUPFD_CLOEXEC, 40)),
      null(fcntl(other.get(), F_DUPFD_CLOEXEC, 40));
  dup3(null.get(), 3, O_CLOEXEC);
  dup3(writer.get(), 4, O_CLOEXEC);
  {
    Child child = CleanSpawn(high.get(), "brig-role-tell", {4, 3}).take();
    EXPECT_TRUE(child.wait(kChildsTime));
  }
  for (const auto& [saved, fd] : {std::pair{three, 3}, {four, 4}}) {
    if (saved >= 0) {
      dup3(saved, fd, O_CLOEXEC);
      close(saved);
    } else {
      close(fd);
    }
  }
  char text[4096] = {};
  EXPECT_GT(read(reader.get(), text, sizeof text - 1), 0);
  EXPECT_EQ(std::string(text).substr(0, 18), "empty environment\n") << text;
  EXPECT_EQ(std::string(text).find("four"), std::string::npos) << text;
}

TEST(SpawnClean, TellsWhatCannotBeRun) {
  const UniqueFd file(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  try {
    Child child = CleanSpawn(file.get(), "name", {null.get(), null.get()}).take();
    FAIL() << "ran /etc/passwd";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("execveat"), std::string::npos) << error.what();
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1) << "a failed child was left unreaped";
}

TEST(SpawnClean, EndsWhatNobodyTook) {
  const UniqueFd program(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  for (int i = 0; i < 50; ++i)
    CleanSpawn(program.get(), "brig-role-sleep", {null.get(), null.get()});
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1) << "a child was left";
}

TEST(SpawnClean, LeavesErrnoAlone) {
  const UniqueFd file(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  errno = 0;
  CleanSpawn spawn(file.get(), "name", {null.get(), null.get()});
  siginfo_t info{};  // The child has failed and ended; the spawn still reaps it.
  EXPECT_EQ(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | __WALL), 0);
  EXPECT_EQ(errno, 0) << "the child's failure showed in the host";
}

TEST(Child, ItsEndKillsAndReaps) {
  pid_t pid;
  {
    const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
    Child child = start("brig-role-sleep", null.get(), null.get());
    EXPECT_TRUE(child);
    pid = child.pid();
    EXPECT_FALSE(child.wait(20));
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(Child, MovingEndsTheOldOne) {
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Child child = start("brig-role-sleep", null.get(), null.get());
  const pid_t first = child.pid();
  child = start("brig-role-sleep", null.get(), null.get());
  EXPECT_EQ(kill(first, 0), -1);
  EXPECT_EQ(kill(child.pid(), 0), 0);
  child.kill(SIGKILL);  // The child starts with every other signal blocked.
  ASSERT_TRUE(child.wait(kChildsTime));
  EXPECT_FALSE(child);
  EXPECT_TRUE(child.wait(-1)) << "one that has ended does not wait";
}

TEST(Child, TellsWhetherItEndedWellAndForgetsIt) {
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Child child = start("brig-role-exit", null.get(), null.get());
  EXPECT_FALSE(child.ended_well()) << "it has not ended";
  ASSERT_TRUE(child.wait(kChildsTime));
  EXPECT_TRUE(child.ended_well());
  child = Child();
  EXPECT_FALSE(child.ended_well()) << "the next one has not ended well because the last did";
  child = start("brig-role-sleep", null.get(), null.get());
  child.kill(SIGKILL);
  ASSERT_TRUE(child.wait(kChildsTime));
  EXPECT_FALSE(child.ended_well());
}

TEST(Child, AHostThatWaitsForAnyChildTakesNothingAway) {
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Child child = start("brig-role-exit", null.get(), null.get());
  pid_t taken = 0;
  for (int i = 0; i < 1500 && taken <= 0; ++i) {
    usleep(10'000);
    taken = waitpid(-1, nullptr, WNOHANG);
  }
  EXPECT_EQ(taken, child.pid());
  EXPECT_TRUE(child.wait(kChildsTime));
}

}  // namespace
}  // namespace brig
