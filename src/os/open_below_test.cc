#include "os/open_below.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/fd.h"

namespace brig {
namespace {

namespace fs = std::filesystem;

class OpenBelowTest : public testing::Test {
 protected:
  OpenBelowTest() {
    std::string name = (fs::temp_directory_path() / "brig-below.XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
    root_ = fs::canonical(name).string();
    fs::create_directories(root_ + "/dir/sub");
    std::ofstream(root_ + "/dir/sub/file") << "text";
    fs::create_symlink("dir", root_ + "/to_dir");
    fs::create_symlink("sub/file", root_ + "/dir/to_file");
    fs::create_symlink(root_ + "/dir", root_ + "/dir/absolute");
    fs::create_symlink("nowhere", root_ + "/dangling");
    dir_ = UniqueFd(open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~OpenBelowTest() override { fs::remove_all(root_); }

  std::string root_;
  UniqueFd dir_;
};

// The inode, or -errno.
long result(int fd) {
  if (fd < 0) return -errno;
  const UniqueFd owner(fd);
  struct stat info {};
  EXPECT_EQ(fstat(fd, &info), 0);
  EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
  return static_cast<long>(info.st_ino);
}

TEST_F(OpenBelowTest, AWalkFindsWhatOpenat2Finds) {
  const std::string long_name(256, 'x');
  for (const int flags :
       {O_PATH, O_PATH | O_DIRECTORY, O_RDONLY | O_NONBLOCK, O_RDONLY | O_DIRECTORY,
        O_RDONLY | O_NOFOLLOW, O_PATH | O_NOFOLLOW, O_PATH | O_NOFOLLOW | O_DIRECTORY}) {
    for (const std::string& path :
         {std::string("."), std::string("dir"), std::string("dir/sub"), std::string("dir/sub/file"),
          std::string("to_dir/sub"), std::string("to_dir"), std::string("dir/to_file"),
          std::string("dir/absolute/sub"), std::string("dangling"), std::string("missing/file"),
          std::string("dir/missing"), std::string("dir/sub/file/below"), std::string("dir//sub"),
          std::string("../"), long_name, "dir/" + long_name}) {
      for (const bool one_device : {false, true}) {
        const OpenBelow how{flags, one_device};
        EXPECT_EQ(result(beneath::walk(dir_.get(), path.c_str(), how)),
                  result(open_below(dir_.get(), path.c_str(), how)))
            << path << " " << flags;
        if (path == "." || path == "../") continue;
        const std::string whole = root_ + "/" + path;
        if (one_device) continue;  // the way to it may lie on several
        EXPECT_EQ(result(beneath::walk(AT_FDCWD, whole.c_str(), how)),
                  result(open_below(AT_FDCWD, whole.c_str(), how)))
            << whole << " " << flags;
      }
    }
  }
}

TEST_F(OpenBelowTest, AWalkRefusesSymlinksAndTheWayUp) {
  const auto walk = [&](const char* path) { return result(beneath::walk(dir_.get(), path, {})); };
  EXPECT_GT(walk("dir/sub/file"), 0);
  EXPECT_EQ(walk("to_dir/sub/file"), -ELOOP);
  EXPECT_EQ(walk("dir/to_file"), -ELOOP);
  EXPECT_EQ(walk("dir/../dir"), -EXDEV);
  EXPECT_EQ(walk(".."), -EXDEV);
}

TEST_F(OpenBelowTest, AWalkStaysOnOneDevice) {
  const UniqueFd slash(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_GT(result(beneath::walk(slash.get(), "proc", {O_PATH, false})), 0);
  EXPECT_EQ(result(beneath::walk(slash.get(), "proc", {O_PATH, true})), -EXDEV);
}

}  // namespace
}  // namespace brig
