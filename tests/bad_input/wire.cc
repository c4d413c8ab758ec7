#include "wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <charconv>
#include <fstream>

namespace bad_input {
namespace {

constexpr int kPatience = std::chrono::duration_cast<milliseconds>(kSoon).count();

std::string_view take(std::string_view& text, std::string_view separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + separator.size(), text.size()));
  return part;
}

std::string unescaped(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      bytes += text[i];
      continue;
    }
    switch (const char c = text[++i]) {
      case 'r': bytes += '\r'; break;
      case 'n': bytes += '\n'; break;
      case 't': bytes += '\t'; break;
      case 'x': {
        unsigned byte = 0;
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
        bytes += static_cast<char>(byte);
        i += 2;
        break;
      }
      default: bytes += c;
    }
  }
  return bytes;
}

// A line of what is sent.
std::string bytes_of(std::string_view line) {
  if (!line.starts_with('@')) return unescaped(line);
  line.remove_prefix(1);
  int count = 0;
  const std::string_view number = take(line, " ");
  std::from_chars(number.data(), number.data() + number.size(), count);
  const std::string once = unescaped(line);
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += once;
  return bytes;
}

std::string line_with(const std::string& file, std::string_view key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(key)) return line.substr(key.size());
  return "";
}

}  // namespace

Server::Server(std::vector<std::string> options) {
  std::vector<std::string> arguments{"serve", "--listen", "127.0.0.1:0", "--audit", "none"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  brig_ = std::make_unique<Brig>(Brig::Options{.arguments = arguments, .err = log_.ends[1]});
  log_.close_write();
  fcntl(log_.ends[0], F_SETFL, O_NONBLOCK);
  constexpr std::string_view kListening = "listening on http://127.0.0.1:";
  comes_true(
      [&] {
        read_log(false);
        const std::size_t at = text_.find(kListening);
        if (at == text_.npos || text_.find('\n', at) == text_.npos) return false;
        port_ = atoi(text_.c_str() + at + kListening.size());
        return true;
      },
      4 * kSoon);
  EXPECT_GT(port_, 0) << text_;
}

Server::~Server() { stop(); }

void Server::read_log(bool to_the_end) {
  if (to_the_end) fcntl(log_.ends[0], F_SETFL, 0);
  char chunk[4096];
  for (ssize_t size; (size = read(log_.ends[0], chunk, sizeof chunk)) > 0;)
    text_.append(chunk, static_cast<std::size_t>(size));
}

std::size_t Server::descriptors() const {
  std::size_t count = 0;
  std::error_code gone;
  for (const auto& each :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid()) + "/fd", gone))
    count += !each.path().empty();
  return count;
}

std::size_t Server::resident() const {
  const std::string file = "/proc/" + std::to_string(pid()) + "/status";
  return static_cast<std::size_t>(atoll(line_with(file, "VmRSS:").c_str())) * 1024;
}

int Server::stop() {
  if (!brig_) return 0;
  brig_->signal(SIGTERM);
  const int code = brig_->wait(3 * kSoon);
  read_log(code >= 0);
  EXPECT_EQ(code, 0) << text_;
  brig_.reset();
  return code;
}

Wire::Wire(const Server& server) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(server.port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  fcntl(fd_, F_SETFL, O_NONBLOCK);
}

Wire::~Wire() {
  if (fd_ >= 0) close(fd_);
}

bool Wire::send(std::string_view bytes, std::string* answers) {
  while (!bytes.empty()) {
    pollfd poll_for{fd_, static_cast<short>(POLLOUT | (answers ? POLLIN : 0)), 0};
    if (poll(&poll_for, 1, kPatience) <= 0) return false;
    if ((poll_for.revents & POLLIN) && !receive(*answers)) return false;
    if (!(poll_for.revents & (POLLOUT | POLLERR | POLLHUP))) continue;
    const ssize_t size = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size < 0 && errno != EAGAIN) return false;
    if (size > 0) bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

bool Wire::readable(int time) const {
  pollfd poll_for{fd_, POLLIN, 0};
  return poll(&poll_for, 1, time) > 0;
}

bool Wire::receive(std::string& answers) {
  char chunk[65536];
  const ssize_t size = recv(fd_, chunk, sizeof chunk, 0);
  if (size > 0) answers.append(chunk, static_cast<std::size_t>(size));
  // A server that closed while it was sent more resets the connection: that is an end, too.
  return size > 0 || (size < 0 && errno == EAGAIN);
}

bool Wire::read_to_end(std::string& answers) {
  while (readable(kPatience))
    if (!receive(answers)) return true;
  return false;
}

std::vector<int> statuses_of(std::string_view answers) {
  std::vector<int> statuses;
  while (!answers.empty()) {
    std::string_view head = take(answers, "\r\n\r\n");
    int status = -1;
    if (head.starts_with("HTTP/1.1 "))
      std::from_chars(head.data() + 9, head.data() + head.size(), status);
    statuses.push_back(status);
    constexpr std::string_view kLength = "\r\nContent-Length: ";
    const std::size_t at = head.find(kLength);
    if (at == head.npos) continue;
    std::size_t length = 0;
    std::from_chars(head.data() + at + kLength.size(), head.data() + head.size(), length);
    if (length > answers.size()) statuses.push_back(-1);
    answers.remove_prefix(std::min(length, answers.size()));
  }
  return statuses;
}

std::string get(std::string_view path, std::string_view headers) {
  return std::string("GET ")
      .append(path)
      .append(" HTTP/1.1\r\nHost: localhost\r\n")
      .append(headers)
      .append("\r\n");
}

std::string post(std::string_view path, std::string_view body) {
  return std::string("POST ")
      .append(path)
      .append(" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ")
      .append(std::to_string(body.size()))
      .append("\r\n\r\n")
      .append(body);
}

int ask(const Server& server, const std::string& request) {
  Wire wire(server);
  std::string answers;
  wire.send(request + get("/healthz", "Connection: close\r\n"), &answers);
  wire.read_to_end(answers);
  const std::vector<int> statuses = statuses_of(answers);
  return statuses.empty() ? -1 : statuses[0];
}

std::vector<Case> cases_in(const std::string& file) {
  std::vector<Case> cases;
  std::optional<std::string> path;
  std::string body;
  const auto finish = [&] {
    if (path) cases.back().bytes += post(*path, body);
    path.reset();
    body.clear();
  };
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("== ")) {
      finish();
      cases.push_back({line.substr(3), "", {}, false});
    } else if (line.starts_with("expect ")) {
      for (std::string_view rest = std::string_view(line).substr(7); !rest.empty();)
        if (const std::string_view word = take(rest, " "); word == "closed")
          cases.back().closed = true;
        else
          cases.back().expected.emplace_back(word);
    } else if (line.starts_with("json ")) {
      finish();
      path = line.substr(5);
    } else {
      (path ? body : cases.back().bytes) += bytes_of(line);
    }
  }
  finish();
  return cases;
}

bool fits(int status, std::string_view pattern) {
  const std::string digits = std::to_string(status);
  while (!pattern.empty()) {
    const std::string_view one = take(pattern, "|");
    if (std::equal(one.begin(), one.end(), digits.begin(), digits.end(),
                   [](char a, char b) { return a == 'x' || a == b; }))
      return true;
  }
  return false;
}

}  // namespace bad_input
