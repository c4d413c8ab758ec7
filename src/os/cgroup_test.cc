#include "os/cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/error.h"

namespace brig {
namespace {

bool exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

CgroupLimits some_limits() {
  CgroupLimits limits;
  limits.memory = 64 << 20;
  limits.processes = 10;
  limits.count_cpu = true;
  return limits;
}

// An ordinary user may have none here. CI's root must.
#define NEEDS_CGROUPS(layout)                                                     \
  if ((layout).version == 0) {                                                    \
    ASSERT_FALSE(geteuid() == 0 && getenv("BRIG_MUST_WORK")) << (layout).why_not; \
    GTEST_SKIP() << "this user may make no cgroup here";                          \
  }

// A number that no process has (the kernel's largest is 4194304), and no other run of these tests uses.
std::string ended_pid() { return std::to_string(900'000'000 + getpid()); }

TEST(CgroupKernel, IsMadeOrSaysWhyNot) {
  const CgroupLayout layout = make_cgroups(some_limits());
  if (layout.version == 0) {
    EXPECT_FALSE(layout.why_not.empty());
    EXPECT_FALSE(layout.memory || layout.pids || layout.cpu || layout.cpuacct);
    EXPECT_TRUE(layout.hierarchies.empty());
    return;
  }
  for (const CgroupHierarchy& tree : layout.hierarchies)
    EXPECT_TRUE(exists(tree.base)) << tree.base;
}

TEST(CgroupKernel, GoesWithItsOwner) {
  std::vector<std::string> bases;
  {
    const CgroupLayout layout = make_cgroups(some_limits());
    NEEDS_CGROUPS(layout);
    for (const CgroupHierarchy& tree : layout.hierarchies) bases.push_back(tree.base);
  }
  for (const std::string& base : bases) EXPECT_FALSE(exists(base)) << base;
}

TEST(CgroupKernel, GoesWhenItIsReplaced) {
  CgroupLayout layout = make_cgroups(some_limits());
  NEEDS_CGROUPS(layout);
  std::vector<std::string> bases;
  for (const CgroupHierarchy& tree : layout.hierarchies) bases.push_back(tree.base);
  layout = CgroupLayout();
  for (const std::string& base : bases) {
    EXPECT_FALSE(exists(base)) << base << ": assigning over a layout must remove what it owned";
    rmdir(base.c_str());
  }
}

TEST(CgroupKernel, OfAnotherIsRemovedOnlyIfThatHasSurelyEnded) {
  CgroupLayout layout = make_cgroups(some_limits());
  NEEDS_CGROUPS(layout);
  // "brig-<namespace>-<pid>-<start time>-<number>"
  const std::string base = layout.hierarchies[0].base;
  std::string prefix = base;
  for (int i = 0; i < 3; ++i) prefix.resize(prefix.rfind('-'));
  const std::string self = prefix + "-" + std::to_string(getpid());
  const std::string ended = prefix + "-" + ended_pid() + "-1-0", reused = self + "-1-0",
                    unknown = self + "--0";
  for (const std::string& each : {ended, reused, unknown}) ASSERT_EQ(mkdir(each.c_str(), 0755), 0);
  const CgroupLayout second = make_cgroups(some_limits());
  EXPECT_FALSE(exists(ended));
  EXPECT_FALSE(exists(reused)) << "by another process with that number";
  EXPECT_TRUE(exists(unknown));
  EXPECT_TRUE(exists(base));
  rmdir(unknown.c_str());
}

TEST(CgroupKernel, StaysWhenItWasReleased) {
  std::vector<std::string> bases;
  {
    CgroupLayout layout = make_cgroups(some_limits());
    NEEDS_CGROUPS(layout);
    for (const CgroupHierarchy& tree : layout.hierarchies) bases.push_back(tree.base);
    layout.release();
  }
  for (const std::string& base : bases) {
    EXPECT_TRUE(exists(base)) << base;
    rmdir(base.c_str());
  }
}

TEST(CgroupKernel, MovedHasOneOwner) {
  CgroupLayout first = make_cgroups(some_limits());
  NEEDS_CGROUPS(first);
  const auto hierarchies = first.hierarchies;
  CgroupLayout second = std::move(first);
  for (const CgroupHierarchy& tree : hierarchies) EXPECT_TRUE(exists(tree.base));
  { const CgroupLayout third = std::move(second); }
  for (const CgroupHierarchy& tree : hierarchies) EXPECT_FALSE(exists(tree.base)) << tree.base;
}

TEST(CgroupKernel, NamesDoNotCollide) {
  const CgroupLayout first = make_cgroups(some_limits()), second = make_cgroups(some_limits());
  NEEDS_CGROUPS(first);
  for (const CgroupHierarchy& a : first.hierarchies)
    for (const CgroupHierarchy& b : second.hierarchies) EXPECT_NE(a.base, b.base);
}

TEST(CgroupKernel, ASlotNeedsTheFilesThatWerePromised) {
  const CgroupLayout layout = make_cgroups(some_limits());
  NEEDS_CGROUPS(layout);
  EXPECT_THROW(SlotCgroup(layout, 77, 0), Error);
}

// A process that nobody has reaped yet keeps its cgroup in use: under load such a one was left until the Runner ended.
TEST(CgroupKernel, AnOlderGenerationThatIsInUseIsRemovedLater) {
  const CgroupLayout layout = make_cgroups(some_limits());
  NEEDS_CGROUPS(layout);
  std::string in_use;
  for (const CgroupHierarchy& tree : layout.hierarchies)
    for (const char* name : {"/0", "/0.1", "/0.2"})
      if (name[2] == '\0' || tree.has_pids) {
        ASSERT_TRUE(std::filesystem::create_directory(tree.base + name));
        if (tree.has_pids && name[2] == '\0') in_use = tree.base + name;
      }
  ASSERT_TRUE(std::filesystem::create_directory(in_use + "/busy"));
  SlotCgroup first(layout, 0, 0), second(layout, 0, 1), third(layout, 0, 2);
  second.follow(first);
  second.remove_older();
  EXPECT_TRUE(std::filesystem::exists(in_use));
  third.follow(second);
  std::filesystem::remove(in_use + "/busy");
  third.remove_older();
  EXPECT_FALSE(std::filesystem::exists(in_use));
  EXPECT_TRUE(third.remove());
}

TEST(CgroupKernel, ASlotCountsItsOwnTime) {
  const CgroupLayout layout = make_cgroups(some_limits());
  NEEDS_CGROUPS(layout);
  for (const CgroupHierarchy& tree : layout.hierarchies) {
    ASSERT_EQ(mkdir((tree.base + "/0").c_str(), 0755), 0);
    for (const auto& setting : tree.settings) {
      std::ofstream file(tree.base + "/0/" + setting.file);
      file << setting.value << std::flush;
      EXPECT_TRUE(file.good() || setting.optional) << setting.file;
    }
  }
  SlotCgroup slot(layout, 0, 0);
  slot.begin();
  EXPECT_LT(slot.cpu_micros().value_or(0), 1000u);
  const CgroupUsage usage = slot.end();
  EXPECT_EQ(usage.oom_kills, 0u);
  EXPECT_EQ(usage.fork_failures, 0u);
  EXPECT_LT(usage.memory_peak.value_or(0), 1u << 20);
  EXPECT_TRUE(slot.remove());
  EXPECT_TRUE(slot.remove()) << "once more is harmless";
  for (const CgroupHierarchy& tree : layout.hierarchies) EXPECT_FALSE(exists(tree.base + "/0"));
}

// A single cell's cgroup is the base itself, and it is ready to be entered.
TEST(CgroupKernel, ASingleOneCanBeEnteredByWhoWritesZero) {
  CgroupLimits limits = some_limits();
  limits.single = true;
  const CgroupLayout layout = make_cgroups(limits);
  NEEDS_CGROUPS(layout);
  SlotCgroup slot(layout, 0, 0);
  slot.begin();
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    for (const CgroupHierarchy& tree : layout.hierarchies) {
      const int fd = open((tree.base + "/" + tree.entrance).c_str(), O_WRONLY | O_CLOEXEC);
      if (write(fd, "0", 1) != 1) _exit(1);
    }
    for (int i = 0; i < 20; ++i)
      if (fork() == 0) {  // more than the limit, and all there until the last has been tried
        close(ends[1]);
        char byte;
        (void)!read(ends[0], &byte, 1);
        _exit(0);
      }
    close(ends[1]);
    while (waitpid(-1, nullptr, 0) > 0) {
    }
    _exit(0);
  }
  close(ends[1]);
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  close(ends[0]);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(slot.end().processes_peak.value_or(limits.processes), limits.processes);
}

// What a killed brig left is removed by the next one; what belongs to the living is not.
TEST(CgroupKernel, SweepsOnlyTheDead) {
  CgroupLayout mine = make_cgroups(some_limits());
  NEEDS_CGROUPS(mine);
  struct stat info {};
  ASSERT_EQ(stat("/proc/self/ns/pid", &info), 0);
  std::vector<std::string> dead;
  for (const CgroupHierarchy& tree : mine.hierarchies) {
    const std::string parent = tree.base.substr(0, tree.base.rfind('/'));
    dead.push_back(parent + "/brig-" + std::to_string(info.st_ino) + "-" + ended_pid() + "-1-0");
    ASSERT_EQ(mkdir(dead.back().c_str(), 0755), 0);
    // Any brig that starts on this machine sweeps: it may be gone already.
    ASSERT_TRUE(mkdir((dead.back() + "/0").c_str(), 0755) == 0 || errno == ENOENT);
  }
  const CgroupLayout next = make_cgroups(some_limits());
  for (const std::string& path : dead) EXPECT_FALSE(exists(path)) << path;
  for (const CgroupHierarchy& tree : mine.hierarchies) EXPECT_TRUE(exists(tree.base));
}

}  // namespace
}  // namespace brig
