#include "cell/warden.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "os/event.h"
#include "os/socket.h"
#include "os/sys.h"
#include "policy/listed_path.h"
#include "policy/presets.h"

namespace brig {
namespace {

using std::chrono::milliseconds;
using wire::Message;
using wire::Tag;

constexpr Clock::time_point kNever = Clock::time_point::max();

}  // namespace

Warden::Warden(Policy policy, RunnerOptions options, Origin origin)
    : policy_(with_optional_settled(whole_policy(std::move(policy)))),
      options_(options),
      origin_(std::move(origin)) {
  if (options_.max_cells < 1 || options_.max_cells > 60000)
    throw Error(ErrorKind::config, "runner: max_cells must be 1 to 60000");
  if (options_.ready > 1024 || options_.ready_max > 1024)
    throw Error(ErrorKind::config, "runner: ready must be at most 1024");
  target_ = options_.ready;
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  wake_ = make_event();
  if (!epoll_ || !wake_) throw_sys("runner: epoll, eventfd");
  watch(wake_.get(), {Topic::Kind::wake});
  try {
    start_zygote();
    grow();
    const milliseconds patience = set_up_patience(policy_);
    const auto until = Clock::now() + patience;
    while (ready_.empty() && !failure_ && Clock::now() < until) step(until);
    const bool late = ready_.empty() && !failure_;
    if (late) failure_.emplace(ErrorKind::resource, out_of_patience(patience));
    if (origin_.payload) {
      std::string doing;
      catalog_ = read_catalog(doing);
      const std::string& title = origin_.payload->title;
      if (catalog_.kind == Answer::Kind::error)
        throw_error(ErrorKind::config, "{}: {}", title, catalog_.bytes);
      if (failure_ && !doing.empty())
        throw_error(ErrorKind::config, "{}: {} {}", title, doing,
                    late ? fmt::format("did not end within {} ms", patience.count())
                         : "ended its interpreter");
      if (failure_ && catalog_.kind == Answer::Kind::none)
        throw_error(failure_->kind(), "{}: it was not loaded: {}", title, failure_->what());
    }
    if (failure_) throw Error(*failure_);
    thread_ = OwnThread([this] { loop(); });
  } catch (const std::system_error& error) {
    stop_zygote();
    throw_sys_error(error.code().value(), "runner: starting its thread");
  } catch (...) {
    stop_zygote();
    throw;
  }
}

Warden::~Warden() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
  std::vector<std::uint64_t> ids;
  for (const auto& [id, call] : calls_) ids.push_back(id);
  for (const std::uint64_t id : ids) {
    AsyncCall& call = calls_.at(id);
    if (call.waiting) {
      call.call->refuse(Outcome::cancelled, "the call was cancelled: its Runner ended");
    } else {
      call.call->cancel();
      while (!call.call->over()) call.call->drive();
    }
    finish_async(id);
  }
  stop_zygote();
  slots_.clear();
  retired_zygotes_.clear();
}

void Warden::watch(int fd, Topic topic, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = topic.bits();
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) throw_sys("runner: epoll_ctl");
}

void Warden::wake() const { signal_event(wake_); }

void Warden::loop() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    try {
      step(kNever);
    } catch (const Error& error) {
      set_up_failed(error.what(), error.kind());
    }
  }
}

