#include "cell/call.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "cell/call_limits.h"
#include "cell/violation.h"
#include "os/socket.h"
#include "os/sys.h"
#include "policy/listed_path.h"
#include "policy/seccomp.h"

namespace brig {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A cell usually ends well under a millisecond after it was told to kill its processes. After this
// time brig kills its init too.
constexpr milliseconds kStuck{1000};
// A cell that is still there after this time is stuck in the kernel. The call leaves it to the
// keeper, because the caller has a deadline. A machine with twenty times as much to do as it has
// CPUs takes two seconds.
constexpr milliseconds kGivenUp{5000};
// How often to look whether an init that has closed its socket is gone.
constexpr milliseconds kLook{5};
// A tool that is refused more often than this in one call gets plain errors from then on.
constexpr std::uint64_t kMaxRefusals = 1000;
constexpr std::size_t kReadSize = 256 * 1024;

bool is_alive(const UniqueFd& pidfd) {
  pollfd gone{pidfd.get(), POLLIN, 0};
  return poll(&gone, 1, 0) == 0;
}

Limits narrowed(Limits limits, const CallLimits& own) {
  for_each_call_limit([&](const auto& each) {
    if (own.*each.own) limits.*each.policys = *(own.*each.own);
  });
  return limits;
}

}  // namespace

Call::Call(const CallSettings& settings, CellRequest request, OutputCallback on_output)
    : settings_(settings),
      request_(std::move(request)),
      limits_(narrowed(settings.limits, request_.limits)),
      on_output_(std::move(on_output)),
      asked_(request_.asked),
      deadline_(asked_ + limits_.timeout),
      timer_(deadline_),
      interruption_(request_.interrupted),
      out_(limits_.output),
      err_(limits_.output),
      answer_(limits_.result) {}

void Call::refuse(Outcome outcome, std::string message) {
  report_.outcome = outcome;
  report_.message = std::move(message);
  report_.usage.wall = std::chrono::duration_cast<microseconds>(Clock::now() - asked_);
  over_ = true;
}

void Call::abandon(const std::string& why) {
  sys::pidfd_send_signal(cell_.pidfd.get(), SIGKILL);
  leave_stdin();
  refuse(Outcome::internal,
         fmt::format("brig could not receive from the cell: {}; the call was ended", why));
}

bool Call::start(ReadyCell cell) {
  cell_ = std::move(cell);
  begun_ = Clock::now();
  try {
    if (const std::string why = narrow(); !why.empty()) {
      sys::pidfd_send_signal(cell_.pidfd.get(), SIGKILL);
      refuse(Outcome::denied, why);
      return true;
    }
    if (!send_request()) {
      cell_ = ReadyCell();  // Its init may stay for as long as this holds the socket.
      return false;
    }
    sent_ = Clock::now();
    report_.enforced = settings_.enforced;  // Copied here, while the cell wakes up.
    report_.room = cell_.earlier_cells ? Room::as_new : Room::fresh;
    arm(sent_);
  } catch (const Error& error) {
    sys::pidfd_send_signal(cell_.pidfd.get(), SIGKILL);
    refuse(Outcome::internal, error.what());
  }
  return true;
}

// Reads what the function sends. Like drain(), it takes one piece at a time.
bool Call::listen(bool to_the_end) {
  if (!cell_.answer_read || early_) return false;
  static thread_local std::unique_ptr<char[]> bytes(new char[kReadSize]);
  do {
    const ssize_t size = read(cell_.answer_read.get(), bytes.get(), kReadSize);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN;
    // What follows is dropped. If nobody read it, the tool would die of that.
    if (heard_ && size > 0) continue;
    if (heard_) {
      cell_.answer_read.reset();
      return false;
    }
    const std::string_view piece(bytes.get(), static_cast<std::size_t>(size));
    if (piece.size() == 64 * 1024) fcntl(cell_.answer_read.get(), F_SETPIPE_SZ, 1 << 20);
    if (size == 0 || !answer_.feed(piece, request_.on_progress)) {
      heard_ = true;
      answered_ = Clock::now();
      if (answer_.answer().kind == Answer::Kind::too_large) end(Ending::result);
      // The report needs nothing more where a cgroup counts what was used and nobody looks at what
      // is left, so the call does not wait for the function's end. (Missing names are looked for
      // when nobody can make them any more.)
      early_ = answer_.complete() && ending_ == Ending::none && !settings_.shows_workspace &&
               cell_.made->missing.empty() && cell_.cgroup && cell_.cgroup->counts_cpu();
      if (size == 0) cell_.answer_read.reset();
      return size > 0 && !early_;
    }
  } while (to_the_end);
  return true;
}

