#include "os/user_scope.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/fd.h"
#include "base/random.h"
#include "base/text.h"
#include "os/dbus_message.h"

namespace brig {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// A manager that is busy starting a session may take its time. One that hangs must not hang every
// call.
constexpr milliseconds kPatience{3000};

// The first namespaces, which all processes outside of containers have (include/linux/proc_ns.h).
constexpr ino_t kFirstPidNamespace = 0xEFFFFFFC, kFirstCgroupNamespace = 0xEFFFFFFB;

bool is_namespace(const char* path, ino_t number) {
  struct stat info {};
  return stat(path, &info) == 0 && info.st_ino == number;
}

// One connection to the manager, with one deadline for all of it. The manager is a peer on its own
// socket and not a bus: brig asks for no name, and every signal comes without a subscription.
class Manager {
 public:
  Manager(const std::string& path, milliseconds patience) : until_(Clock::now() + patience) {
    call(path);
    if (fault_.empty()) log_in();
  }

  const std::string& fault() const { return fault_; }

  bool send(std::string_view bytes) {
    while (fault_.empty() && !bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0)
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      else if (errno == EAGAIN)
        wait(POLLOUT);
      else if (errno != EINTR)
        fail(errno_text(errno));
    }
    return fault_.empty();
  }

  // The next message. Nothing once something has gone wrong.
  std::optional<DbusMessage> receive() {
    for (;;) {
      const std::optional<std::size_t> size = dbus_message_size(received_);
      if (!size) fail("its answer is not a D-Bus message");
      if (!fault_.empty()) return std::nullopt;
      if (*size > 0) {
        std::optional<DbusMessage> message =
            parse_dbus_message(std::string_view(received_).substr(0, *size));
        if (!message) fail("its answer is not a D-Bus message");
        received_.erase(0, *size);
        return message;
      }
      read_more();
    }
  }

 private:
  void fail(std::string why) {
    if (fault_.empty()) fault_ = std::move(why);
  }

  void call(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return fail("the path of its socket is too long");
    std::memcpy(address.sun_path, path.c_str(), path.size());
    socket_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_ ||
        connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      return fail(errno_text(errno));
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
        peer.uid != geteuid())
      return fail("its socket belongs to another user");
  }

  void wait(short events) {
    const auto left = std::chrono::duration_cast<milliseconds>(until_ - Clock::now()).count();
    pollfd ready{socket_.get(), events, 0};
    if (left <= 0 || poll(&ready, 1, static_cast<int>(left)) == 0) fail("it does not answer");
  }

  // Checks the time here too: a peer that always sends something leaves nothing to wait for.
  void read_more() {
    char bytes[16 << 10];
    if (Clock::now() >= until_) return fail("it does not answer");
    const ssize_t size = recv(socket_.get(), bytes, sizeof bytes, 0);
    if (size > 0)
      received_.append(bytes, static_cast<std::size_t>(size));
    else if (size == 0)
      fail("it closed the connection");
    else if (errno == EAGAIN)
      wait(POLLIN);
    else if (errno != EINTR)
      fail(errno_text(errno));
  }

  // EXTERNAL: the peer knows this process from the kernel. The user id is sent as text, in
  // hexadecimal.
  void log_in() {
    std::string line("\0AUTH EXTERNAL ", 15);
    for (const char digit : std::to_string(geteuid()))
      line += fmt::format("{:02x}", static_cast<unsigned>(digit));
    if (!send(line + "\r\n")) return;
    std::size_t end = std::string_view::npos;
    while (fault_.empty() && (end = received_.find("\r\n")) == std::string_view::npos) {
      if (received_.size() > 1024) return fail("its answer to the login is too long");
      read_more();
    }
    if (!fault_.empty()) return;
    if (!received_.starts_with("OK ")) return fail("it refuses the login");
    received_.erase(0, end + 2);
    send("BEGIN\r\n");
  }

  const Clock::time_point until_;
  UniqueFd socket_;
  std::string received_, fault_;
};

