// The calls of a Sandbox once they have begun: admitted, run, finished.
#include "os/event.h"
#include "sandbox/sandbox_impl.h"

namespace brig {
namespace {

constexpr std::size_t kShortResult = 16 * 1024, kLongResult = 256 * 1024;

}  // namespace

Event Sandbox::Impl::event_of(const SandboxCall& call, Event::Kind kind) {
  Event event;
  event.kind = kind;
  event.tool = call.tool_name;
  event.call_id = call.call_id;
  return event;
}

void Sandbox::Impl::request_progress(SandboxCall& call) {
  call.request.on_progress = [this, &call](double fraction, std::string_view text) {
    if (!watchers_.any()) return;
    Event event = event_of(call, Event::Kind::progress);
    event.fraction = fraction;
    event.text = text;
    watchers_.publish(std::move(event));
  };
}

OutputCallback Sandbox::Impl::output_publisher(const SandboxCall& call) {
  return [this, &call](Stream stream, std::string_view text) {
    // A watcher may come while the call runs.
    if (!watchers_.any()) return;
    Event event = event_of(call, Event::Kind::output);
    event.stream = stream;
    event.text = text;
    watchers_.publish(std::move(event));
  };
}

void Sandbox::Impl::refuse(SandboxCall& call, Outcome outcome, std::string message) {
  CellResult none;
  none.report.outcome = outcome;
  none.report.message = std::move(message);
  none.report.usage.wall =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - call.asked);
  none.report.steps.queue = none.report.usage.wall;
  finish(call, std::move(none));
}

void Sandbox::Impl::refuse(SandboxCall& call, Admission::Verdict verdict) {
  switch (verdict) {
    case Admission::Verdict::admitted: return;
    case Admission::Verdict::overloaded:
      return refuse(call, Outcome::overloaded, "too many calls wait already; try again later");
    case Admission::Verdict::timeout:
      return refuse(call, Outcome::timeout,
                    "the call's time was over while it waited in the queue; it was not run");
    case Admission::Verdict::cancelled:
      return refuse(call, Outcome::cancelled, "the call was cancelled before it ran");
  }
}

// Every call ends here.
void Sandbox::Impl::finish(SandboxCall& call, CellResult cell) {
  ToolResult& result = call.result;
  if (call.tool) {
    read_result(call, std::move(cell), result);
  } else {
    result.report = std::move(cell.report);
    result.error = result.report.message;
  }
  result.duration =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - call.asked);
  if (!watchers_.any()) return;
  Event event = event_of(call, Event::Kind::finished);
  event.outcome = result.report.outcome;
  event.text = result.report.message;
  watchers_.publish(std::move(event));
}

// --- the caller's thread drives it ---

// Call it under the lock. Events are reused: making and closing one costs more than everything else
// here.
UniqueFd Sandbox::Impl::take_event() {
  if (idle_events_.empty()) return make_event();
  UniqueFd event = std::move(idle_events_.back());
  idle_events_.pop_back();
  return event;
}

Admission::Verdict Sandbox::Impl::await_turn(SandboxCall& call) {
  if (admission_->try_enter(call.caller)) return Admission::Verdict::admitted;
  struct Turn {
    std::mutex mutex;
    std::condition_variable decided;
    std::optional<Admission::Verdict> verdict;
  };
  const auto turn = std::make_shared<Turn>();
  const std::uint64_t ticket = admission_->enter(
      call.caller, call.deadline,
      [turn](Admission::Verdict verdict) {
        const std::lock_guard lock(turn->mutex);
        turn->verdict = verdict;
        turn->decided.notify_one();
      },
      this);
  set_ticket(call, ticket);
  std::unique_lock lock(turn->mutex);
  const auto decided = [&] { return turn->verdict.has_value(); };
  const auto& interrupted = call.request.interrupted;
  // No signal ends this wait, so the caller's `interrupted` is asked from time to time.
  while (interrupted && !turn->decided.wait_for(lock, std::chrono::milliseconds(100), decided)) {
    lock.unlock();
    if (interrupted()) admission_->cancel(ticket);
    lock.lock();
  }
  turn->decided.wait(lock, decided);
  return *turn->verdict;
}

ToolResult Sandbox::Impl::call(const std::shared_ptr<SandboxCall>& call) {
  const auto entry = add(call);
  const Admission::Verdict verdict = await_turn(*call);
  bool cancelled;
  {
    const std::lock_guard lock(mutex_);
    call->ticket = 0;
    cancelled = call->cancelled;
    if (!cancelled && verdict == Admission::Verdict::admitted) {
      call->cancel_event = take_event();
      call->request.command.cancel_fd = call->cancel_event.get();
    }
  }
  if (verdict != Admission::Verdict::admitted) {
    refuse(*call, verdict);
  } else if (cancelled) {
    admission_->leave(call->caller);
    refuse(*call, Admission::Verdict::cancelled);
  } else {
    if (watchers_.any()) watchers_.publish(event_of(*call, Event::Kind::started));
    CellResult cell = call->tool->warden->run(std::move(call->request), output_publisher(*call));
    admission_->leave(call->caller);
    finish(*call, std::move(cell));
  }
  remove(entry);
  return std::move(call->result);
}

// --- the warden's thread drives it ---

