#include "serve/service_manager.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>

namespace brig::serve {
namespace {

TEST(ServiceManager, SocketsOfAnotherProcessAreNotOurs) {
  for (const char* pid : {"1", "0", "-1", "", "x"}) {
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", "1", 1);
    EXPECT_TRUE(inherited_sockets().empty()) << pid;
    EXPECT_EQ(getenv("LISTEN_PID"), nullptr) << "children are not told";
    EXPECT_EQ(getenv("LISTEN_FDS"), nullptr);
  }
  EXPECT_TRUE(inherited_sockets().empty());
}

TEST(ServiceManager, NoneAreNone) {
  for (const char* count : {"0", "-1", "", "x"}) {
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
    setenv("LISTEN_FDS", count, 1);
    EXPECT_TRUE(inherited_sockets().empty()) << count;
  }
}

TEST(ServiceManager, IsToldByADatagram) {
  const std::string name = "brig-notify-" + std::to_string(getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM, 0));
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())),
            0);
  const timeval patience{15, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
  notify_manager("READY=1");
  char buffer[100];
  const ssize_t size = recv(fd.get(), buffer, sizeof buffer, 0);
  EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(std::max<ssize_t>(size, 0))), "READY=1");
  unsetenv("NOTIFY_SOCKET");
}

TEST(ServiceManager, WhereNobodyListensNothingHappens) {
  const auto next_descriptor = [] {
    return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)).get();
  };
  const int before = next_descriptor();
  notify_manager("READY=1");
  for (const std::string& path :
       {std::string(), std::string("relative"), std::string("/no/such"),
        "/" + std::string(200, 'x'), "@brig-none-" + std::to_string(getpid())}) {
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
    EXPECT_NO_THROW(notify_manager("READY=1")) << path;
  }
  unsetenv("NOTIFY_SOCKET");
  EXPECT_EQ(next_descriptor(), before) << "a socket was left open";
}

}  // namespace
}  // namespace brig::serve