void Warden::step(Clock::time_point until) {
  {
    const std::lock_guard lock(mutex_);
    if (!timers_.empty()) until = std::min(until, timers_.begin()->first);
    if (target_ > options_.ready) until = std::min(until, shrink_at_);
  }
  if (retry_at_ != Clock::time_point{}) until = std::min(until, retry_at_);
  if (too_many_since_ != Clock::time_point{}) until = std::min(until, too_many_since_ + kPatience);
  if (making_) until = std::min(until, moved_ + hung_after());
  if (!retired_.empty()) until = std::min(until, Clock::now() + kRetry);
  epoll_event events[64];
  timespec wait{};
  const timespec* limit = nullptr;
  if (until != kNever) {
    const auto left = std::max(Clock::duration::zero(), until - Clock::now());
    wait.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count();
    wait.tv_nsec = (left % std::chrono::seconds(1)).count();
    limit = &wait;
  }
  const int count = epoll_pwait2(epoll_.get(), events, 64, limit, nullptr);
  take_back_rooms();
  for (int i = 0; i < count; ++i) {
    const Topic topic = Topic::of(events[i].data.u64);
    switch (topic.kind) {
      case Topic::Kind::wake: clear_event(wake_); break;
      case Topic::Kind::janitor: on_janitor(static_cast<unsigned>(topic.id)); break;
      case Topic::Kind::slot: on_slot(static_cast<unsigned>(topic.id)); break;
      case Topic::Kind::cell: on_made_cell(static_cast<unsigned>(topic.id)); break;
      case Topic::Kind::call: on_call(topic.id, static_cast<Call::Source>(topic.source)); break;
    }
  }
  on_timers();
  take_back_rooms();
  finish_gone();
  stop_retired();
  bool is_stale;
  {
    const std::lock_guard lock(mutex_);
    is_stale = stale_zygote_ == zygote_;
  }
  if (thread_.joinable() && helper_->socket && is_stale) retire_zygote();
  // The zygote is alive but makes no cell. Waiting calls must not wait until their time is over.
  if (making_ && thread_.joinable() && Clock::now() >= moved_ + hung_after()) {
    helper_->janitor.kill(SIGKILL);  // a stopped process would not react to SIGTERM
    lose_zygote();
  }
  if (retry_at_ != Clock::time_point{} && Clock::now() >= retry_at_) {
    retry_at_ = {};
    if (!helper_->socket && !failure_) start_zygote();
  }
  hand_out();
  refill();
}

void Warden::on_slot(unsigned id) {
  const auto found = slots_.find(id);
  if (found == slots_.end()) return;
  Slot& slot = found->second;
  moved_ = Clock::now();
  Message message;
  Packet packet = recv_packet(slot.socket.get(), &message, sizeof message, MSG_DONTWAIT);
  if (packet.size < 0 && errno == EAGAIN) return;
  if (packet.size == sizeof message && message.tag == Tag::cell_made && packet.fd_count == 2 &&
      slot.state == Slot::State::making && !init_socket(slot.cell)) {
    if (slot.cgroup) slot.cgroup->remove_older();
    slot.cell.slot = id;
    slot.cell.pidfd = std::move(packet.fds[0]);
    (settings_.keeps_room ? slot.cell.room : slot.cell.socket) = std::move(packet.fds[1]);
    try {
      watch(init_socket(slot.cell).get(), {Topic::Kind::cell, id});
    } catch (const Error& error) {
      discard_cell(slot);
      return set_up_failed(error.what(), error.kind());
    }
  } else if (packet.size == sizeof message && message.tag == Tag::cell_gone &&
             slot.state != Slot::State::idle && slot.state != Slot::State::refreshing) {
    cell_gone(slot);
  } else {
    if (packet.size == sizeof message && message.tag == Tag::failed)
      set_up_failed(failure_text(helper_->plan.plan(), message.stage, message.error, message.index),
                    failure_kind(message.stage, message.error));
    lose_slot(id);
  }
}

// The keeper reports when the cell is gone, and makes another one.
void Warden::discard_cell(Slot& slot) {
  sys::pidfd_send_signal(slot.cell.pidfd.get(), SIGKILL);
  slot.cell = ReadyCell();
}

// Makes what a ready cell has on the host's side. In a room that is kept, asks for its tool's
// process.
void Warden::equip(Slot& slot) {
  slot.cell.slot_birth = slot.birth;
  slot.cell.zygote = zygote_;
  slot.cell.made = helper_->as_made;
  if (settings_.keeps_room) {
    int pair[2];
    if (!packet_pair(pair)) throw_sys("a cell's socket");
    slot.cell.socket.reset(pair[0]);
    const UniqueFd theirs(pair[1]);
    Message message{};
    message.tag = Tag::next;
    const int fd = theirs.get();
    if (!send_packet(slot.cell.room.get(), &message, sizeof message, &fd, 1))
      throw_sys("asking for a cell in a room");
  }
  make_pipes(helper_->plan.plan(), settings_.functions, slot.cell);
  if (!helper_->plan.scratch_directory.empty())
    slot.cell.scratch = fmt::format("{}/{}", helper_->plan.scratch_directory, slot.id);
  if (settings_.functions && !send_equipment(settings_, slot.cell))
    throw_sys("sending a cell its equipment");
  if (!helper_->cgroups.version) return;
  if (!slot.cgroup)
    slot.cgroup = std::make_shared<SlotCgroup>(helper_->cgroups, slot.id, slot.generation);
  slot.cgroup->begin(settings_.own_tasks + 1);
  slot.cell.cgroup = slot.cgroup;
}

