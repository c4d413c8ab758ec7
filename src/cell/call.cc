#include "cell/call.h"

#include <fcntl.h>
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
#include "os/memfd.h"
#include "os/seccomp.h"
#include "os/socket.h"
#include "os/sys.h"

namespace brig {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A cell is gone well under a millisecond after it was told to kill its processes. One that is stuck
// in the kernel is killed itself after this long, and left to the keeper after as long again: the
// caller has a deadline.
constexpr milliseconds kStuck{1000};
// A tool that is refused this often in one call gets plain errors from then on.
constexpr std::uint64_t kMaxRefusals = 1000;
constexpr std::size_t kReadSize = 256 * 1024;

UniqueFd file_of(const char* name, const std::string& bytes) {
  UniqueFd file = make_memfd(name);
  if (!file || !fill_and_seal(file.get(), bytes)) throw_sys("{}: writing a memfd", name);
  (void)!fchmod(file.get(), 0444);  // /dev/stdin must open for the tool's id too
  // A description of its own, read-only, at offset 0.
  UniqueFd reader(open(fmt::format("/proc/self/fd/{}", file.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!reader) throw_sys("{}: reopening the memfd", name);
  return reader;
}

}  // namespace

void stow_arguments(CellRequest& request) {
  if (!request.arguments || request.arguments->size() <= wire::kInlineArguments) return;
  request.arguments_file = file_of("arguments", *request.arguments);
  request.arguments.emplace();  // clear() would keep the memory
}

Call::Call(const CallSettings& settings, CellRequest request, OutputCallback on_output)
    : settings_(settings),
      request_(std::move(request)),
      on_output_(std::move(on_output)),
      asked_(request_.asked),
      deadline_(asked_ + settings.limits.wall_time),
      timer_(deadline_),
      out_(settings.limits.output),
      err_(settings.limits.output),
      answer_(settings.limits.result) {}

std::string Call::defect(const CellRequest& request) {
  const Command& command = request.command;
  if (request.arguments && request.arguments->size() > wire::kMaxArguments)
    return "the arguments are longer than 1 GiB";
  if (command.argv.empty()) return "the command has no program: argv is empty";
  if (command.argv[0].empty()) return "the command has no program: argv[0] is empty";
  std::size_t size = 0;
  for (const std::string& each : command.argv) {
    if (each.find('\0') != std::string::npos)
      return "an argument holds a NUL byte, which no command can receive";
    if (each.size() >= 128 * 1024)
      return "an argument is longer than 128 KiB, which Linux refuses; pass it on stdin";
    size += each.size() + 1;
  }
  if (command.argv.size() > wire::kMaxStrings / 2 || size > wire::kMaxRequest / 2)
    return "the arguments are longer than 2 MiB in all, which Linux refuses; pass them on stdin";
  if (command.stdin_fd >= 0) {
    struct stat info;
    const int flags = fcntl(command.stdin_fd, F_GETFL);
    if (flags < 0 || fstat(command.stdin_fd, &info) != 0)
      return fmt::format("stdin: descriptor {} is not open", command.stdin_fd);
    if ((flags & O_PATH) || S_ISDIR(info.st_mode) || S_ISBLK(info.st_mode))
      return "stdin is a directory or a device, which would lead out of the cell; give a file, a "
             "pipe or nothing";
  }
  if (command.tty_fd >= 0 && !isatty(command.tty_fd))
    return fmt::format("tty: descriptor {} is not a terminal", command.tty_fd);
  return "";
}

void Call::refuse(Outcome outcome, std::string message) {
  report_.outcome = outcome;
  report_.message = std::move(message);
  report_.usage.wall = std::chrono::duration_cast<microseconds>(Clock::now() - asked_);
  over_ = true;
}

bool Call::start(ReadyCell cell) {
  cell_ = std::move(cell);
  report_.enforced = settings_.enforced;
  begun_ = Clock::now();
  try {
    if (!send_request()) return false;
    sent_ = Clock::now();
    arm(sent_);
  } catch (const Error& error) {
    sys::pidfd_send_signal(cell_.pidfd.get(), SIGKILL);
    refuse(Outcome::internal, error.what());
  }
  return true;
}

namespace {

// "NAME=value" strings of a cell; how many.
std::uint32_t add_environment(const CallSettings& settings, const ReadyCell& cell,
                              std::string& strings) {
  strings += settings.environment;
  if (cell.scratch.empty()) return settings.variables;
  for (const std::string& name : settings.scratch_variables)
    strings.append(name).append("=").append(cell.scratch).push_back('\0');
  return settings.variables + static_cast<std::uint32_t>(settings.scratch_variables.size());
}

// In the packet, or in a memfd beside it.
bool send_strings(int socket, std::string& strings, wire::Request request, int* fds, int count,
                  int arguments_file) {
  UniqueFd large;
  request.size = static_cast<std::uint32_t>(strings.size());
  std::memcpy(strings.data(), &request, sizeof request);
  std::size_t packet = strings.size();
  if (packet > wire::kInlineRequest) {
    large = file_of("request", strings);
    fds[count++] = large.get();
    packet = sizeof request;
  }
  if (arguments_file >= 0) fds[count++] = arguments_file;
  return send_packet(socket, strings.data(), packet, fds, count);
}

}  // namespace

bool send_equipment(const CallSettings& settings, ReadyCell& cell) {
  std::string strings(sizeof(wire::Request), '\0');
  wire::Request request{};
  request.tag = wire::Tag::equip;
  request.envc = add_environment(settings, cell, strings);
  int fds[kMaxPacketFds] = {cell.null.get(), cell.out_write.get(), cell.err_write.get(),
                            cell.answer_write.get()};
  const bool sent = send_strings(cell.socket.get(), strings, request, fds, 4, -1);
  cell.out_write.reset();
  cell.err_write.reset();
  cell.answer_write.reset();
  return sent;
}

bool Call::send_request() {
  if (request_.arguments) return send_function();
  const Command& command = request_.command;
  std::string strings;
  strings.reserve(sizeof(wire::Request) + 1024 + settings_.environment.size());
  strings.resize(sizeof(wire::Request));
  for (const std::string& each : command.argv) strings.append(each).push_back('\0');
  wire::Request request{};
  request.tag = wire::Tag::request;
  request.argc = static_cast<std::uint32_t>(command.argv.size());
  request.envc = add_environment(settings_, cell_, strings);
  request.has_tty = command.tty_fd >= 0;

  UniqueFd input;
  int fds[kMaxPacketFds] = {cell_.null.get(), cell_.out_write.get(), cell_.err_write.get()};
  if (command.tty_fd >= 0) {
    fds[0] = fds[1] = fds[2] = command.tty_fd;
  } else if (command.stdin_fd >= 0) {
    struct stat info;
    if (fstat(command.stdin_fd, &info) != 0) throw_sys("stdin: fstat");
    fds[0] = command.stdin_fd;
    if (S_ISREG(info.st_mode)) {
      int pipe_ends[2];
      if (pipe2(pipe_ends, O_CLOEXEC) != 0) throw_sys("stdin: pipe2");
      stdin_read_.reset(pipe_ends[0]);
      stdin_write_.reset(pipe_ends[1]);
      (void)!fchmod(pipe_ends[0], 0444);  // /dev/stdin must open for the tool's id too
      fds[0] = stdin_read_.get();
    }
  } else if (command.stdin_bytes) {
    input = file_of("stdin", *command.stdin_bytes);
    fds[0] = input.get();
  }
  if (!send_strings(cell_.socket.get(), strings, request, fds, 3, -1)) return is_dead();
  cell_.out_write.reset();
  cell_.err_write.reset();
  return true;
}

// After a send that failed: false if it is the cell that is gone.
bool Call::is_dead() {
  if (errno == EPIPE || errno == ECONNRESET) return false;
  throw_sys("sending the request to the cell");
}

bool Call::send_function() {
  struct stat arguments {};
  if (request_.arguments_file && fstat(request_.arguments_file.get(), &arguments) != 0)
    throw_sys("arguments: fstat");
  std::string strings(sizeof(wire::Request), '\0');
  strings.append(request_.command.argv[0]).push_back('\0');
  strings += *request_.arguments;
  wire::Request request{};
  request.tag = wire::Tag::request;
  request.argc = 1;
  request.arguments_file = static_cast<std::uint32_t>(arguments.st_size);
  int fds[kMaxPacketFds];
  if (!send_strings(cell_.socket.get(), strings, request, fds, 0, request_.arguments_file.get()))
    return is_dead();
  request_.arguments_file.reset();
  return true;
}

// What the function says. As drain(): one piece at a time.
bool Call::listen(bool to_the_end) {
  if (!cell_.answer_read || heard_) return false;
  static thread_local std::unique_ptr<char[]> bytes(new char[kReadSize]);
  do {
    const ssize_t size = read(cell_.answer_read.get(), bytes.get(), kReadSize);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN;
    const std::string_view piece(bytes.get(), static_cast<std::size_t>(size));
    if (piece.size() == 64 * 1024) fcntl(cell_.answer_read.get(), F_SETPIPE_SZ, 1 << 20);
    if (size == 0 || !answer_.feed(piece, request_.on_progress)) {
      heard_ = true;
      answered_ = Clock::now();
      if (answer_.answer().kind == Answer::Kind::too_large) end(Ending::result);
      // All there is to know is known, where a cgroup counts what was used: its end is not waited for.
      early_ = answer_.complete() && ending_ == Ending::none && cell_.cgroup &&
               cell_.cgroup->counts_cpu();
      if (!early_) cell_.answer_read.reset();
      return false;
    }
  } while (to_the_end);
  return true;
}

void Call::feed() {
  const ssize_t size = splice(request_.command.stdin_fd, nullptr, stdin_write_.get(), nullptr,
                              1 << 20, SPLICE_F_NONBLOCK);
  if (size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR))) return;
  stdin_write_.reset();  // the end of the file, or of what can be read of it
  stdin_read_.reset();
}