struct Sandbox::Impl::Deciding {
  explicit Deciding(Impl& owner) : impl(owner) {
    const std::lock_guard lock(impl.mutex_);
    ++impl.deciding_;
  }
  ~Deciding() {
    const std::lock_guard lock(impl.mutex_);
    --impl.deciding_;
    if (impl.stopping_) impl.wake_.notify_all();
  }
  Deciding(const Deciding&) = delete;
  Deciding& operator=(const Deciding&) = delete;
  Impl& impl;
};

// The thread that drives the call reads a small result at once: waking another thread takes longer.
// Reading a large result takes a while, and other calls would wait for it. A call whose result is
// still to be read keeps its place, so there are never more unread results than running calls.
void Sandbox::Impl::end_async(Calls::iterator entry, std::shared_ptr<SandboxCall> call,
                              std::function<void(SandboxCall&)> how,
                              std::optional<std::size_t> to_read) {
  std::function<void()> job = [this, entry, call = std::move(call), how = std::move(how),
                               keeps_place = to_read > kShortResult] {
    how(*call);
    if (keeps_place)
      admission_->leave(call->caller);  // a caller that sees the end may make the next call
    {
      const std::lock_guard lock(mutex_);
      call->over = true;
    }
    call->on_done(std::move(call->result));
    // The thread that ends the Sandbox may go on once this call is off the list. This function
    // must not then hold the last reference to a warden, because it may run in that warden's
    // thread.
    std::shared_ptr<const PreparedTool> tool;
    {
      const std::lock_guard lock(mutex_);
      tool = std::move(call->tool);
    }
    tool.reset();
    remove(entry);
  };
  if (to_read && *to_read <= kShortResult) return job();
  later(std::move(job), to_read > kLongResult);
}

void Sandbox::Impl::run_async(Calls::iterator entry, const std::shared_ptr<SandboxCall>& call) {
  const Deciding stays(*this);
  if (watchers_.any()) watchers_.publish(event_of(*call, Event::Kind::started));
  const std::uint64_t id = call->tool->warden->submit(
      std::move(call->request), output_publisher(*call),
      [this, held = std::shared_ptr<SandboxCall>(call), entry](CellResult cell) mutable {
        const std::size_t size =
            cell.answer.bytes.size() + (cell.workspace ? cell.workspace->weight() : 0);
        if (size <= kShortResult) admission_->leave(held->caller);
        end_async(
            entry, std::move(held),
            [this, result = std::make_shared<CellResult>(std::move(cell))](SandboxCall& ended) {
              finish(ended, std::move(*result));
            },
            size);
      });
  const std::lock_guard lock(mutex_);
  call->warden_call = id;
  if (call->cancelled) stop(*call, call->at_once);
}

void Sandbox::Impl::call_async(const std::shared_ptr<SandboxCall>& call) {
  const auto entry = add(call);
  const std::uint64_t ticket = admission_->enter(
      call->caller, call->deadline,
      [this, call, entry](Admission::Verdict verdict) {
        if (verdict == Admission::Verdict::admitted) return run_async(entry, call);
        end_async(
            entry, call, [this, verdict](SandboxCall& ended) { refuse(ended, verdict); },
            std::nullopt);
      },
      this);
  set_ticket(*call, ticket);
}

Sandbox::Impl::Calls::iterator Sandbox::Impl::add(const std::shared_ptr<SandboxCall>& call) {
  std::unique_lock lock(mutex_);
  const auto entry = calls_.emplace(call->call_id, call);
  lock.unlock();
  // A watcher that sees this event can cancel the call.
  if (watchers_.any()) watchers_.publish(event_of(*call, Event::Kind::queued));
  return entry;
}

void Sandbox::Impl::remove(Calls::iterator entry) {
  // Released outside the lock: it may hold the last of a Warden.
  std::shared_ptr<SandboxCall> last;
  const std::lock_guard lock(mutex_);
  last = std::move(entry->second);
  // An event that was signalled is not reused.
  if (last->cancel_event && !last->cancelled && idle_events_.size() < 64)
    idle_events_.push_back(std::move(last->cancel_event));
  calls_.erase(entry);
  if (stopping_) wake_.notify_all();
}

void Sandbox::Impl::set_ticket(SandboxCall& call, std::uint64_t ticket) {
  bool cancelled;
  {
    const std::lock_guard lock(mutex_);
    call.ticket = ticket;
    cancelled = call.cancelled;
    deadlines_ = true;
    wake_.notify_all();
  }
  // It was cancelled before it had a ticket.
  if (cancelled) admission_->cancel(ticket);
}

void Sandbox::Impl::stop(SandboxCall& call, bool at_once) {
  call.cancelled = true;
  call.at_once = at_once;
  if (call.warden_call && call.tool)  // a call without a tool has just ended
    call.tool->warden->cancel(call.warden_call, at_once);
  if (call.cancel_event) signal_event(call.cancel_event);
}

bool Sandbox::Impl::cancel(const std::string& call_id, bool at_once) {
  std::vector<std::uint64_t> tickets;
  bool any = false;
  {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = calls_.equal_range(call_id);
    for (auto each = begin; each != end; ++each) {
      SandboxCall& call = *each->second;
      if (call.over) continue;
      any = true;
      stop(call, at_once);
      if (call.ticket) tickets.push_back(call.ticket);
    }
  }
  for (const std::uint64_t ticket : tickets) admission_->cancel(ticket);
  return any;
}

}  // namespace brig
