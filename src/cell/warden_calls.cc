// The calls of a Warden. Its own thread drives those of run_async; the caller's thread drives those
// of run.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "cell/warden.h"
#include "os/event.h"
#include "os/sys.h"

namespace brig {

namespace {

constexpr int kMaxStarts = 8;
constexpr char kCancelledEarly[] = "the call was cancelled before it ran";
constexpr char kTooLate[] = "the call's time was over while it waited in the queue; it was not run";

}  // namespace

// --- calls that the stepping thread drives ---

// Only the stepping thread removes calls, so the pointer is valid until it does.
Warden::AsyncCall* Warden::find_call(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(id);
  return found == calls_.end() ? nullptr : &found->second;
}

void Warden::on_call(std::uint64_t id, Call::Source source) {
  AsyncCall* async = find_call(id);
  if (!async) return;
  if (async->waiting) return leave_queue(id, *async, Outcome::cancelled, kCancelledEarly);
  async->call->on_ready(source);
  update_async(id, *async);
}

void Warden::start_async(std::uint64_t id, AsyncCall& async, ReadyCell cell) {
  async.waiting = false;
  const unsigned slot = cell.slot;
  const bool stale = is_stale(cell);
  bool started = false;
  if (stale)
    refuse_cell(std::move(cell));
  else
    started = async.call->start(std::move(cell));
  // The cell is of no use, or died before it got the request: take the next one, first in line.
  if (!started) {
    async.waiting = true;
    if (!stale) release(slot, {});
    const std::lock_guard lock(mutex_);
    waiters_.push_front(std::make_shared<Waiter>());
    waiters_.front()->call = id;
    waiters_.front()->owner = async.call->owner();
    return;
  }
  const auto fds = async.call->descriptors();
  try {
    for (unsigned i = 0; i < Call::kSources && !async.call->over(); ++i)
      if (fds[i] >= 0 && i != Call::kCancel)  // That one is watched already.
        watch(fds[i], {Topic::Kind::call, id, i}, i == Call::kStdin ? EPOLLOUT : EPOLLIN);
  } catch (const Error& error) {
    // Without this the call would run into its timeout, and its report would call it too slow.
    async.call->abandon(error.what());
  }
  update_async(id, async);
}

// Other calls may share the caller's descriptor. A copy belongs to this call alone and can be
// watched and closed.
void Warden::watch_cancel_fd(std::uint64_t id, AsyncCall& async) {
  const int fd = async.call->descriptors()[Call::kCancel];
  if (fd < 0) return;
  async.cancel_fd.reset(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!async.cancel_fd) throw_sys("runner: cancel_fd");
  watch(async.cancel_fd.get(), {Topic::Kind::call, id, Call::kCancel});
}

void Warden::update_async(std::uint64_t id, AsyncCall& async) {
  if (async.call->over()) return finish_async(id);
  // Closing a descriptor has removed it from the epoll set. A cancelled call needs no more of them.
  if (async.call->descriptors()[Call::kCancel] < 0) drop_cancel_fd(async);
  if (async.timer != async.call->timer()) {
    const std::lock_guard lock(mutex_);
    timers_.erase({async.timer, id});
    async.timer = async.call->timer();
    timers_.emplace(async.timer, id);
  }
}

// Closing a copy does not remove it from the epoll set, because its file stays open. The next copy
// may get the same number, and could then not be added.
void Warden::drop_cancel_fd(AsyncCall& async) {
  if (async.cancel_fd) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, async.cancel_fd.get(), nullptr);
  async.cancel_fd.reset();
}

void Warden::finish_async(std::uint64_t id) {
  AsyncCall async;
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(id);
    async = std::move(found->second);
    calls_.erase(found);
    timers_.erase({async.timer, id});
  }
  drop_cancel_fd(async);
  // A room that is kept keeps these open.
  if (!async.waiting && async.call->room_after() != Call::RoomAfter::goes)
    for (const int fd : async.call->of_room()) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  const unsigned slot = async.call->slot();
  CellResult result = async.call->take();
  if (!async.waiting) let_go(slot, *async.call, result);
  if (async.on_done) async.on_done(std::move(result));
}

void Warden::leave_queue(std::uint64_t id, AsyncCall& async, Outcome outcome, const char* message) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiters_, [&](const auto& waiter) { return waiter->call == id; });
  }
  async.call->refuse(outcome, message);
  finish_async(id);
}

void Warden::on_timers() {
  const Clock::time_point now = Clock::now();
  std::vector<std::uint64_t> due;
  std::vector<std::pair<std::uint64_t, bool>> cancels;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [time, id] : timers_) {
      if (time > now) break;
      due.push_back(id);
    }
    cancels.swap(cancels_);
  }
  for (const auto& [id, at_once] : cancels) {
    AsyncCall* async = find_call(id);
    if (!async) continue;
    if (async->waiting) {
      leave_queue(id, *async, Outcome::cancelled, kCancelledEarly);
      continue;
    }
    async->call->cancel(at_once);
    update_async(id, *async);
  }
  for (const std::uint64_t id : due) {
    AsyncCall* async = find_call(id);
    if (!async) continue;
    if (async->waiting) {
      leave_queue(id, *async, Outcome::timeout, kTooLate);
      continue;
    }
    async->call->on_timer(now);
    update_async(id, *async);
  }
}

