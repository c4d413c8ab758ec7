#include "cell/root_layout.h"

#include <brig/error.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace brig {
namespace {

const LayoutStep* find(const RootLayout& layout, RootOp op, const std::string& target) {
  const auto found = std::find_if(layout.steps.begin(), layout.steps.end(), [&](const auto& step) {
    return step.op == op && step.target == target;
  });
  return found == layout.steps.end() ? nullptr : &*found;
}

std::size_t position(const RootLayout& layout, RootOp op, const std::string& target) {
  const LayoutStep* step = find(layout, op, target);
  return step ? static_cast<std::size_t>(step - layout.steps.data()) : layout.steps.size();
}

class Layout : public ::testing::Test {
 protected:
  Layout() {
    char name[] = "/var/tmp/brig-layout-XXXXXX";
    base_ = mkdtemp(name);
    std::filesystem::create_directories(base_ + "/home/ana/project/secret");
    std::filesystem::create_directories(base_ + "/data/inner");
  }
  ~Layout() override { std::filesystem::remove_all(base_); }

  std::string base_;
};

TEST_F(Layout, NothingOfTheHostsHomeOrEtcIsThereByDefault) {
  const RootLayout layout = root_layout({}, "/home/ana", false);
  for (const LayoutStep& step : layout.steps) {
    if (step.op != RootOp::bind && step.op != RootOp::copy) continue;
    EXPECT_FALSE(step.source.starts_with("/home")) << step.source;
    EXPECT_FALSE(step.source.starts_with("/root")) << step.source;
    EXPECT_NE(step.source, "/etc");
    EXPECT_NE(step.source, "/etc/passwd");
    EXPECT_EQ(step.flags & kBindWritable, 0u) << step.source;
  }
  EXPECT_NE(find(layout, RootOp::file, "/etc/passwd"), nullptr);
}

TEST_F(Layout, TheCellsAccountsAreItsUserRootAndNobody) {
  const auto accounts = [](std::optional<std::uint32_t> user) {
    Policy policy;
    policy.user = user;
    const RootLayout layout = root_layout(policy, "/home/ana", false);
    return find(layout, RootOp::file, "/etc/passwd")->source + "--\n" +
           find(layout, RootOp::file, "/etc/group")->source;
  };
  const std::string nobody = "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n--\nroot:x:0:\n";
  EXPECT_EQ(accounts({}),
            "root:x:0:0:root:/:/usr/sbin/nologin\nbrig:x:1000:1000:brig:/home/ana:/bin/sh\n" +
                nobody + "brig:x:1000:\nnogroup:x:65534:\n");
  EXPECT_EQ(accounts(77),
            "root:x:0:0:root:/:/usr/sbin/nologin\nbrig:x:77:77:brig:/home/ana:/bin/sh\n" + nobody +
                "brig:x:77:\nnogroup:x:65534:\n");
  EXPECT_EQ(accounts(0),
            "root:x:0:0:root:/home/ana:/bin/sh\nbrig:x:1000:1000:brig:/home/ana:/bin/sh\n" +
                nobody + "brig:x:1000:\nnogroup:x:65534:\n");
}

TEST_F(Layout, AFileThatIsHeldIsWrittenAndNotMounted) {
  Policy policy;
  policy.files.read = {base_ + "/data", "/tmp/tools.so"};
  const RootLayout layout =
      root_layout(policy, "/home/ana", false, true, {"/other", "/tmp/tools.so"});
  EXPECT_NE(find(layout, RootOp::bind, base_ + "/data"), nullptr);
  EXPECT_EQ(find(layout, RootOp::bind, "/tmp/tools.so"), nullptr);
  // Below a scratch part: kept aside once, and put in place by the process that needs it there.
  EXPECT_EQ(find(layout, RootOp::held, "/tmp/tools.so"), nullptr);
  const LayoutStep* step = find(layout, RootOp::held, std::string(kAside) + "/0");
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->mode, 1u);
  ASSERT_EQ(layout.late.size(), 1u);
  EXPECT_EQ(layout.late[0].second, "/tmp/tools.so");
}