std::array<int, Call::kSources> Call::descriptors() const {
  return {early_ ? -1 : cell_.answer_read.get(),
          init_socket(cell_).get(),
          cell_.out_read.get(),
          cell_.err_read.get(),
          unwatched_ ? -1 : cell_.listener.get(),
          ending_ == Ending::none ? request_.command.cancel_fd : -1,
          stdin_write_.get()};
}

void Call::on_ready(Source source) {
  if (over_) return;
  switch (source) {
    case kSocket: on_message(); break;
    case kOut:
    case kErr: drain(source, false); break;
    case kListener: on_refusal(); break;
    case kCancel: cancel(); break;
    case kStdin: feed(); break;
    case kAnswer:
      listen(false);
      if (early_) finish();
      break;
    case kSources: break;
  }
}

// Takes what the tool's process says when it can't become the tool. False if it is something else.
bool Call::hear_tool(const wire::Message& message) {
  if (ended_ && !cell_.room) return false;
  switch (message.tag) {
    case wire::Tag::exec_failed: exec_error_ = message.error; return true;
    case wire::Tag::request_failed: request_error_ = message.error; return true;
    case wire::Tag::directory_failed: directory_error_ = message.error; return true;
    case wire::Tag::files_failed:
      files_error_ = message.error;
      failed_file_ = message.index;
      return true;
    default: return false;
  }
}

// Only a call with a clean end, that used nothing by which it could be felt later, leaves a room
// that may be kept.
Call::RoomAfter Call::judge_room() const {
  const bool clean = report_.outcome == Outcome::ok || report_.outcome == Outcome::tool_error ||
                     report_.outcome == Outcome::exit;
  if (!cell_.room || !clean || !report_.violations.empty() || may_have_handed_out_ ||
      refusal_count_ || ending_ != Ending::none || kills_ || hearing_error_ || !cell_.listener ||
      request_.limits.memory || request_.limits.processes || request_.command.tty_fd >= 0)
    return RoomAfter::goes;
  if (!ended_) return early_ ? RoomAfter::unknown : RoomAfter::goes;
  return end_.room == wire::RoomState::as_new ? RoomAfter::stays : RoomAfter::goes;
}

// Everything on this socket comes from inside the cell. So this checks sizes and tags, and it makes
// no room for descriptors, which the kernel then drops.
void Call::on_message() {
  if (!cell_.socket) return;
  wire::Message message;
  const ssize_t size = recv_bytes(init_socket(cell_).get(), &message, sizeof message, MSG_DONTWAIT);
  if (size < 0 && errno == EAGAIN) return;
  if (size < 0) hearing_error_ = errno;
  if (size == sizeof message && !cell_.room && hear_tool(message)) return;
  if (size == sizeof message && message.tag == wire::Tag::tool_ended) {
    ended_ = true;
    end_ = message;
    // In a room that is kept the tool's process has a socket of its own.
    wire::Message said;
    while (cell_.room && recv_bytes(cell_.socket.get(), &said, sizeof said, MSG_DONTWAIT) ==
                             static_cast<ssize_t>(sizeof said))
      if (hear_tool(said)) break;
  } else if (size == sizeof message && cell_.room && message.tag == wire::Tag::failed) {
    request_error_ = message.error ? message.error : EIO;  // There was no process for the tool.
    return;
  } else if (size > 0) {
    return;  // brig's own code sends nothing like that.
  } else if (is_alive(cell_.pidfd)) {
    // An init that was killed closes its socket first. Only then the kernel ends the other
    // processes of the cell, and then the init itself.
    cell_.room.reset();
    cell_.socket.reset();
    gone_by_ = Clock::now() + kGivenUp;
    timer_ = Clock::now();
    return;
  }
  finish();
}

bool Call::drain(Source source, bool to_the_end) {
  UniqueFd& pipe = source == kOut ? cell_.out_read : cell_.err_read;
  if (!pipe) return false;
  OutputBuffer& buffer = source == kOut ? out_ : err_;
  static thread_local std::unique_ptr<char[]> bytes(new char[kReadSize]);
  // One thread serves many calls, so a flood gets one turn at a time.
  do {
    const ssize_t size = read(pipe.get(), bytes.get(), kReadSize);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN;
    if (size == 0) {
      pipe.reset();
      return false;
    }
    const std::string_view piece(bytes.get(), static_cast<std::size_t>(size));
    // A flood: with the default of 64 KiB, each piece would cost a switch.
    if (piece.size() == 64 * 1024) fcntl(pipe.get(), F_SETPIPE_SZ, 1 << 20);
    buffer.append(piece);
    if (on_output_) on_output_(source == kOut ? Stream::out : Stream::err, piece);
    if (limits_.output_total && out_.total() + err_.total() > *limits_.output_total)
      end(Ending::output);
  } while (to_the_end);
  return true;
}

