// Rooms that serve another call: from a call that is over to the next cell.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "cell/warden.h"
#include "os/socket.h"

namespace brig {

using wire::Message;
using wire::Tag;

namespace {

// How many cells a room may have, one after the other. Its init's own CPU time counts for
// RLIMIT_CPU, which its tools inherit; a fork takes up to a millisecond.
constexpr unsigned kMaxCells = 250;

}  // namespace

// Rooms of calls that are over. A slot that was lost meanwhile has no use for its room.
void Warden::take_back_rooms() {
  std::vector<RoomBack> back;
  {
    const std::lock_guard lock(mutex_);
    back.swap(rooms_back_);
  }
  for (RoomBack& each : back) {
    const auto found = slots_.find(each.cell.slot);
    if (found == slots_.end() || found->second.birth != each.cell.slot_birth) {
      epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, each.cell.room.get(), nullptr);
      continue;
    }
    Slot& slot = found->second;
    slot.cell = std::move(each.cell);
    slot.state = Slot::State::renewing;
    ++renewing_;
    if (each.is_as_new) renew(slot);
  }
}

// The call was over before its tool was. Its init has looked at the room, or ended.
void Warden::on_old_room(Slot& slot) {
  Message message;
  const ssize_t size = recv_bytes(slot.cell.room.get(), &message, sizeof message, MSG_DONTWAIT);
  if (size < 0 && errno == EAGAIN) return;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, slot.cell.room.get(), nullptr);
  if (size == sizeof message && message.tag == Tag::tool_ended &&
      message.room == wire::RoomState::as_new)
    return renew(slot);
  drop_cell(slot);  // The keeper reports when it is gone.
}

// Has the room make its next cell, or lets it go.
void Warden::renew(Slot& slot) {
  bool is_wanted;
  {
    const std::lock_guard lock(mutex_);
    is_wanted = !is_retired(slot) && stale_zygote_ != slot.zygote && !stopping_ &&
                slot.cell.earlier_cells < kMaxCells;
  }
  if (!is_wanted || (slot.cgroup && slot.cgroup->stale())) return drop_cell(slot);
  if (slot.cgroup) slot.cgroup->shrink();
  try {
    equip(slot);
  } catch (const Error& error) {
    // Its init may have ended meanwhile, which is no failure.
    if (errno != EPIPE && errno != ECONNRESET) set_up_failed(error.what(), error.kind());
    return drop_cell(slot);
  }
  --renewing_;
  make_ready(slot);
  {
    const std::lock_guard lock(mutex_);
    --busy_;
  }
}

}  // namespace brig