// Reads a new cell's first message: it is ready, or what failed.
void Warden::on_made_cell(unsigned id) {
  const auto found = slots_.find(id);
  if (found != slots_.end() && found->second.state == Slot::State::renewing)
    return on_old_room(found->second);
  if (found == slots_.end() || found->second.state != Slot::State::making) return;
  Slot& slot = found->second;
  Message message;
  Packet packet = recv_packet(init_socket(slot.cell).get(), &message, sizeof message, MSG_DONTWAIT);
  if (packet.size < 0 && errno == EAGAIN) return;
  if (packet.size == sizeof message && message.tag == Tag::way_out) {
    for (int i = 0; i < packet.fd_count; ++i) slot.cell.proxy_sockets.add(std::move(packet.fds[i]));
    return;
  }
  if (packet.size != sizeof message || message.tag != Tag::cell_ready) {
    // Either the mount that hid a path is gone, from the zygote and from all its cells, or a
    // protected file has lost its name and can't be mounted any more. A new zygote has both again.
    const bool is_stale = message.stage == wire::Stage::guard ||
                          (message.stage == wire::Stage::late_bind && message.error == ENOENT);
    if (packet.size == sizeof message && message.tag == Tag::failed && is_stale &&
        thread_.joinable())
      return lose_zygote();
    drop_cell(slot);  // the keeper reports when it is gone
    if (packet.size == sizeof message && message.tag == Tag::failed)
      set_up_failed(failure_text(helper_->plan.plan(), message.stage, message.error, message.index),
                    failure_kind(message.stage, message.error));
    else
      set_up_failed("a cell ended while it was made", ErrorKind::internal);
    return;
  }
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, init_socket(slot.cell).get(), nullptr);
  if (settings_.shows_workspace) slot.cell.workspace = std::move(packet.fds[0]);
  slot.cell.listener = std::move(packet.fds[settings_.shows_workspace]);
  try {
    if (settings_.shows_workspace && !is_workspace(slot.cell.workspace, !settings_.init_exposed))
      throw Error(ErrorKind::internal, "a cell did not show its workspace");
    open_way_out(settings_, slot.cell);
    equip(slot);
  } catch (const Error& error) {
    discard_cell(slot);
    return set_up_failed(error.what(), error.kind());
  }
  --making_;
  moved_ = Clock::now();
  proven_ = true;
  failures_ = 0;
  lost_zygotes_ = 0;
  make_ready(slot);
  hand_out();
}

void Warden::make_ready(Slot& slot) {
  const std::lock_guard lock(mutex_);
  slot.state = Slot::State::ready;
  ready_.push_back(std::move(slot.cell));
  slot.cell = ReadyCell();
}

// Gives ready cells to waiting callers.
void Warden::hand_out() {
  for (;;) {
    std::shared_ptr<Waiter> waiter;
    ReadyCell cell;
    {
      const std::lock_guard lock(mutex_);
      if (waiters_.empty()) return;
      const auto found = find_cell(waiters_.front()->owner);
      if (found == ready_.end()) return;
      waiter = waiters_.front();
      waiters_.pop_front();
      cell = hand_over(found);
      if (const auto slot = slots_.find(cell.slot); slot != slots_.end())
        slot->second.state = Slot::State::busy;
      if (waiter->call == 0) {
        waiter->cell = std::move(cell);
        signal_event(waiter->arrived);
        continue;
      }
    }
    if (AsyncCall* call = find_call(waiter->call))
      start_async(waiter->call, *call, std::move(cell));
  }
}

// Notes that something could not be made. The constructor throws it. Later, waiting calls are told
// after a few tries, so that none waits for a cell that will not come.
void Warden::set_up_failed(const std::string& message, ErrorKind kind) {
  if (!thread_.joinable()) {
    if (!failure_) failure_.emplace(kind, message);
    return;
  }
  retry_at_ = Clock::now() + kRetry;
  if (++failures_ < kMaxFailures) return;
  std::deque<std::shared_ptr<Waiter>> waiters;
  {
    const std::lock_guard lock(mutex_);
    waiters.swap(waiters_);
    for (const auto& waiter : waiters)
      if (waiter->call == 0) {
        waiter->failure = "no cell could be made: " + message;
        signal_event(waiter->arrived);
      }
  }
  for (const auto& waiter : waiters) {
    AsyncCall* call = find_call(waiter->call);
    if (!call) continue;
    call->call->refuse(Outcome::internal, "no cell could be made: " + message);
    finish_async(waiter->call);
  }
}

}  // namespace brig