TEST_F(Layout, NoFileOfEtcThatMayHoldASecretIsThere) {
  const RootLayout layout = root_layout({}, "/home/ana", false);
  for (const LayoutStep& step : layout.steps) {
    if (step.op != RootOp::bind && step.op != RootOp::copy) continue;
    // Neither these files nor a directory above them.
    for (const std::string secret :
         {"/etc/environment", "/etc/maven/settings.xml", "/etc/gitconfig", "/etc/npmrc",
          "/etc/pip.conf", "/etc/ssl/private/key.pem", "/etc/shadow"})
      EXPECT_FALSE(secret == step.source || secret.starts_with(step.source + "/")) << step.source;
  }
}

// libgit2 before 1.6, which Debian's cargo has, takes "*" for a name.
TEST_F(Layout, AsRootGitsSettingsNameTheRepositoriesThatAreListedAndThoseOfCargosCache) {
  const std::string cargo = base_ + "/.cargo";
  for (const char* repository :
       {"/git/db/a-1", "/git/db/b-2", "/git/db/private", "/git/db/a\"]\\", "/git/db/a\nb = c"})
    for (const char* part : {"/objects", "/HEAD"})
      std::filesystem::create_directories(cargo + repository + part);
  for (const char* directory : {"/.cargo/git/db/empty", "/.cargo/git/checkouts/a-1/0123abc/.git",
                                "/.cargo/registry/index/x-3/.git", "/data/.git", "/home/.git"})
    std::filesystem::create_directories(base_ + directory);
  std::filesystem::create_directory_symlink(cargo + "/git/db/a-1", cargo + "/git/db/link");
  ASSERT_EQ(chmod((cargo + "/git/db/private").c_str(), 0700), 0);
  ASSERT_EQ(chmod(base_.c_str(), 0755), 0);
  Policy policy;
  policy.files.read = {cargo + "/git", cargo + "/registry", base_ + "/data:/srv/data"};
  policy.files.write = {base_ + "/home"};
  policy.files.hide = {cargo + "/git/db/b-2"};
  const auto settings = [&] {
    return find(root_layout(policy, "/home/ana", true), RootOp::file, "/etc/gitconfig")->source;
  };
  const auto line = [](const std::string& place) { return "\tdirectory = \"" + place + "\"\n"; };
  const std::string all = "[safe]\n\tdirectory = *\n";
  const std::string of_git = line(cargo + "/git/db/a\\\"]\\\\") + line(cargo + "/git/db/a-1") +
                             line(cargo + "/git/checkouts/a-1/0123abc");
  const std::string of_registry = line(cargo + "/registry/index/x-3");
  EXPECT_EQ(settings(), all + line("/srv/data") + of_git + of_registry);
  // Another list may be nearer.
  policy.files.read = {cargo, base_ + "/data:" + cargo + "/git"};
  EXPECT_EQ(settings(), all + of_registry + line(cargo + "/git"));
  policy.files.read = {cargo + "/registry"};
  ASSERT_EQ(chmod((cargo + "/registry/index").c_str(), 0711), 0);
  EXPECT_EQ(settings(), all) << "its names are not for strangers";
  EXPECT_EQ(find(root_layout(policy, "/home/ana", false), RootOp::file, "/etc/gitconfig"), nullptr);
}

TEST_F(Layout, ALongListOfRepositoriesDoesNotFillTheCellsRoot) {
  const std::string part = "/" + std::string(250, 'x');
  const std::string git = base_ + part + part + part + "/git";
  for (int i = 100; i < 400; ++i)
    std::filesystem::create_directories(fmt::format("{}/db{}{}/.git", git, part, i));
  ASSERT_EQ(chmod(base_.c_str(), 0755), 0);
  Policy policy;
  policy.files.read = {git};
  const RootLayout layout = root_layout(policy, "/home/ana", true);
  const std::string& text = find(layout, RootOp::file, "/etc/gitconfig")->source;
  EXPECT_GT(text.size(), 250u << 10);
  EXPECT_LE(text.size(), 256u << 10);
  EXPECT_TRUE(text.ends_with("\"\n"));
}