std::array<int, Call::kSources> Call::descriptors() const {
  return {cell_.socket.get(),
          cell_.out_read.get(),
          cell_.err_read.get(),
          unwatched_ ? -1 : cell_.listener.get(),
          ending_ == Ending::none ? request_.command.cancel_fd : -1,
          stdin_write_.get(),
          heard_ ? -1 : cell_.answer_read.get()};
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

// Everything on this socket comes from inside the cell: sizes and tags are checked, and descriptors
// sent along are dropped by the kernel, since no room is made for them.
void Call::on_message() {
  wire::Message message;
  const ssize_t size = recv_bytes(cell_.socket.get(), &message, sizeof message, MSG_DONTWAIT);
  if (size < 0 && errno == EAGAIN) return;
  if (size < 0) hearing_error_ = errno;
  if (size == sizeof message && message.tag == wire::Tag::exec_failed && !ended_) {
    exec_error_ = message.error;
    return;
  }
  if (size == sizeof message && message.tag == wire::Tag::request_failed && !ended_) {
    request_error_ = message.error;
    return;
  }
  if (size == sizeof message && message.tag == wire::Tag::tool_ended) {
    ended_ = true;
    end_ = message;
  } else if (size > 0) {
    return;  // nothing that brig's own code sends
  }
  finish();
}

bool Call::drain(Source source, bool to_the_end) {
  UniqueFd& pipe = source == kOut ? cell_.out_read : cell_.err_read;
  if (!pipe) return false;
  OutputBuffer& buffer = source == kOut ? out_ : err_;
  static thread_local std::unique_ptr<char[]> bytes(new char[kReadSize]);
  // One thread serves many calls: a flood gets one turn at a time.
  do {
    const ssize_t size = read(pipe.get(), bytes.get(), kReadSize);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN;
    if (size == 0) {
      pipe.reset();
      return false;
    }
    const std::string_view piece(bytes.get(), static_cast<std::size_t>(size));
    // A flood: the default 64 KiB would cost a switch each.
    if (piece.size() == 64 * 1024) fcntl(pipe.get(), F_SETPIPE_SZ, 1 << 20);
    buffer.append(piece);
    if (on_output_) on_output_(source == kOut ? Stream::out : Stream::err, piece);
    if (settings_.limits.output_total &&
        out_.total() + err_.total() > *settings_.limits.output_total)
      end(Ending::output);
  } while (to_the_end);
  return true;
}

void Call::on_refusal() {
  alignas(8) char received[256] = {}, answer[256] = {};
  auto* notice = reinterpret_cast<seccomp_notif*>(received);
  auto* response = reinterpret_cast<seccomp_notif_resp*>(answer);
  // Before Linux 6.11 the ioctl waits for ever once nobody is left who could be refused.
  pollfd waiting{cell_.listener.get(), POLLIN, 0};
  if (poll(&waiting, 1, 0) <= 0) return;
  if (!(waiting.revents & POLLIN)) return cell_.listener.reset();
  if (ioctl(cell_.listener.get(), SECCOMP_IOCTL_NOTIF_RECV, notice) != 0) {
    if (errno != EINTR && errno != ENOENT) cell_.listener.reset();
    return;
  }
  std::uint64_t arguments[6];
  std::copy(std::begin(notice->data.args), std::end(notice->data.args), arguments);
  ++refusals_[describe_refusal(notice->data.nr, arguments)];
  response->id = notice->id;
  response->error = -refusal_errno(notice->data.nr);
  ioctl(cell_.listener.get(), SECCOMP_IOCTL_NOTIF_SEND, response);
  // Closed, the kernel answers ENOSYS by itself: still refused, no longer counted.
  if (++refusal_count_ >= kMaxRefusals) cell_.listener.reset();
}

void Call::drive() {
  const auto fds = descriptors();
  pollfd polls[kSources];
  for (unsigned i = 0; i < kSources; ++i)
    polls[i] = {fds[i], static_cast<short>(i == kStdin ? POLLOUT : POLLIN), 0};
  const auto left = std::max(Clock::duration::zero(), timer_ - Clock::now());
  timespec wait{std::chrono::duration_cast<std::chrono::seconds>(left).count(),
                (left % std::chrono::seconds(1)).count()};
  const int count = ppoll(polls, kSources, &wait, nullptr);
  if (count > 0 && (polls[kListener].revents & (POLLIN | POLLHUP)) == POLLHUP) {
    polls[kListener].revents = 0;
    unwatched_ = true;  // not closed here: that is slow
  }
  // Output before the end: what is in the pipes belongs to the report either way.
  for (const Source source : {kListener, kStdin, kOut, kErr, kAnswer, kSocket, kCancel})
    if (count > 0 && polls[source].revents) on_ready(source);
  if (!over_) on_timer(Clock::now());
}

void Call::cancel() { end(Ending::cancelled); }

void Call::end(Ending why) {
  if (over_ || ending_ != Ending::none) return;
  ending_ = why;
  kill_at_ = Clock::now() + settings_.limits.grace;
  // The init passes it on to every process of the cell.
  if (settings_.limits.grace.count() > 0) sys::pidfd_send_signal(cell_.pidfd.get(), SIGTERM);
  timer_ = kill_at_;
}

void Call::arm(Clock::time_point now) {
  timer_ = deadline_;
  if (!settings_.limits.cpu_time || !cell_.cgroup) return;
  const auto used = cell_.cgroup->cpu_micros();
  if (!used) return;
  const microseconds left = *settings_.limits.cpu_time - microseconds(*used);
  // The soonest moment at which all cores together could have used up what is left.
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  timer_ = std::min(timer_, now + std::max(left / cores, microseconds(1000)));
}

void Call::on_timer(Clock::time_point now) {
  if (over_ || now < timer_) return;
  if (kills_ == 2) {
    finish();  // stuck in the kernel
  } else if (ending_ != Ending::none) {
    // First the init is asked to kill all others, so that it can still tell how they ended and what
    // they used; then it goes too.
    sys::pidfd_send_signal(cell_.pidfd.get(), kills_++ == 0 ? SIGUSR1 : SIGKILL);
    timer_ = now + kStuck;
  } else if (now >= deadline_) {
    end(Ending::wall);
  } else if (cell_.cgroup &&
             microseconds(cell_.cgroup->cpu_micros().value_or(0)) >= *settings_.limits.cpu_time) {
    end(Ending::cpu);
  } else {
    arm(now);
  }
}

void Call::finish() {
  // All writers are dead by now, so this ends; if one is stuck in the kernel, at EAGAIN.
  drain(kOut, true);
  drain(kErr, true);
  listen(true);
  const CgroupUsage usage = cell_.cgroup ? cell_.cgroup->end() : CgroupUsage{};
  report_.usage.cpu =
      microseconds(early_ ? cell_.cgroup->cpu_micros().value_or(0) : end_.cpu_micros);
  // A command smaller than the cell it replaced adds nothing to the cgroup: its own size is told then.
  report_.usage.memory_peak = usage.memory_peak.value_or(0);
  if (report_.usage.memory_peak == 0) report_.usage.memory_peak = end_.max_rss_kib * 1024;
  if (usage.processes_peak)
    report_.usage.processes_peak = *usage.processes_peak > settings_.own_tasks
                                       ? *usage.processes_peak - settings_.own_tasks
                                       : 0;
  for (const auto& [what, count] : refusals_)
    report_.violations.push_back({"seccomp", what, count});
  if (usage.oom_kills)
    report_.violations.push_back({"memory", "killed by the out-of-memory killer", usage.oom_kills});
  if (usage.fork_failures)
    report_.violations.push_back({"processes", "refused a new process", usage.fork_failures});
  report_.out = out_.take();
  report_.err = err_.take();
  judge(report_, usage);
  if (!ended_) sys::pidfd_send_signal(cell_.pidfd.get(), SIGKILL);
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