std::uint64_t Warden::submit(CellRequest request, OutputCallback on_output, Done on_done) {
  std::string defect = Call::defect(request);
  auto call = std::make_unique<Call>(settings_, std::move(request), std::move(on_output));
  Outcome outcome = Outcome::invalid_arguments;
  std::unique_lock lock(mutex_);
  const std::uint64_t id = next_call_++;
  if (defect.empty() && waiters_.size() >= options_.max_queue) {
    outcome = Outcome::overloaded;
    defect = "too many calls wait already; try again later";
  }
  AsyncCall made;
  made.timer = call->timer();
  made.call = std::move(call);
  if (defect.empty()) try {
      watch_cancel_fd(id, made);
    } catch (const Error& error) {
      outcome = Outcome::internal;
      defect = error.what();
    }
  if (!defect.empty()) {
    lock.unlock();
    made.call->refuse(outcome, defect);
    if (on_done) on_done(made.call->take());
    return id;
  }
  AsyncCall& async = calls_[id] = std::move(made);
  async.on_done = std::move(on_done);
  timers_.emplace(async.timer, id);
  if (ready_.empty()) missed();
  waiters_.push_back(std::make_shared<Waiter>());
  waiters_.back()->call = id;
  waiters_.back()->owner = async.call->owner();
  lock.unlock();
  wake();
  return id;
}

bool Warden::cancel(std::uint64_t id, bool at_once) {
  {
    const std::lock_guard lock(mutex_);
    if (!calls_.contains(id)) return false;
    cancels_.emplace_back(id, at_once);
  }
  wake();
  return true;
}

unsigned Warden::ready() const {
  const std::lock_guard lock(mutex_);
  return static_cast<unsigned>(ready_.size());
}

// --- calls that the caller drives ---

// Ends the use of a slot by a call that is over. If the call has left files, whoever gets the
// result looks at them first.
void Warden::let_go(unsigned slot, Call& call, CellResult& result) {
  const bool shown = call.left_workspace();
  const Call::RoomAfter after = call.room_after();
  ReadyCell remains = call.remains();
  remains.owner = call.owner();
  if (!shown) return release(slot, std::move(remains), after);
  UniqueFd directory = std::move(remains.workspace);
  const auto rest = std::make_shared<ReadyCell>(std::move(remains));
  result.workspace = std::make_unique<Workspace>(
      std::move(directory), [this, slot, rest] { release(slot, std::move(*rest)); });
}

// The call has read everything that it needs of the slot. From now on the slot may be used again.
void Warden::release(unsigned slot, ReadyCell remains, Call::RoomAfter after) {
  // The cell's init has waited for this. It frees the scratch space when nobody else refers to it.
  remains.workspace.reset();
  if (settings_.shows_workspace && remains.socket) shutdown(remains.socket.get(), SHUT_RDWR);
  if (remains.room && after == Call::RoomAfter::goes) shutdown(remains.room.get(), SHUT_RDWR);
  bool wakes;
  {
    const std::lock_guard lock(mutex_);
    in_use_.erase(slot);
    wakes = gone_in_use_.contains(slot);
    if (after != Call::RoomAfter::goes && !wakes) {
      ReadyCell room;
      room.slot = slot;
      room.zygote = remains.zygote;
      room.slot_birth = remains.slot_birth;
      room.made = remains.made;
      room.cgroup = std::move(remains.cgroup);
      room.pidfd = std::move(remains.pidfd);
      room.room = std::move(remains.room);
      room.listener = std::move(remains.listener);
      room.earlier_cells = remains.earlier_cells + 1;
      room.owner = std::move(remains.owner);
      wakes = after == Call::RoomAfter::stays;
      // Otherwise its init's message wakes the thread.
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = Topic{Topic::Kind::cell, slot}.bits();
      if (!wakes && epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, room.room.get(), &event) != 0)
        shutdown(room.room.get(), SHUT_RDWR);
      else
        rooms_back_.push_back({std::move(room), wakes});
    }
    remains_.push_back(std::move(remains));
  }
  if (wakes) wake();
}

// Whether a name of files.protect "@default" has come to exist that the cells of this zygote would
// not protect.
bool Warden::is_stale(const ReadyCell& cell) const {
  return std::any_of(cell.made->missing.begin(), cell.made->missing.end(), is_there);
}

