#include "cell/warden.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>

#include "os/socket.h"
#include "os/sys.h"
#include "wire/wire.h"

namespace brig {
namespace {

using wire::Message;
using wire::Tag;

constexpr int kFromHost = 3;  // The number that a copy of the host has it at.
constexpr unsigned kSlots = 40;

long open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

void send_crowded(int socket, Message message, Tag tag) {
  int fds[kMaxPacketFds];
  for (int& fd : fds) fd = 0;
  message.tag = tag;
  send_packet(socket, &message, sizeof message, fds, kMaxPacketFds);
}

// A hostile janitor with its keepers: every packet carries as many descriptors as possible.
[[noreturn]] void crowding_janitor(int host) {
  Message message{};
  for (unsigned slots = 0; slots < kSlots;) {
    Packet asked = recv_packet(host, &message, sizeof message, 0);
    if (asked.size <= 0) _exit(0);
    if (message.tag != Tag::grow) continue;
    int cell[2];  // Stays open: copies of what the host has.
    if (!packet_pair(cell)) _exit(1);
    const int made[] = {0, cell[0]};
    switch (slots++ % 4) {
      case 0: send_crowded(asked.fds[0].get(), message, Tag::cell_made); break;
      case 1: send_crowded(asked.fds[0].get(), message, Tag::slot_refreshed); break;
      case 2: send_crowded(host, message, Tag::slot_refreshed); [[fallthrough]];
      case 3:
        message.tag = Tag::cell_made;
        send_packet(asked.fds[0].get(), &message, sizeof message, made, 2);
        send_packet(asked.fds[0].get(), &message, sizeof message, made, 2);
        break;
    }
  }
  // Fails on purpose: the Runner is not made, and its descriptors can be counted when it is gone.
  message.stage = wire::Stage::plan;
  for (int i = 0; i < 100; ++i) send_crowded(host, message, Tag::failed);
  recv_packet(host, &message, sizeof message, 0);
  _exit(0);
}

// This one lets cells be made, and crowds their last message, which says that they are ready.
[[noreturn]] void crowding_cells(int host) {
  Message message{};
  for (unsigned slots = 0; slots < kSlots;) {
    Packet asked = recv_packet(host, &message, sizeof message, 0);
    if (asked.size <= 0) _exit(0);
    if (message.tag != Tag::grow) continue;
    int cell[2];
    if (!packet_pair(cell)) _exit(1);
    const UniqueFd self(sys::pidfd_open(getpid()));
    const int made[] = {self.get(), cell[0]};
    message.tag = Tag::cell_made;
    send_packet(asked.fds[0].release(), &message, sizeof message, made, 2);
    send_crowded(cell[1], message, Tag::cell_ready);
    send_crowded(cell[1], message, Tag::cell_ready);
    ++slots;
  }
  recv_packet(host, &message, sizeof message, 0);
  _exit(0);
}

// Stands for a copy of the host, which would fork janitors of brig's own.
template <void (*kJanitor)(int)>
[[noreturn]] void start_crowding() {
  for (;;) {
    Message message{};
    Packet asked = recv_packet(kFromHost, &message, sizeof message, 0);
    if (asked.size != sizeof message) _exit(0);
    int pidfd = -1;
    message.status = sys::clone_process(CLONE_PARENT | CLONE_PIDFD, &pidfd);
    if (message.status == 0) kJanitor(asked.fds[0].get());
    send_packet(kFromHost, &message, sizeof message, &pidfd, 1);
    close(pidfd);
  }
}

TEST(Warden, KeepsNoDescriptorThatItDidNotAskFor) {
  const auto copy = std::make_shared<HostCopy>(start_crowding<crowding_janitor>);
  const long before = open_descriptors();
  Policy policy;
  EXPECT_THROW(Warden(policy, {.ready = 2}, {.host_copy = copy}), Error);
  EXPECT_EQ(open_descriptors(), before);
}

// Whether or not such a cell can be used: where there are cgroups, its slot has none.
TEST(Warden, KeepsNoDescriptorOfACellThatSaysTooMuch) {
  const auto copy = std::make_shared<HostCopy>(start_crowding<crowding_cells>);
  const long before = open_descriptors();
  for (int i = 0; i < 3; ++i) try {
      const Warden warden({}, {.ready = 2}, {.host_copy = copy});
    } catch (const Error&) {
    }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace brig
