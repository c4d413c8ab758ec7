#include "os/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/fd.h"

namespace brig {
namespace {

struct Pair {
  UniqueFd a, b;
  Pair() {
    int ends[2];
    EXPECT_TRUE(packet_pair(ends));
    a.reset(ends[0]);
    b.reset(ends[1]);
  }
};

TEST(Packet, CarriesBytesAndDescriptors) {
  const Pair pair;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  const int fds[] = {writer.get(), reader.get()};
  ASSERT_TRUE(send_packet(pair.a.get(), "hello", 5, fds, 2));
  char text[16] = {};
  const Packet packet = recv_packet(pair.b.get(), text, sizeof text, 0);
  EXPECT_EQ(packet.size, 5);
  EXPECT_STREQ(text, "hello");
  EXPECT_FALSE(packet.cut);
  ASSERT_EQ(packet.fd_count, 2);
  EXPECT_FALSE(packet.fds[2]);
  EXPECT_EQ(fcntl(packet.fds[0].get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(fcntl(packet.fds[1].get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(write(packet.fds[0].get(), "x", 1), 1);
  EXPECT_EQ(read(reader.get(), text, 1), 1);
}

// Sends packets with 250 descriptors each, and receives none, until the kernel refuses one.
bool fill_with_descriptors(int socket) {
  constexpr std::size_t kCount = 250;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kCount)] = {};
  char byte = 0;
  iovec iov{&byte, 1};
  msghdr message{};
  message.msg_iov = &iov;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    std::memcpy(CMSG_DATA(header) + i * sizeof(int), &socket, sizeof socket);
  for (int i = 0; i < 100; ++i)
    if (sendmsg(socket, &message, MSG_DONTWAIT) < 0) return errno == ETOOMANYREFS;
  return false;
}

TEST(Packet, CarriesDescriptorsWhileItsUserHasManyInFlight) {
  const pid_t pid = fork();
  if (pid == 0) {
    // Root may send as many as it likes.
    if (geteuid() == 0 && setresuid(65533, 65533, 65533) != 0) _exit(77);
    rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < 1024) _exit(77);
    limit.rlim_cur = 64;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(77);
    const Pair full, pair;
    if (!fill_with_descriptors(full.a.get())) _exit(1);
    const int fd = full.b.get();
    if (!send_packet(pair.a.get(), "x", 1, &fd, 1)) _exit(2);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur != 64) _exit(3);
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no other user, or no room for open files";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Packet, KeepsBoundaries) {
  const Pair pair;
  ASSERT_TRUE(send_packet(pair.a.get(), "one", 3, nullptr, 0));
  ASSERT_TRUE(send_packet(pair.a.get(), "second", 6, nullptr, 0));
  char text[64];
  EXPECT_EQ(recv_packet(pair.b.get(), text, sizeof text, 0).size, 3);
  EXPECT_EQ(recv_packet(pair.b.get(), text, sizeof text, 0).size, 6);
}

TEST(Packet, TellsWhatDidNotFit) {
  const Pair pair;
  ASSERT_TRUE(send_packet(pair.a.get(), "too long", 8, nullptr, 0));
  char text[4];
  const Packet packet = recv_packet(pair.b.get(), text, sizeof text, 0);
  EXPECT_TRUE(packet.cut);
  EXPECT_EQ(packet.size, 4);
}

TEST(Packet, RefusesMoreDescriptorsThanItHasRoomFor) {
  const Pair pair;
  const int fds[kMaxPacketFds + 1] = {};
  EXPECT_FALSE(send_packet(pair.a.get(), "x", 1, fds, kMaxPacketFds + 1));
  EXPECT_EQ(errno, EINVAL);
}

TEST(Packet, LeaksNoDescriptorThatAPeerSendsTooMany) {
  const Pair pair;
  // One descriptor too many in one message, without send_packet.
  int fds[kMaxPacketFds + 1] = {};
  iovec bytes{const_cast<char*>("x"), 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fds)] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fds);
  std::copy(std::begin(fds), std::end(fds), reinterpret_cast<int*>(CMSG_DATA(header)));
  ASSERT_EQ(sendmsg(pair.a.get(), &message, 0), 1);
  const UniqueFd lowest(open("/dev/null", O_RDONLY | O_CLOEXEC));
  char byte;
  EXPECT_LE(recv_packet(pair.b.get(), &byte, 1, 0).fd_count, kMaxPacketFds);
  const UniqueFd next(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(next.get(), lowest.get() + 1) << "a descriptor stayed open";
}

TEST(Packet, ClosesWhatWasNotTakenFromIt) {
  const Pair pair;
  const int fds[] = {0, 0, 0};
  const UniqueFd lowest(open("/dev/null", O_RDONLY | O_CLOEXEC));
  UniqueFd taken;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(send_packet(pair.a.get(), "x", 1, fds, 3));
    char byte;
    Packet packet = recv_packet(pair.b.get(), &byte, 1, 0);
    ASSERT_EQ(packet.fd_count, 3);
    taken = std::move(packet.fds[1]);
  }
  EXPECT_GE(fcntl(taken.get(), F_GETFD), 0);
  taken.reset();
  const UniqueFd next(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(next.get(), lowest.get() + 1) << "a descriptor stayed open";
}

TEST(Packet, APeerThatIsGoneIsNoSignal) {
  Pair pair;
  pair.b.reset();
  EXPECT_FALSE(send_packet(pair.a.get(), "x", 1, nullptr, 0));
  EXPECT_EQ(errno, EPIPE);
  char byte;
  EXPECT_EQ(recv_packet(pair.a.get(), &byte, 1, 0).size, 0);
}

// A peer that closes with an unread packet resets the connection, and the kernel reports that
// first.
TEST(Packet, LastWordsAreHeardOfAPeerThatDidNotReadAll) {
  for (const bool with_descriptors : {true, false}) {
    Pair pair;
    ASSERT_TRUE(send_packet(pair.a.get(), "never read", 10, nullptr, 0));
    ASSERT_TRUE(send_packet(pair.b.get(), "bye", 3, nullptr, 0));
    pair.b.reset();
    char text[16] = {};
    EXPECT_EQ(with_descriptors ? recv_packet(pair.a.get(), text, sizeof text, 0).size
                               : recv_bytes(pair.a.get(), text, sizeof text, 0),
              3);
    EXPECT_STREQ(text, "bye");
    EXPECT_EQ(recv_bytes(pair.a.get(), text, sizeof text, 0), 0);
  }
}

TEST(Packet, BytesAloneDropDescriptors) {
  const Pair pair;
  const int fds[] = {0};
  ASSERT_TRUE(send_packet(pair.a.get(), "x", 1, fds, 1));
  const UniqueFd lowest(open("/dev/null", O_RDONLY | O_CLOEXEC));
  char byte;
  EXPECT_EQ(recv_bytes(pair.b.get(), &byte, 1, 0), 1);
  const UniqueFd next(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(next.get(), lowest.get() + 1) << "a descriptor was let in";
}

TEST(Packet, NothingToReadIsAnErrorOnlyIfAskedNotToWait) {
  const Pair pair;
  char byte;
  const Packet packet = recv_packet(pair.a.get(), &byte, 1, MSG_DONTWAIT);
  EXPECT_EQ(packet.size, -1);
  EXPECT_EQ(errno, EAGAIN);
}

}  // namespace
}  // namespace brig