void Call::on_refusal() {
  alignas(8) char received[256] = {}, answer[256] = {};
  auto* notice = reinterpret_cast<seccomp_notif*>(received);
  auto* response = reinterpret_cast<seccomp_notif_resp*>(answer);
  // Before Linux 6.11 the ioctl waits for ever if no process is left under the filter.
  pollfd waiting{cell_.listener.get(), POLLIN, 0};
  if (poll(&waiting, 1, 0) <= 0) return;
  if (!(waiting.revents & POLLIN)) return cell_.listener.reset();
  if (ioctl(cell_.listener.get(), SECCOMP_IOCTL_NOTIF_RECV, notice) != 0) {
    if (errno != EINTR && errno != ENOENT) cell_.listener.reset();
    return;
  }
  std::uint64_t arguments[6];
  std::copy(std::begin(notice->data.args), std::end(notice->data.args), arguments);
  response->id = notice->id;
  if (settings_.keeps_room && may_hand_out(notice->data.nr, arguments)) {
    may_have_handed_out_ = true;
    response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(cell_.listener.get(), SECCOMP_IOCTL_NOTIF_SEND, response);
    return;
  }
  const bool counted = std::count(settings_.counted_calls.begin(), settings_.counted_calls.end(),
                                  notice->data.nr) > 0;
  const std::uint64_t memory = counted ? counted_memory(notice->data.nr, arguments) : 0;
  if (counted && memory <= limits_.memory - shared_memory_) {
    shared_memory_ += memory;
    response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(cell_.listener.get(), SECCOMP_IOCTL_NOTIF_SEND, response);
    return;
  }
  if (counted)
    ++memory_refusals_;
  else
    ++refusals_[describe_refusal(notice->data.nr, arguments)];
  response->error = counted ? -ENOMEM : -refusal_errno(notice->data.nr);
  ioctl(cell_.listener.get(), SECCOMP_IOCTL_NOTIF_SEND, response);
  // Once it is closed, the kernel answers ENOSYS by itself: calls are still refused, but no longer
  // counted.
  if (++refusal_count_ >= kMaxRefusals) cell_.listener.reset();
}

void Call::drive() {
  const auto fds = descriptors();
  pollfd polls[kSources];
  for (unsigned i = 0; i < kSources; ++i)
    polls[i] = {fds[i], static_cast<short>(i == kStdin ? POLLOUT : POLLIN), 0};
  const auto left = interruption_.wait(std::max(Clock::duration::zero(), timer_ - Clock::now()));
  timespec wait{std::chrono::duration_cast<std::chrono::seconds>(left).count(),
                (left % std::chrono::seconds(1)).count()};
  const int count = ppoll(polls, kSources, &wait, nullptr);
  if (interruption_.came(count)) cancel(true);
  if (count > 0 && (polls[kListener].revents & (POLLIN | POLLHUP)) == POLLHUP) {
    polls[kListener].revents = 0;
    unwatched_ = true;  // Not closed here, because closing is slow.
  }
  quiet_ = count > 0 && polls[kAnswer].revents && !polls[kOut].revents && !polls[kErr].revents;
  // Output before the end: what is in the pipes belongs to the report either way.
  for (const Source source : {kListener, kStdin, kOut, kErr, kAnswer, kSocket, kCancel})
    if (count > 0 && polls[source].revents) on_ready(source);
  if (!over_) on_timer(Clock::now());
}

void Call::cancel(bool at_once) {
  end(Ending::cancelled);
  if (at_once && !over_ && kills_ == 0) timer_ = Clock::now();
}

void Call::end(Ending why) {
  if (over_ || ending_ != Ending::none || gone_by_ != Clock::time_point{}) return;
  ending_ = why;
  kill_at_ = Clock::now() + limits_.grace;
  // The init passes the signal on to every process of the cell.
  if (limits_.grace.count() > 0) sys::pidfd_send_signal(cell_.pidfd.get(), SIGTERM);
  timer_ = kill_at_;
}

void Call::arm(Clock::time_point now) {
  timer_ = deadline_;
  if (!limits_.cpu_time || !cell_.cgroup) return;
  const auto used = cell_.cgroup->cpu_micros();
  if (!used) return;
  const microseconds left = *limits_.cpu_time - microseconds(*used);
  // The earliest moment at which all cores together could have used up the rest.
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  timer_ = std::min(timer_, now + std::max(left / cores, microseconds(1000)));
}

