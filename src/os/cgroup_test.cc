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
#include "testing/cgroup_limits.h"

namespace brig {
namespace {

// A number that no process has (the kernel's largest is 4194304) and that no other run of these
// tests uses.
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

// The next brig removes what a killed one has left, and leaves alone what belongs to a living one.
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
    // Any brig that starts on this machine sweeps, so it may be gone already.
    ASSERT_TRUE(mkdir((dead.back() + "/0").c_str(), 0755) == 0 || errno == ENOENT);
  }
  const CgroupLayout next = make_cgroups(some_limits());
  for (const std::string& path : dead) EXPECT_FALSE(exists(path)) << path;
  for (const CgroupHierarchy& tree : mine.hierarchies) EXPECT_TRUE(exists(tree.base));
}

}  // namespace
}  // namespace brig
