// What systemd really does is tested on a machine that has it (tests/systemd). These tests check
// what brig makes of each answer, and of no answer.
#include "os/user_scope.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "os/dbus_message.h"

namespace brig {
namespace {

using std::chrono::milliseconds;

std::string to_peer(std::uint8_t type, std::string_view member, std::string_view signature,
                    std::string body) {
  std::string bytes = to_bytes({.serial = 5,
                                .path = "/org/freedesktop/systemd1",
                                .interface = "org.freedesktop.systemd1.Manager",
                                .member = member,
                                .destination = "x",
                                .signature = signature,
                                .body = std::move(body)});
  bytes[1] = static_cast<char>(type);
  return bytes;
}

std::string job_removed(const std::string& unit, const std::string& result) {
  DbusWriter body;
  body.number(1);
  body.text("/org/freedesktop/systemd1/job/1");
  body.text(unit);
  body.text(result);
  return to_peer(DbusMessage::signal, "JobRemoved", "uoss", body.bytes());
}

// A manager that logs in, reads one call and then answers as a test has asked.
class FakeManager {
 public:
  using Answer = std::function<std::string(const std::string& unit)>;
  explicit FakeManager(Answer answer, std::string login = "OK 0123\r\n")
      : path_(std::filesystem::temp_directory_path() /
              ("brig-manager-" + std::to_string(getpid()) + "-" + std::to_string(count_++))) {
    listener_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path_.c_str());
    if (bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        listen(listener_.get(), 1) != 0)
      abort();
    thread_ = std::thread([this, answer = std::move(answer), login = std::move(login)] {
      const UniqueFd peer(accept(listener_.get(), nullptr, nullptr));
      serve(peer.get(), answer, login);
      char rest[64];
      while (read(peer.get(), rest, sizeof rest) > 0) {
      }
    });
  }
  ~FakeManager() {
    thread_.join();
    unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }
  std::string said;  // What the other side sent before its call.

 private:
  void serve(int peer, const Answer& answer, const std::string& login) {
    std::string heard;
    const auto hear = [&] {
      char bytes[4096];
      const ssize_t size = read(peer, bytes, sizeof bytes);
      if (size > 0) heard.append(bytes, static_cast<std::size_t>(size));
      return size > 0;
    };
    while (heard.find("\r\n") == heard.npos)
      if (!hear()) return;
    tell(peer, login);
    while (heard.find("BEGIN\r\n") == heard.npos)
      if (!hear()) return;
    const std::size_t begun = heard.find("BEGIN\r\n") + 7;
    said = heard.substr(0, begun);
    heard.erase(0, begun);
    while (dbus_message_size(heard).value_or(1) == 0)
      if (!hear()) return;
    const auto call = parse_dbus_message(heard);
    if (!call) return;
    tell(peer, answer(DbusReader(call->body).text()));
    if (answer("").empty()) return;
    shutdown(peer, SHUT_WR);
  }
  static void tell(int peer, const std::string& text) {
    (void)!::send(peer, text.data(), text.size(), MSG_NOSIGNAL);
  }

  static inline int count_ = 0;
  std::string path_;
  UniqueFd listener_;
  std::thread thread_;
};

// The patience is long, so a wait that should have ended early fails by its time.
std::string why_not(const FakeManager::Answer& answer, std::string login = "OK 0123\r\n",
                    milliseconds patience = std::chrono::minutes(30)) {
  FakeManager manager(answer, std::move(login));
  std::string why;
  EXPECT_EQ(enter_user_scope(manager.path(), getpid(), patience, why), "");
  return why;
}

constexpr const char* kNone = "the user's systemd did not create a scope: ";

TEST(UserScope, IsAskedForByNameAndNumber) {
  std::string unit;
  FakeManager manager([&](const std::string& name) {
    if (!name.empty()) unit = name;
    return job_removed(name, "done");
  });
  std::string why;
  enter_user_scope(manager.path(), getpid(), milliseconds(15'000), why);
  EXPECT_TRUE(unit.starts_with("brig-") && unit.ends_with(".scope")) << unit;
  EXPECT_EQ(unit.size(), 5 + 32 + 6u);
  // This manager moves no process.
  EXPECT_EQ(why, std::string(kNone) + "the process is not in it");
}

TEST(UserScope, ThatIsRefusedSaysWhy) {
  EXPECT_EQ(why_not([](const std::string&) {
              DbusWriter body;
              body.text("no such\nproperty");
              std::string bytes = to_peer(DbusMessage::error, "ElevenBytes", "s", body.bytes());
              // As a reply: field 3, a member, becomes 5, the serial of the call, and 7, a sender.
              const std::size_t at = bytes.find(std::string("\x03\x01s\0", 4));
              return bytes.replace(
                  at, 20, std::string("\x05\x01u\0\x01\0\0\0\x07\x01s\0\x03\0\0\0one\0", 20));
            }),
            std::string(kNone) + "'no such\\x0aproperty'");
  EXPECT_EQ(why_not([](const std::string& unit) { return job_removed(unit, "failed"); }),
            std::string(kNone) + "its job ended as 'failed'");
}

TEST(UserScope, WaitsForItsOwnJobAmongOthers) {
  EXPECT_EQ(why_not([](const std::string& unit) {
              return job_removed("other.scope", "failed") +
                     to_peer(DbusMessage::signal, "UnitNew", "so", "") +
                     to_peer(DbusMessage::signal, "JobRemoved", "uoss", "short") +
                     job_removed(unit, "canceled");
            }),
            std::string(kNone) + "its job ended as 'canceled'");
}

TEST(UserScope, OfAManagerThatSpeaksNonsenseIsNone) {
  EXPECT_EQ(why_not([](const std::string&) { return "HTTP/1.1 400 Bad Request\r\n\r\n"; }),
            std::string(kNone) + "its answer is not a D-Bus message");
  EXPECT_EQ(why_not([](const std::string&) { return "x"; }, "REJECTED\r\n"),
            std::string(kNone) + "it refuses the login");
  EXPECT_EQ(why_not([](const std::string&) { return "x"; }, std::string(4096, 'x')),
            std::string(kNone) + "its answer to the login is too long");
  EXPECT_EQ(why_not([](const std::string&) { return "l"; }),
            std::string(kNone) + "it closed the connection");
}

TEST(UserScope, OfAManagerThatSaysNothingIsGivenUp) {
  EXPECT_EQ(why_not([](const std::string&) { return ""; }, "OK 0123\r\n", milliseconds(300)),
            std::string(kNone) + "it does not answer");
}

TEST(UserScope, WithoutAManagerSaysSo) {
  std::string why;
  EXPECT_EQ(enter_user_scope("/nonexistent/private", getpid(), milliseconds(300), why), "");
  EXPECT_EQ(why, std::string(kNone) + "No such file or directory");
  EXPECT_EQ(enter_user_scope(std::string(200, 'x'), getpid(), milliseconds(300), why), "");
  EXPECT_EQ(why, std::string(kNone) + "the path of its socket is too long");
}

}  // namespace
}  // namespace brig