void Warden::refuse_cell(ReadyCell cell) {
  {
    const std::lock_guard lock(mutex_);
    stale_zygote_ = std::max(stale_zygote_, cell.zygote);
  }
  sys::pidfd_send_signal(cell.pidfd.get(), SIGKILL);
  const unsigned slot = cell.slot;
  release(slot, std::move(cell));
  wake();
}

// A room that the caller knows, if there is one; otherwise one that nobody knows.
std::deque<ReadyCell>::iterator Warden::find_cell(const std::string& owner) {
  if (last_owner_ && *last_owner_ != owner) has_owners_ = true;
  last_owner_ = owner;
  if (busy_ >= options_.max_cells) return ready_.end();
  auto fresh = ready_.end();
  for (auto cell = ready_.begin(); cell != ready_.end(); ++cell) {
    if (cell->zygote == stale_zygote_) continue;
    if (cell->earlier_cells && cell->owner == owner) return cell;
    if (!cell->earlier_cells && fresh == ready_.end()) fresh = cell;
  }
  return fresh;
}

ReadyCell Warden::hand_over(const std::deque<ReadyCell>::iterator& found) {
  ReadyCell cell = std::move(*found);
  ready_.erase(found);
  ++busy_;
  in_use_.insert(cell.slot);
  return cell;
}

std::optional<ReadyCell> Warden::take_cell(Call& call, Outcome& outcome, std::string& message) {
  std::unique_lock lock(mutex_);
  if (const auto found = waiters_.empty() ? find_cell(call.owner()) : ready_.end();
      found != ready_.end()) {
    ReadyCell cell = hand_over(found);
    // The slot makes its next cell when this call is over. More are made meanwhile only if the pool
    // runs low, so that making cells does not compete with the call for a core.
    // Rooms that are kept come back by themselves.
    const bool low =
        settings_.keeps_room ? ready_.size() + busy_ < target_ : ready_.size() < (target_ + 1) / 2;
    lock.unlock();
    if (low) wake();
    return cell;
  }
  if (waiters_.size() >= options_.max_queue) {
    outcome = Outcome::overloaded;
    message = "too many calls wait already; try again later";
    return std::nullopt;
  }
  missed();
  const auto waiter = std::make_shared<Waiter>();
  waiter->owner = call.owner();
  waiter->arrived = make_event();
  if (!waiter->arrived) {
    outcome = Outcome::internal;
    message = fmt::format("waiting for a cell: eventfd: {}; the call did not run", strerror(errno));
    return std::nullopt;
  }
  waiters_.push_back(waiter);
  lock.unlock();
  wake();
  pollfd events[] = {{waiter->arrived.get(), POLLIN, 0},
                     {call.descriptors()[Call::kCancel], POLLIN, 0}};
  int count;
  bool enough = false, again = false;
  do {
    const auto left = std::max(Clock::duration::zero(), call.deadline() - Clock::now());
    const auto now = call.interruption().wait(left);
    const timespec wait{std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                        (now % std::chrono::seconds(1)).count()};
    count = ppoll(events, 2, &wait, nullptr);
    again = count == 0 ? now < left : count < 0 && errno == EINTR;
    enough = call.interruption().came(count);
  } while (again && !enough);
  lock.lock();
  if (waiter->cell) return std::move(*waiter->cell);
  std::erase(waiters_, waiter);
  if (!waiter->failure.empty()) {
    outcome = Outcome::internal;
    message = waiter->failure;
  } else if (count > 0 || enough) {
    outcome = Outcome::cancelled;
    message = kCancelledEarly;
  } else {
    outcome = Outcome::timeout;
    message = kTooLate;
  }
  return std::nullopt;
}

CellResult Warden::run(CellRequest request, const OutputCallback& on_output) {
  const std::string defect = Call::defect(request);
  Call call(settings_, std::move(request), on_output);
  if (!defect.empty()) {
    call.refuse(Outcome::invalid_arguments, defect);
    return call.take();
  }
  Outcome outcome = Outcome::internal;
  std::string message;
  unsigned slot = 0;
  bool started = false, stale = false;
  for (int attempt = 0; !started && attempt < kMaxStarts; ++attempt) {
    std::optional<ReadyCell> cell = take_cell(call, outcome, message);
    if (!cell) {
      call.refuse(outcome, message);
      return call.take();
    }
    slot = cell->slot;
    stale = is_stale(*cell);
    if (stale) {
      refuse_cell(std::move(*cell));
      continue;
    }
    started = call.start(std::move(*cell));
    if (!started) release(slot, {});  // It died before it got the request.
  }
  if (!started)
    call.refuse(Outcome::internal,
                stale
                    ? "files on the host that files.protect = [\"@default\"] names keep appearing "
                      "and disappearing; the call did not run, try again"
                    : "every cell that brig tried had already ended; try again");
  while (!call.over()) call.drive();
  CellResult result = call.take();
  if (started) let_go(slot, call, result);
  return result;
}

}  // namespace brig
