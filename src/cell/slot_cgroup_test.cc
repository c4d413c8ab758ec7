#include "cell/slot_cgroup.h"

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
#include "testing/cgroup_limits.h"

namespace brig {
namespace {

TEST(SlotCgroupKernel, ASlotNeedsTheFilesThatWerePromised) {
  const CgroupLayout layout = make_cgroups(some_limits());
  NEEDS_CGROUPS(layout);
  EXPECT_THROW(SlotCgroup(layout, 77, 0), Error);
}

// A process that nobody has reaped yet keeps its cgroup in use. Under load, such a cgroup once
// stayed until the Runner ended.
TEST(SlotCgroupKernel, AnOlderGenerationThatIsInUseIsRemovedLater) {
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

TEST(SlotCgroupKernel, ASlotCountsItsOwnTime) {
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
  slot.begin(0);
  EXPECT_LT(slot.cpu_micros().value_or(0), 1000u);
  const CgroupUsage usage = slot.end();
  EXPECT_EQ(usage.oom_kills, 0u);
  EXPECT_EQ(usage.fork_failures, 0u);
  EXPECT_LT(usage.memory_peak.value_or(0), 1u << 20);
  EXPECT_TRUE(slot.remove());
  EXPECT_TRUE(slot.remove()) << "once more is harmless";
  for (const CgroupHierarchy& tree : layout.hierarchies) EXPECT_FALSE(exists(tree.base + "/0"));
}

// The cgroup of a single cell is the base itself, ready to be entered.
TEST(SlotCgroupKernel, ASingleOneCanBeEnteredByWhoWritesZero) {
  CgroupLimits limits = some_limits();
  limits.single = true;
  const CgroupLayout layout = make_cgroups(limits);
  NEEDS_CGROUPS(layout);
  SlotCgroup slot(layout, 0, 0);
  slot.begin(0);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    for (const CgroupHierarchy& tree : layout.hierarchies) {
      const int fd = open((tree.base + "/" + tree.entrance).c_str(), O_WRONLY | O_CLOEXEC);
      if (write(fd, "0", 1) != 1) _exit(1);
    }
    for (int i = 0; i < 20; ++i)
      // More than the limit, and all of them stay until the last one was tried.
      if (fork() == 0) {
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

// Version 1 has a limit for memory with swap, and one for buffers of sockets. A call that asked for
// less once still had all of the latter.
TEST(SlotCgroupKernel, EveryLimitOfMemoryIsNarrowedAndWidenedAgain) {
  const CgroupLayout layout = make_cgroups(some_limits());
  NEEDS_CGROUPS(layout);
  std::vector<std::string> files;
  for (const CgroupHierarchy& tree : layout.hierarchies) {
    ASSERT_EQ(mkdir((tree.base + "/0").c_str(), 0755), 0);
    for (const auto& setting : tree.settings) {
      std::ofstream(tree.base + "/0/" + setting.file) << setting.value;
      if (setting.value == std::to_string(64 << 20))
        files.push_back(tree.base + "/0/" + setting.file);
    }
  }
  std::erase_if(files, [](const std::string& file) { return !exists(file); });
  ASSERT_FALSE(files.empty());
  const auto expect = [&](unsigned long limit) {
    for (const std::string& file : files) {
      unsigned long found = 0;
      std::ifstream(file) >> found;
      EXPECT_EQ(found, limit) << file;
    }
  };
  SlotCgroup slot(layout, 0, 0);
  expect(64 << 20);
  for (const unsigned long limit : {16ul << 20, 8ul << 20, 32ul << 20}) {
    EXPECT_TRUE(slot.narrow(limit, 5));
    expect(limit);
  }
  EXPECT_TRUE(slot.widen());
  expect(64 << 20);
  EXPECT_TRUE(slot.narrow(16 << 20, {}));
  EXPECT_TRUE(slot.remove());
  EXPECT_FALSE(slot.widen()) << "there is nothing to be written to";
}

}  // namespace
}  // namespace brig