void Call::on_timer(Clock::time_point now) {
  if (over_ || now < timer_) return;
  if (gone_by_ != Clock::time_point{}) {
    if (now >= gone_by_ || !is_alive(cell_.pidfd)) return finish();
    timer_ = now + kLook;
  } else if (kills_ == 2) {
    finish();  // Stuck in the kernel.
  } else if (ending_ != Ending::none) {
    // The first signal has the init kill all other processes, so that it can still report how they
    // ended and what they used. The second one kills the init.
    sys::pidfd_send_signal(cell_.pidfd.get(), kills_++ == 0 ? SIGUSR1 : SIGKILL);
    timer_ = now + (kills_ == 1 ? kStuck : kGivenUp);
  } else if (now >= deadline_) {
    end(Ending::wall);
  } else if (cell_.cgroup &&
             microseconds(cell_.cgroup->cpu_micros().value_or(0)) >= *limits_.cpu_time) {
    end(Ending::cpu);
  } else {
    arm(now);
  }
}

// The tool is gone, so no more connections come.
void Call::close_way_out() {
  if (!cell_.way_out) return;
  egress::WayOut::Account account;
  try {
    account = cell_.way_out->close();
  } catch (const Error& error) {
    unaccounted_ = fmt::format("{}; the report lacks its connections; try again", error.what());
    return;
  }
  report_.connections = std::move(account.connections);
  report_.connections_total = account.total;
  add_refused_connections(report_.violations, report_.connections);
  if (account.refused)
    report_.violations.push_back(too_many_connections(account.refused, limits_.connections));
  // The proxy counts from when the cell was made, and a reader expects the call's beginning.
  const auto before = std::chrono::duration_cast<microseconds>(asked_ - account.made);
  for (Connection& each : report_.connections) each.begin -= before;
}

void open_way_out(const CallSettings& settings, ReadyCell& cell) {
  if (!settings.egress) return;
  if (!cell.proxy_sockets.are_complete(*settings.egress))
    // The kernel drops descriptors for which this process has no room.
    throw Error(ErrorKind::resource,
                "receiving a cell's sockets for the proxy: Too many open files; raise ulimit -n");
  cell.way_out =
      std::make_unique<egress::WayOut>(settings.egress, std::exchange(cell.proxy_sockets, {}));
}

void Call::finish() {
  // All writers are dead by now, so this ends. If one is stuck in the kernel, it ends at EAGAIN.
  if (!early_ || !quiet_) {
    drain(kOut, true);
    drain(kErr, true);
  }
  if (!heard_) listen(true);
  leave_stdin();
  const CgroupUsage usage = cell_.cgroup ? cell_.cgroup->end() : CgroupUsage{};
  report_.usage.cpu =
      microseconds(early_ ? cell_.cgroup->cpu_micros().value_or(0) : end_.cpu_micros);
  // A command smaller than the cell that it replaced adds nothing to the cgroup. Then the report
  // has the command's own size.
  report_.usage.memory_peak = usage.memory_peak.value_or(0);
  if (report_.usage.memory_peak == 0) report_.usage.memory_peak = end_.max_rss_kib * 1024;
  if (usage.processes_peak)
    report_.usage.processes_peak = *usage.processes_peak > settings_.own_tasks
                                       ? *usage.processes_peak - settings_.own_tasks
                                       : 0;
  close_way_out();
  for (const auto& [what, count] : refusals_)
    report_.violations.push_back(refused_call(what, count, settings_.network, settings_.syscalls));
  if (usage.oom_kills)
    report_.violations.push_back(killed_for_memory(usage.oom_kills, limits_.memory));
  if (memory_refusals_)
    report_.violations.push_back(refused_memory(memory_refusals_, limits_.memory));
  if (usage.fork_failures)
    report_.violations.push_back(refused_process(usage.fork_failures, limits_.processes));
  for (const MissingName& each : cell_.made->missing)
    if (is_there(each)) report_.violations.push_back(appeared(each.path));
  report_.out = out_.take();
  report_.err = err_.take();
  judge(report_, usage);
  if (report_.outcome != Outcome::ok) conclude(report_);
  room_after_ = judge_room();
  // A room that may stay has its init kill the rest. Between two calls that signal does nothing.
  if (!ended_)
    sys::pidfd_send_signal(cell_.pidfd.get(), room_after_ == RoomAfter::goes ? SIGKILL : SIGUSR1);
  const Clock::time_point now = Clock::now();
  const auto between = [](Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration_cast<microseconds>(to - from);
  };
  if (answered_ == Clock::time_point{} || !answer_.complete()) answered_ = now;
  report_.usage.wall = between(asked_, now);
  report_.steps = {between(asked_, begun_), between(begun_, sent_), between(sent_, answered_),
                   between(answered_, now)};
  over_ = true;
}

}  // namespace brig
