#include "cell/workspace.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace brig {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

class WorkspaceOf : public testing::Test {
 protected:
  WorkspaceOf() {
    std::string path = testing::TempDir() + "/brig-workspace-XXXXXX";
    if (!mkdtemp(path.data())) throw std::runtime_error("mkdtemp");
    outside_ = path;
    top_ = outside_ / "top";
    fs::create_directory(top_);
    write(outside_ / "secret", "secret");
  }
  ~WorkspaceOf() override {
    std::error_code ignored;
    fs::permissions(top_, fs::perms::owner_all, ignored);
    fs::remove_all(outside_, ignored);
  }
  static void write(const fs::path& path, std::string_view bytes = "x") {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  Workspace look() const {
    return Workspace(UniqueFd(open(top_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), {});
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> list;
    for (const Workspace::File& file : look().files(steady_clock::time_point::max()))
      list.push_back(file.path);
    return list;
  }
  std::optional<std::string> read(const std::string& path, std::size_t most = 100) const {
    return look().read(path, most);
  }
  using Paths = std::vector<std::string>;
  fs::path outside_, top_;
};

TEST_F(WorkspaceOf, ListsRegularFilesByPathWithTheirSize) {
  write(top_ / "b", "12345");
  write(top_ / "a/deep/er", "");
  fs::create_directory(top_ / "empty");
  EXPECT_EQ(paths(), (Paths{"a/deep/er", "b"}));
  EXPECT_EQ(look().files(steady_clock::time_point::max())[1].size, 5u);
  EXPECT_EQ(read("b"), "12345");
  EXPECT_EQ(read("b", 2), "12");
  EXPECT_EQ(read("a/deep/er"), "");
}

TEST_F(WorkspaceOf, FollowsNoLink) {
  fs::create_symlink(outside_ / "secret", top_ / "file");
  fs::create_symlink(outside_, top_ / "directory");
  fs::create_symlink("..", top_ / "up");
  fs::create_symlink("/proc/self/root", top_ / "root");
  write(top_ / "own");
  EXPECT_EQ(paths(), Paths{"own"});
  for (const char* path : {"file", "directory/secret", "up/secret", "root/etc/passwd", "../secret",
                           "/etc/passwd", "up/top/own", "", "."})
    EXPECT_FALSE(read(path)) << path;
}

TEST_F(WorkspaceOf, OpensNothingThatCouldHoldItUp) {
  ASSERT_EQ(mkfifo((top_ / "x.png").c_str(), 0600), 0);
  EXPECT_EQ(paths(), Paths{});
  EXPECT_FALSE(read("x.png"));
}

TEST_F(WorkspaceOf, TakesNothingThatTheToolCouldNotRead) {
  write(top_ / "closed");
  write(top_ / "closed_directory/x");
  ASSERT_EQ(chmod((top_ / "closed").c_str(), 0), 0);
  ASSERT_EQ(chmod((top_ / "closed_directory").c_str(), 0600), 0);
  EXPECT_EQ(paths(), Paths{});
  EXPECT_FALSE(read("closed"));
  ASSERT_EQ(chmod((top_ / "closed_directory").c_str(), 0700), 0);
  if (geteuid() != 0) GTEST_SKIP() << "only root has files of two owners";
  write(top_ / "of_another");
  ASSERT_EQ(chown((top_ / "of_another").c_str(), 12345, 12345), 0);
  EXPECT_EQ(paths(), Paths{"closed_directory/x"});
  EXPECT_FALSE(read("of_another"));
}

TEST_F(WorkspaceOf, NamesMayBeAnythingButAreText) {
  write(top_ / "line\nbreak\x1b[31m");
  write(top_ / "not\xff text");
  EXPECT_EQ(paths(), Paths{"line\nbreak\x1b[31m"});
}

TEST_F(WorkspaceOf, IsBoundedInCountDepthAndTime) {
  for (std::size_t i = 0; i < Workspace::kMostSeen + 100; ++i)
    write(top_ / ("f" + std::to_string(i)), "");
  EXPECT_EQ(paths().size(), Workspace::kMostSeen);
  EXPECT_TRUE(look().files(steady_clock::now()).empty());
  fs::remove_all(top_);
  fs::path deep = top_;
  for (unsigned i = 0; i < Workspace::kMostDepth; ++i) deep /= "d";
  write(deep / "seen");
  write(deep / "d/not seen");
  EXPECT_EQ(paths(), Paths{(deep / "seen").lexically_relative(top_)});
}

TEST_F(WorkspaceOf, LetsGoOfTheDirectoryBeforeItSaysSo) {
  UniqueFd directory(open(top_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const int number = directory.get();
  bool done = false;
  {
    const Workspace look(std::move(directory), [&] {
      done = true;
      EXPECT_EQ(fcntl(number, F_GETFD), -1);
    });
    EXPECT_FALSE(done);
  }
  EXPECT_TRUE(done);
}

TEST_F(WorkspaceOf, MustBeADirectoryOfATmpfsWhereThereAreMounts) {
  const UniqueFd none, file(open((outside_ / "secret").c_str(), O_PATH | O_CLOEXEC)),
      proc(open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC)),
      memory(open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC));
  EXPECT_FALSE(is_workspace(none, false) || is_workspace(file, false) || is_workspace(proc, true));
  EXPECT_TRUE(is_workspace(proc, false));
  if (memory) {
    EXPECT_TRUE(is_workspace(memory, true));
  }
}

}  // namespace
}  // namespace brig
