// The slots of a Warden: how they are made, filled with cells, refreshed and given up.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/error.h"
#include "cell/warden.h"
#include "os/socket.h"

namespace brig {

using wire::Message;
using wire::Tag;

// A keeper under a tool's control may have kept a copy of the socket that it sent. Then closing
// this one would not end the watch, and the copy could keep the warden awake for ever.
void Warden::drop_cell(Slot& slot) {
  const UniqueFd& socket = init_socket(slot.cell);
  if (socket) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket.get(), nullptr);
  slot.cell = ReadyCell();
}

void Warden::cell_gone(Slot& slot) {
  {
    const std::lock_guard lock(mutex_);
    if (in_use_.contains(slot.id)) {  // Its call still reads what was used.
      gone_in_use_.insert(slot.id);
      return;
    }
    std::erase_if(rooms_back_, [&](const RoomBack& back) { return back.cell.slot == slot.id; });
    const auto unused = std::find_if(ready_.begin(), ready_.end(),
                                     [&](const ReadyCell& cell) { return cell.slot == slot.id; });
    if (unused != ready_.end())
      ready_.erase(unused);  // It died before its call.
    else if (slot.state != Slot::State::making)
      --busy_;
  }
  if (slot.state == Slot::State::making) --making_;
  if (slot.state == Slot::State::renewing) --renewing_;
  drop_cell(slot);
  slot.state = Slot::State::idle;
  if (is_retired(slot)) return lose_slot(slot.id);
  if (!slot.cgroup) return;
  // The limits of the last call would hold for every later one. No cell in this slot is better.
  if (!slot.cgroup->widen()) return lose_slot(slot.id);
  if (slot.cgroup->stale()) {
    Message message{};
    message.tag = Tag::refresh_pids;
    message.index = slot.id;
    message.status = static_cast<int>(slot.generation + 1);
    if (send_packet(helper_->socket.get(), &message, sizeof message, nullptr, 0))
      slot.state = Slot::State::refreshing;
  } else {
    slot.cgroup->shrink();
  }
}

// Slots whose cell ended before its call was done with it.
void Warden::finish_gone() {
  std::vector<unsigned> done;
  std::vector<ReadyCell> remains;
  {
    const std::lock_guard lock(mutex_);
    remains.swap(remains_);
    for (const unsigned id : gone_in_use_)
      if (!in_use_.contains(id)) done.push_back(id);
    for (const unsigned id : done) gone_in_use_.erase(id);
  }
  for (const unsigned id : done)
    if (const auto slot = slots_.find(id); slot != slots_.end()) cell_gone(slot->second);
}

// The slot's keeper is gone, or about to be. A call in its cell ends by itself, because it sees the
// socket close.
void Warden::lose_slot(unsigned id) {
  const auto found = slots_.find(id);
  if (found == slots_.end()) return;
  Slot& slot = found->second;
  {
    const std::lock_guard lock(mutex_);
    // A slot whose cell a thread in run() has taken still says `ready`. Only ready_ tells.
    const auto unused =
        std::erase_if(ready_, [&](const ReadyCell& cell) { return cell.slot == id; });
    std::erase_if(rooms_back_, [&](const RoomBack& back) { return back.cell.slot == id; });
    if (!unused && (slot.state == Slot::State::ready || slot.state == Slot::State::busy ||
                    slot.state == Slot::State::renewing))
      --busy_;
    // Otherwise this would count as the end of the next cell with the same slot number.
    gone_in_use_.erase(id);
  }
  if (slot.state == Slot::State::making) --making_;
  if (slot.state == Slot::State::renewing) --renewing_;
  // The cgroup of a retired zygote's slot goes with that zygote. refill() removes any other and
  // frees its number.
  if (!is_retired(slot)) retired_.emplace_back(id, slot.cgroup);
  if (slot.socket) shutdown(slot.socket.get(), SHUT_RDWR);
  drop_cell(slot);
  slots_.erase(found);
}

void Warden::make_cell(Slot& slot) {
  Message message{};
  message.tag = Tag::make_cell;
  message.index = slot.id;
  const UniqueFd entrance = std::move(slot.entrance);
  const int fd = entrance.get();
  if (!send_packet(slot.socket.get(), &message, sizeof message, &fd, fd >= 0))
    return;  // Its end of file follows.
  slot.state = Slot::State::making;
  drop_cell(slot);
  if (making_++ == 0) moved_ = Clock::now();
}