std::string start_scope(const std::string& unit, pid_t pid) {
  DbusWriter body;
  const auto property = [&](const char* name, const char* type) {
    body.pad(8);
    body.text(name);
    body.signature(type);
  };
  body.text(unit);
  body.text("fail");
  body.array(8, [&] {
    property("Description", "s");
    body.text("cells of brig");
    property("PIDs", "au");
    body.array(4, [&] { body.number(static_cast<std::uint32_t>(pid)); });
    property("Delegate", "b");
    body.number(1);
    property("CollectMode", "s");
    // Otherwise systemd would list a scope that failed for ever.
    body.text("inactive-or-failed");
  });
  // No other units.
  body.array(8, [] {});
  return to_bytes({.serial = 1,
                   .path = "/org/freedesktop/systemd1",
                   .interface = "org.freedesktop.systemd1.Manager",
                   .member = "StartTransientUnit",
                   .destination = "org.freedesktop.systemd1",
                   .signature = "ssa(sv)a(sa(sv))",
                   .body = body.bytes()});
}

// The result of that unit's job, if the message is its JobRemoved(id, job, unit, result). Nothing
// for other messages.
std::optional<std::string> result_of_job(const DbusMessage& message, const std::string& unit) {
  if (message.type != DbusMessage::signal || message.member != "JobRemoved" ||
      message.signature != "uoss")
    return std::nullopt;
  DbusReader body(message.body);
  body.number();
  body.text();
  const std::string whose = body.text(), result = body.text();
  if (!body.ok() || whose != unit) return std::nullopt;
  return result;
}

std::string cgroup_of(pid_t pid) {
  const std::string table = read_text(fmt::format("/proc/{}/cgroup", pid));
  const std::size_t at = table.starts_with("0::") ? 0 : table.find("\n0::");
  if (at == std::string_view::npos) return "";
  const std::size_t from = table.find("::", at) + 2;
  return table.substr(from, table.find('\n', from) - from);
}

}  // namespace

std::string user_manager_socket() {
  if (geteuid() == 0 || !is_namespace("/proc/self/ns/pid", kFirstPidNamespace) ||
      !is_namespace("/proc/self/ns/cgroup", kFirstCgroupNamespace))
    return "";
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string path = (runtime && runtime[0] == '/' ? std::string(runtime)
                                                         : fmt::format("/run/user/{}", geteuid())) +
                           "/systemd/private";
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode) ? path : "";
}

std::string enter_user_scope(const std::string& socket, pid_t pid, milliseconds patience,
                             std::string& why_not) {
  const auto give_up = [&](const std::string& why) {
    why_not = "the user's systemd did not create a scope: " + why;
    return std::string();
  };
  const std::string unit = fmt::format("brig-{}.scope", random_hex(16));
  Manager manager(socket, patience);
  manager.send(start_scope(unit, pid));
  // Signals about everything else that the manager does come as well. The deadline bounds how many.
  while (const std::optional<DbusMessage> message = manager.receive()) {
    if (message->type == DbusMessage::error && message->reply_serial == 1) {
      DbusReader body(message->body);
      const std::string text = message->signature.starts_with("s") ? body.text() : "";
      return give_up(in_quotes(text.empty() ? message->error_name : text));
    }
    const std::optional<std::string> result = result_of_job(*message, unit);
    if (!result) continue;
    if (*result != "done") return give_up("its job ended as " + in_quotes(*result));
    std::string path = cgroup_of(pid);
    if (!path.ends_with("/" + unit)) return give_up("the process is not in it");
    return path;
  }
  return give_up(manager.fault());
}

CgroupLayout make_scope_cgroups(const CgroupLimits& limits, const std::string& socket, pid_t pid) {
  CgroupLayout layout;
  const std::string path = enter_user_scope(socket, pid, kPatience, layout.why_not);
  return path.empty() ? std::move(layout) : make_delegated_cgroups(limits, path, pid);
}

}  // namespace brig
