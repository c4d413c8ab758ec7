// brig::run(): one call, in a cell made for it alone. It does as much as possible side by side: the
// helper starts while the host works the plan out, and the cell makes its namespaces before it has
// the plan.
#include <brig/runner.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "cell/call_stdin.h"
#include "cell/helper_process.h"
#include "cell/root_layout.h"
#include "os/rights.h"
#include "os/socket.h"
#include "os/sys.h"
#include "policy/listed_path.h"
#include "policy/presets.h"

namespace brig {
namespace {

using std::chrono::milliseconds;
using wire::Message;
using wire::Tag;

class OneCall {
 public:
  explicit OneCall(const Policy& policy) : policy_(policy) {}

  // After an error, this ends the cell, because its janitor may be what failed.
  ~OneCall() {
    for (int i = 0; !ended_ && !cell_.pidfd && helper_.socket && i < 4; ++i) {
      Message message{};  // It may not have been read yet.
      Packet packet = recv_packet(helper_.socket.get(), &message, sizeof message, MSG_DONTWAIT);
      cell_.pidfd = std::move(packet.fds[0]);
      if (packet.size <= 0) break;
    }
    if (ended_ || !cell_.pidfd) return;
    sys::pidfd_send_signal(cell_.pidfd.get(), SIGKILL);
    pollfd gone{cell_.pidfd.get(), POLLIN, 0};
    poll(&gone, 1, 2000);
  }

  Report run(const Command& command, const OutputCallback& on_output) {
    set_up(command);
    const bool ready = await_ready(command);
    CellRequest request{command};
    request.interrupted = command.interrupted;
    if (terminal_inside_) {
      request.command.tty_fd = terminal_inside_.get();
      if (ready) command.on_terminal(terminal_.get());
    }
    Call call(settings_, std::move(request), on_output);  // The call's time starts here.
    if (!ready) {
      call.refuse(Outcome::cancelled, "the call was cancelled before it ran");
      return call.take().report;
    }
    // The request starts the command. It is sent when nothing that was promised can fail any more.
    if (!call.start(std::move(cell_)))
      throw Error(ErrorKind::internal, "the cell ended before its call; try again");
    while (!call.over()) call.drive();
    ended_ = true;      // The janitor does the rest.
    helper_.hang_up();  // It cleans up while the host puts the report together.
    return call.take().report;
  }

 private:
  void set_up(const Command& command) {
    HelperProcess::Started started = helper_.spawn();
    // The cell may start before its plan is there, unless that needs id maps first, or unless it
    // would then not be in the scope that the janitor moves into.
    const bool early =
        as_root_ ? !needs_id_maps(policy_.files) : scope_manager(policy_, true).empty();
    if (early) prepare(command);
    HelperProcess::Planned planned = std::move(started).work_out(policy_, true);
    if (early && helper_.plan.plan().id_maps.count)
      throw Error(ErrorKind::resource,
                  "files.read: a file became unreadable while brig made the cell; try again");
    std::move(planned).send_plan(early ? cell_.socket.get() : -1);
    if (!early) prepare(command);
    cell_.made = helper_.as_made;
    settings_ = call_settings(policy_, helper_.plan, true);
    make_pipes(helper_.plan.plan(), false, cell_);
    if (helper_.cgroups.version) {
      cell_.cgroup = std::make_shared<SlotCgroup>(helper_.cgroups, 0, 0);
      cell_.cgroup->begin(settings_.own_tasks + 1);
    }
    if (!helper_.plan.scratch_directory.empty())
      cell_.scratch = fmt::format("{}/0", helper_.plan.scratch_directory);
  }

  void prepare(const Command& command) {
    int pair[2];
    if (!packet_pair(pair)) throw_sys("starting the helper: socketpair");
    cell_.socket.reset(pair[0]);
    const UniqueFd theirs(pair[1]);
    Message message{};
    message.tag = Tag::prepare;
    if (policy_.isolation == Isolation::jail)
      message.index = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS |
                      (as_root_ ? 0 : CLONE_NEWUSER) |
                      (policy_.network == Network::host ? 0 : CLONE_NEWNET);
    message.user = policy_.user.value_or(kCellId);
    int fds[] = {theirs.get(), -1}, count = 1;
    if (policy_.isolation == Isolation::jail && may_be_viewed(command.stdin_fd)) {
      message.status |= wire::kExtraInput;
      fds[count++] = command.stdin_fd;
    }
    if (command.on_terminal) message.status |= wire::kExtraTerminal;
    if (!send_or_ended(helper_.socket.get(), message, fds, count))
      throw_sys("starting the helper: sending");
  }