TEST_F(Layout, ALinkThatIsSwappedInAfterTheCheckIsNotFollowed) {
  std::filesystem::create_directory_symlink(base_ + "/data", base_ + "/link");
  Policy write, root;
  write.files.write = {base_ + "/link"};
  EXPECT_THROW(root_layout(write, "/home/ana", true), Error);
  write.files.write = {base_ + "/link/inner"};
  EXPECT_THROW(root_layout(write, "/home/ana", true), Error);
  root.files.root = base_ + "/link";
  EXPECT_THROW(root_layout(root, "/home/ana", false), Error);
}

TEST_F(Layout, OnlySystemPathsOfTheHostMayBeLinks) {
  Policy policy;
  policy.files.root = base_;
  policy.files.read = {base_ + "/data"};
  for (const LayoutStep& step : root_layout(policy, "/home/ana", false).steps)
    EXPECT_EQ(step.flags & kBindFollow, 0u) << step.source;
}

TEST_F(Layout, TheWorkspaceIsTheLastScratchPartBecauseItCoversTheStage) {
  const RootLayout layout = root_layout({}, "/home/ana", false);
  ASSERT_EQ(layout.scratch.size(), 4u);
  EXPECT_EQ(layout.scratch.back().second, kWorkspace);
}

TEST_F(Layout, APathBelowHomeIsKeptAsideAndPutOnTop) {
  Policy policy;
  policy.files.write = {base_ + "/home/ana/project"};
  const RootLayout layout = root_layout(policy, base_ + "/home/ana", false);
  ASSERT_EQ(layout.late.size(), 1u);
  EXPECT_EQ(layout.late[0].second, base_ + "/home/ana/project");
  const LayoutStep* step = find(layout, RootOp::bind, layout.late[0].first);
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->source, base_ + "/home/ana/project");
  EXPECT_EQ(step->flags, kBindWritable);
}

// So that a cell needs no name of the host's to find its place.
TEST_F(Layout, APathBelowAKeptAsideOneIsMountedWhereThatIsKept) {
  Policy policy;
  const std::string home = base_ + "/home/ana", project = home + "/project";
  policy.files.write = {project, base_ + "/data:" + project + "/a/b/data"};
  policy.files.read = {base_ + "/data/inner:" + project + "/secret"};
  for (const bool for_zygote : {false, true}) {
    const RootLayout layout = root_layout(policy, home, false, for_zygote);
    ASSERT_EQ(layout.late.size(), 1u);
    EXPECT_EQ(layout.late[0].second, project);
    const std::string& aside = layout.late[0].first;
    // What lies between the two is mounted onto itself, before what is below it.
    std::size_t last = 0;
    for (const auto& [op, target] : {std::pair{RootOp::bind, aside},
                                     {RootOp::onto_itself, aside + "/a"},
                                     {RootOp::onto_itself, aside + "/a/b"},
                                     {RootOp::bind, aside + "/a/b/data"}}) {
      const LayoutStep* step = find(layout, op, target);
      ASSERT_NE(step, nullptr) << target;
      EXPECT_EQ(step->flags, kBindWritable) << target;
      EXPECT_GT(position(layout, op, target), last) << target;
      last = position(layout, op, target);
    }
    EXPECT_EQ(find(layout, RootOp::bind, aside + "/secret")->flags, 0u);
    EXPECT_EQ(layout.needed,
              (std::vector<std::string>{project + "/a/b/data", project + "/secret"}));
  }
}

TEST_F(Layout, OnlyWhatWouldBeAnotherWithoutItsMountIsGuardedBelowAReadOnlyPath) {
  Policy policy;
  policy.files.read = {base_ + "/data", base_ + "/data/inner",
                       base_ + "/home:" + base_ + "/data/home"};
  policy.files.write = {base_ + "/home/ana:" + base_ + "/data/ana"};
  RootLayout layout = root_layout(policy, "/home/ana", false);
  EXPECT_TRUE(layout.needed.empty());
  EXPECT_EQ(layout.guards, (std::vector<std::string>{base_ + "/data/ana", base_ + "/data/home"}));
  policy.files.noexec = {base_ + "/data/inner"};
  layout = root_layout(policy, "/home/ana", false);
  EXPECT_EQ(layout.guards.size(), 3u);
}