bool Warden::grow() {
  int pair[2];
  if (!packet_pair(pair)) throw_sys("runner: socketpair");
  UniqueFd ours(pair[0]), theirs(pair[1]);
  Message message{};
  message.tag = Tag::grow;
  const bool reused = !free_ids_.empty();
  // The number that has been free for longest.
  message.index = reused ? free_ids_.front() : next_slot_;
  // Before any request: a keeper that brig can't hear would be of no use.
  watch(ours.get(), {Topic::Kind::slot, message.index});
  if (reused)
    free_ids_.pop_front();
  else
    ++next_slot_;
  const int fd = theirs.get();
  if (!send_packet(helper_->socket.get(), &message, sizeof message, &fd, 1)) return false;
  Slot& slot = slots_[message.index];
  slot.id = message.index;
  slot.birth = next_birth_++;
  slot.zygote = zygote_;
  slot.socket = std::move(ours);
  make_cell(slot);  // The keeper finds the request waiting.
  return true;
}

// Keeps enough cells ready: from idle slots first, then from new ones.
void Warden::refill() {
  std::erase_if(retired_, [&](auto& retired) {
    {
      // A call that is not over goes by the number of its slot.
      const std::lock_guard lock(mutex_);
      if (in_use_.contains(retired.first)) return false;
    }
    if (retired.second && !retired.second->remove()) return false;
    free_ids_.push_back(retired.first);
    return true;
  });
  if (retry_at_ != Clock::time_point{} || !helper_->socket) return;
  give_up_a_room();
  unsigned wanted, ready, spare;
  bool lacks_fresh;
  {
    const std::lock_guard lock(mutex_);
    spare = target_ + 2;
    // Of several callers the next one may be none of those whose rooms are ready.
    lacks_fresh = has_owners_ && std::none_of(ready_.begin(), ready_.end(), [](const auto& cell) {
                    return cell.earlier_cells == 0;
                  });
    // A waiter above the limit waits for a running call to end and not for a cell.
    wanted = (target_ > busy_ ? target_ - busy_ : 0);
    wanted = std::max(wanted, (target_ + 1) / 2) +
             static_cast<unsigned>(std::min<std::size_t>(
                 waiters_.size(), options_.max_cells - std::min(busy_, options_.max_cells)));
    ready = static_cast<unsigned>(ready_.size());
  }
  const auto needs_more = [&] {
    return ready + making_ + renewing_ < wanted || (lacks_fresh && making_ == 0);
  };
  unsigned idle = 0;
  std::vector<unsigned> surplus;
  for (auto& [id, slot] : slots_) {
    if (slot.state != Slot::State::idle) continue;
    if (needs_more() && making_ < kMaxMaking)
      make_cell(slot);
    else if (++idle > spare)
      surplus.push_back(id);
  }
  while (needs_more() && making_ < kMaxMaking && idle == 0 && slots_.size() < most_slots())
    if (!grow()) break;  // The janitor is gone. Its end of file follows.
  for (const unsigned id : surplus) lose_slot(id);
  const bool has_too_many = are_too_many(ready, spare);
  if (!shrink() && !has_too_many) return;
  std::vector<unsigned> unused;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = target_; i < ready_.size(); ++i) unused.push_back(ready_[i].slot);
  }
  for (const unsigned id : unused) lose_slot(id);
  refill();  // Fewer slots may be idle now, and nothing else may come to check that.
}

// Every slot may have a room that is ready, and none of them the first waiting caller's.
void Warden::give_up_a_room() {
  if (!settings_.keeps_room || making_ || renewing_ || slots_.size() < most_slots()) return;
  unsigned oldest;
  {
    const std::lock_guard lock(mutex_);
    if (waiters_.empty() || ready_.empty() || busy_ >= options_.max_cells ||
        find_cell(waiters_.front()->owner) != ready_.end())
      return;
    oldest = ready_.front().slot;
  }
  lose_slot(oldest);
}

// Rooms come back after a burst of calls. Those that nobody has needed for a while go.
bool Warden::are_too_many(unsigned ready, unsigned spare) {
  if (!settings_.keeps_room || ready <= spare) {
    too_many_since_ = {};
    return false;
  }
  if (too_many_since_ == Clock::time_point{}) too_many_since_ = Clock::now();
  if (Clock::now() < too_many_since_ + kPatience) return false;
  too_many_since_ = {};
  return true;
}

// The pool doubles when it was too small, and halves when that has not happened for a while. Needs
// the lock.
void Warden::missed() {
  constexpr std::chrono::seconds kWhile{2};
  if (options_.ready_max <= options_.ready || busy_ >= options_.max_cells) return;
  target_ = std::min(std::max(1u, target_ * 2), options_.ready_max);
  shrink_at_ = Clock::now() + kWhile;
}

bool Warden::shrink() {
  const std::lock_guard lock(mutex_);
  if (target_ <= options_.ready || Clock::now() < shrink_at_) return false;
  target_ = std::max(options_.ready, target_ / 2);
  shrink_at_ = Clock::now() + std::chrono::milliseconds(500);
  return true;
}

}  // namespace brig
