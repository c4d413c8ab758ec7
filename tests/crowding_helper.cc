// In place of brig-helper, carried inside a test: a janitor and a cell of brig::run()'s that were taken over. Every packet
// has all the descriptors that one can, and then it ends.
#include <unistd.h>

#include <initializer_list>

#include "os/socket.h"
#include "os/sys.h"
#include "wire/wire.h"

namespace {

using namespace brig;
using wire::Message;
using wire::Tag;

constexpr int kFromHost = 3, kHost = 4;

void send_crowded(int socket, Message message, Tag tag, int first) {
  int fds[kMaxPacketFds];
  for (int& fd : fds) fd = kHost;
  fds[0] = first;
  message.tag = tag;
  send_packet(socket, &message, sizeof message, fds, kMaxPacketFds);
}

}  // namespace

int main() {
  Message message{};
  UniqueFd cell;
  while (!cell) {
    Packet asked = recv_packet(kFromHost, &message, sizeof message, 0);
    if (asked.size <= 0) _exit(1);
    if (message.tag == Tag::prepare) cell = static_cast<UniqueFd&&>(asked.fds[0]);
  }
  const UniqueFd self(sys::pidfd_open(getpid()));
  message.status = 0;
  for (const Tag tag : {Tag::cell_made, Tag::cell_made, Tag::slot_refreshed})
    send_crowded(kFromHost, message, tag, self.get());
  for (const Tag tag : {Tag::cell_ready, Tag::cell_ready, Tag::tool_ended})
    send_crowded(cell.get(), message, tag, kHost);
  recv_packet(cell.get(), &message, sizeof message, 0);  // the plan, or the request
}