TEST_F(Layout, AHiddenPathBelowAKeptAsideOneIsCoveredWhereItIsKept) {
  Policy policy;
  policy.files.write = {base_ + "/home/ana/project"};
  policy.files.hide = {base_ + "/home/ana/project/secret"};
  const RootLayout layout = root_layout(policy, base_ + "/home/ana", false);
  ASSERT_EQ(layout.late.size(), 1u);
  EXPECT_NE(find(layout, RootOp::cover, layout.late[0].first + "/secret"), nullptr);
}

// base_ is below /var/tmp, which is a link to the cell's own /tmp unless something is listed there.
TEST_F(Layout, WhatTheLinkOfVarTmpCoversAlreadyIsNotHiddenOnceMore) {
  Policy policy;
  policy.files.hide = {base_ + "/data", "/usr/include"};
  RootLayout layout = root_layout(policy, "/home/ana", false);
  EXPECT_NE(find(layout, RootOp::symlink, "/var/tmp"), nullptr);
  EXPECT_EQ(find(layout, RootOp::cover, base_ + "/data"), nullptr);
  EXPECT_NE(find(layout, RootOp::cover, "/usr/include"), nullptr);
  EXPECT_EQ(layout.guards, (std::vector<std::string>{"/usr/include"}));
  policy.files.read = {base_ + "/home"};
  layout = root_layout(policy, "/home/ana", false);
  EXPECT_EQ(find(layout, RootOp::symlink, "/var/tmp"), nullptr);
  EXPECT_NE(find(layout, RootOp::cover, base_ + "/data"), nullptr);
  policy.files.read = {base_ + "/data:/opt/data"};
  layout = root_layout(policy, "/home/ana", false);
  EXPECT_EQ(find(layout, RootOp::cover, base_ + "/data"), nullptr);
  EXPECT_NE(find(layout, RootOp::cover, "/opt/data"), nullptr);
}

TEST_F(Layout, AListedHomeIsTheHostsAndNotPrivate) {
  Policy policy;
  policy.files.read = {base_ + "/home"};
  const RootLayout layout = root_layout(policy, base_ + "/home/ana", false);
  for (const auto& part : layout.scratch) EXPECT_NE(part.first, "home");
  EXPECT_NE(find(layout, RootOp::bind, base_ + "/home"), nullptr);
}

TEST_F(Layout, ParentsAreMountedBeforeWhatLiesBelowThem) {
  Policy policy;
  policy.files.read = {base_ + "/data/inner/"};
  policy.files.write = {base_ + "/data"};
  const RootLayout layout = root_layout(policy, "/home/ana", false);
  EXPECT_LT(position(layout, RootOp::bind, base_ + "/data"),
            position(layout, RootOp::bind, base_ + "/data/inner"));
  EXPECT_LT(position(layout, RootOp::bind, base_ + "/data/inner"), layout.steps.size());
}

TEST_F(Layout, AsRootWritablePathsAreMappedToTheirOwnerAndReadOnesAreNot) {
  Policy policy;
  policy.files.read = {base_ + "/home"};
  policy.files.write = {base_ + "/data", base_ + "/data/inner"};
  const RootLayout layout = root_layout(policy, "/home/ana", true);
  ASSERT_EQ(layout.id_maps.size(), 1u);  // One owner, one map.
  struct stat info;
  ASSERT_EQ(stat(base_.c_str(), &info), 0);
  EXPECT_EQ(layout.id_maps[0].uid, info.st_uid);
  EXPECT_EQ(find(layout, RootOp::bind, base_ + "/data")->id_map, 0);
  EXPECT_EQ(find(layout, RootOp::bind, base_ + "/home")->id_map, -1);
}

}  // namespace
}  // namespace brig