  // Waits until the janitor has sent the cell's pidfd and the cell has reported that it is locked.
  // False if the caller no longer wants the call. The set-up has a deadline too, because a path on
  // a dead network file system must not hang the caller.
  bool await_ready(const Command& command) {
    const milliseconds patience = set_up_patience(policy_);
    const auto until = Clock::now() + patience;
    Interruption interruption(command.interrupted);
    pollfd polls[] = {{helper_.socket.get(), POLLIN, 0},
                      {cell_.socket.get(), POLLIN, 0},
                      {command.cancel_fd, POLLIN, 0}};
    while (!cell_.pidfd || !locked_) {
      const auto left = std::chrono::ceil<milliseconds>(
          interruption.wait(std::max(Clock::duration::zero(), until - Clock::now())));
      const int count = poll(polls, 3, static_cast<int>(left.count()));
      const int error = errno;
      if (interruption.came(count)) return false;
      errno = error;
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw_sys("waiting for the cell: poll");
      if (count == 0 && Clock::now() < until) continue;
      if (count == 0) throw Error(ErrorKind::resource, out_of_patience(patience));
      for (int i = 0; i < 2; ++i)
        if (polls[i].revents) on_message(polls[i].fd, i == 1);
      if (polls[2].revents) return false;
    }
    return true;
  }

  void on_message(int socket, bool from_cell) {
    Message message{};
    Packet packet = recv_packet(socket, &message, sizeof message, MSG_DONTWAIT);
    UniqueFd& first = packet.fds[0];
    if (packet.size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (packet.size == sizeof message && message.tag == Tag::failed) fail(message);
    // The kernel drops a descriptor for which this process has no room, and delivers the rest.
    const bool listens = helper_.plan.plan().lock_filter.count != 0;
    const int expected = message.tag == Tag::cell_made ? 1
                         : message.tag == Tag::cell_ready
                             ? ((message.status & wire::kExtraInput) != 0) +
                                   2 * ((message.status & wire::kExtraTerminal) != 0) + listens
                             : 0;
    if (packet.size == sizeof message && packet.fd_count < expected)
      throw Error(ErrorKind::resource,
                  "receiving the cell's descriptors: Too many open files; raise ulimit -n");
    if (packet.size == sizeof message && !from_cell && message.tag == Tag::cell_made && first) {
      cell_.pidfd = std::move(first);
    } else if (packet.size == sizeof message && from_cell && message.tag == Tag::way_out) {
      for (int i = 0; i < packet.fd_count; ++i) cell_.proxy_sockets.add(std::move(packet.fds[i]));
    } else if (packet.size == sizeof message && from_cell && message.tag == Tag::cell_ready) {
      locked_ = true;
      int next = 0;
      if (message.status & wire::kExtraInput) cell_.input = std::move(packet.fds[next++]);
      if (message.status & wire::kExtraTerminal) {
        terminal_ = std::move(packet.fds[next++]);
        terminal_inside_ = std::move(packet.fds[next++]);
      }
      cell_.listener = std::move(packet.fds[next]);
      open_way_out(settings_, cell_);
    } else {
      // Chance decides which of the two ends is seen first. Either may have said why.
      for (const int other : {helper_.socket.get(), cell_.socket.get()})
        while (recv_packet(other, &message, sizeof message, MSG_DONTWAIT).size == sizeof message)
          if (message.tag == Tag::failed) fail(message);
      throw Error(ErrorKind::internal, from_cell ? "the cell ended while it was made; try again"
                                                 : "the helper ended while a cell was made");
    }
  }

  [[noreturn]] void fail(const Message& message) {
    throw Error(failure_kind(message.stage, message.error),
                failure_text(helper_.plan.plan(), message.stage, message.error, message.index));
  }

  const Policy& policy_;
  const bool as_root_ = has_root_rights();
  HelperProcess helper_;
  CallSettings settings_;
  ReadyCell cell_;
  UniqueFd terminal_, terminal_inside_;
  bool locked_ = false, ended_ = false;
};

}  // namespace

Report run(const Command& command, const Policy& policy, const OutputCallback& on_output) {
  const Policy whole = whole_policy(policy);
  const std::string defect = Call::defect({command}, whole.isolation == Isolation::jail);
  if (!defect.empty()) {
    Report report;
    report.outcome = Outcome::invalid_arguments;
    report.message = defect;
    return report;
  }
  const Files& files = whole.files;
  if (files.read_optional.empty() && files.write_optional.empty())
    return OneCall(whole).run(command, on_output);
  const Policy settled = with_optional_settled(whole);
  return OneCall(settled).run(command, on_output);
}

}  // namespace brig
