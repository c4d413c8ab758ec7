#include "http/listen_address.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "testing/refusal.h"
#include "testing/scratch_directory.h"

namespace brig::serve {
namespace {

std::string url(const std::string& text) { return parse_listen_address(text).url(false); }

TEST(ListenAddress, IsAnAddressAndAPortOrAPath) {
  EXPECT_EQ(url("127.0.0.1:7070"), "http://127.0.0.1:7070");
  EXPECT_EQ(url("0.0.0.0:0"), "http://0.0.0.0:0");
  EXPECT_EQ(url("localhost:65535"), "http://127.0.0.1:65535");
  EXPECT_EQ(url("[::1]:7070"), "http://[::1]:7070");
  EXPECT_EQ(url("[0:0:0:0:0:0:0:1]:7070"), "http://[::1]:7070");
  EXPECT_EQ(url("unix:/run/brig.sock"), "unix:/run/brig.sock");
  EXPECT_EQ(parse_listen_address("127.0.0.1:443").url(true), "https://127.0.0.1:443");
}

TEST(ListenAddress, ThatCouldMeanSeveralThingsIsRefused) {
  for (const char* text :
       {"", ":", ":7070", "7070", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000",
        "127.0.0.1:-1", "127.0.0.1: 80", "127.0.0.1:80x", "example.org:80", "::1:7070",
        "[127.0.0.1]:80", "[::1]", "[]:80", "127.1:80", "unix:", "http://127.0.0.1:80"})
    EXPECT_TRUE(contains(refusal([&] { parse_listen_address(text); }), "--listen")) << text;
}

TEST(ListenAddress, OfThisMachineAloneIsLocal) {
  for (const char* text : {"127.0.0.1:1", "127.9.9.9:1", "localhost:1", "[::1]:1", "unix:/x"})
    EXPECT_TRUE(parse_listen_address(text).is_local()) << text;
  for (const char* text :
       {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "[::ffff:127.0.0.1]:1", "[fe80::1]:1", "128.0.0.1:1"})
    EXPECT_FALSE(parse_listen_address(text).is_local()) << text;
}

TEST(ListenAddress, PortZeroIsOneThatIsFree) {
  ListenAddress first = parse_listen_address("127.0.0.1:0"), second = first;
  const UniqueFd a = listen_on(first), b = listen_on(second);
  EXPECT_NE(first.port, 0);
  EXPECT_NE(first.port, second.port);
  EXPECT_EQ(address_of(a).url(false), first.url(false));
}

TEST(ListenAddress, ThatIsInUseIsAnError) {
  ListenAddress address = parse_listen_address("127.0.0.1:0");
  const UniqueFd held = listen_on(address);
  EXPECT_THROW(listen_on(address), Error);
}

class ListenPath : public testing::Test {
 protected:
  UniqueFd listen() const {
    ListenAddress address = parse_listen_address("unix:" + path_);
    return listen_on(address);
  }
  bool connects() const {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::strncpy(name.sun_path, path_.c_str(), sizeof name.sun_path - 1);
    const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM, 0));
    return connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
  }
  const ScratchDirectory directory_;
  std::string path_ = directory_ / "s";
};

TEST_F(ListenPath, IsForItsOwnerAlone) {
  const mode_t before = umask(0);
  const UniqueFd fd = listen();
  umask(before);
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_TRUE(connects());
  EXPECT_EQ(address_of(fd).unix_path, path_);
}

TEST_F(ListenPath, ThatNobodyServesAnyMoreIsReplaced) {
  { const UniqueFd gone = listen(); }
  ASSERT_TRUE(std::filesystem::exists(path_));
  ASSERT_FALSE(connects());
  const UniqueFd fd = listen();
  EXPECT_TRUE(connects());
}

TEST_F(ListenPath, ThatIsServedIsNotTaken) {
  const UniqueFd first = listen();
  EXPECT_TRUE(contains(refusal([&] { listen(); }), "another server"));
  EXPECT_TRUE(connects());
}

TEST_F(ListenPath, ThatIsNoSocketIsLeftAlone) {
  std::ofstream(path_) << "precious";
  EXPECT_TRUE(contains(refusal([&] { listen(); }), "not a socket"));
  EXPECT_EQ(std::filesystem::file_size(path_), 8u);
}

TEST_F(ListenPath, ThatIsALinkIsNotFollowed) {
  const std::string target = directory_ / "target";
  std::ofstream(target) << "precious";
  std::filesystem::create_symlink(target, path_);
  EXPECT_NE(refusal([&] { listen(); }), "");
  EXPECT_EQ(std::filesystem::file_size(target), 8u);
}

TEST_F(ListenPath, ThatIsTooLongIsRefused) {
  path_ = directory_ / std::string(200, 'x');
  EXPECT_TRUE(contains(refusal([&] { listen(); }), "longer than"));
}

}  // namespace
}  // namespace brig::serve
