#include "serve_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "e2e_support.h"

namespace e2e {

std::string Answer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

Json Answer::json() const {
  // An answer over MCP that took long came as a stream of events: it is the last of them.
  std::string text = body;
  if (header("content-type").starts_with("text/event-stream")) {
    text.insert(0, "\n");
    const std::size_t last = text.rfind("\ndata: {");
    text = last == text.npos ? "" : text.substr(last + 7, text.find('\n', last + 1) - last - 7);
  }
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json() : value;
}

std::string Answer::problem() const {
  const Json value = json();
  if (header("content-type") != "application/problem+json" || !value.is_object()) return "";
  const std::string type = value.value("type", ""), prefix = "urn:brig:problem:";
  return type.starts_with(prefix) ? type.substr(prefix.size()) : type;
}

std::ostream& operator<<(std::ostream& stream, const Answer& answer) {
  stream << answer.status << "\n";
  for (const auto& [name, value] : answer.headers) stream << name << ": " << value << "\n";
  return stream << answer.body.substr(0, 2000);
}

Json SseEvent::json() const {
  Json value = Json::parse(data, nullptr, false);
  return value.is_discarded() ? Json() : value;
}

struct Client::Tls {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL* ssl = SSL_new(context);
  ~Tls() {
    SSL_free(ssl);
    SSL_CTX_free(context);
  }
};

Client::Client(const Where& where, std::string token) : where_(where), token_(std::move(token)) {
  sockaddr_un local{};
  sockaddr_in inet{};
  const sockaddr* address = nullptr;
  socklen_t size = 0;
  if (!where.path.empty()) {
    local.sun_family = AF_UNIX;
    where.path.copy(local.sun_path, sizeof local.sun_path - 1);
    address = reinterpret_cast<const sockaddr*>(&local);
    size = sizeof local;
  } else {
    inet.sin_family = AF_INET;
    inet.sin_port = htons(where.port);
    inet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address = reinterpret_cast<const sockaddr*>(&inet);
    size = sizeof inet;
  }
  fd_ = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{kSoon.count(), 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect(fd_, address, size) != 0) {
    close();
    return;
  }
  if (!where.tls) return;
  tls_ = std::make_unique<Tls>();
  SSL_set_fd(tls_->ssl, fd_);
  if (SSL_connect(tls_->ssl) != 1) close();
}

Client::Client(Client&& other) noexcept
    : where_(std::move(other.where_)),
      token_(std::move(other.token_)),
      fd_(std::exchange(other.fd_, -1)),
      tls_(std::move(other.tls_)),
      in_(std::move(other.in_)),
      text_(std::move(other.text_)),
      ended_(other.ended_) {}

Client& Client::operator=(Client&& other) noexcept {
  std::swap(where_, other.where_);
  std::swap(token_, other.token_);
  std::swap(fd_, other.fd_);
  std::swap(tls_, other.tls_);
  std::swap(in_, other.in_);
  std::swap(text_, other.text_);
  std::swap(ended_, other.ended_);
  return *this;
}

Client::~Client() { close(); }

void Client::close() {
  tls_.reset();
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Client::send(std::string_view bytes) {
  while (!bytes.empty() && fd_ >= 0) {
    const ssize_t size = tls_ ? SSL_write(tls_->ssl, bytes.data(), static_cast<int>(bytes.size()))
                              : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size <= 0) return;  // the server may have answered, and closed
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
}

void Client::request(const std::string& method, const std::string& path, const std::string& body,
                     const Headers& headers) {
  std::string text = method + " " + path + " HTTP/1.1\r\n";
  const auto given = [&](const char* name) {
    return std::any_of(headers.begin(), headers.end(),
                       [&](const auto& each) { return strcasecmp(each.first.c_str(), name) == 0; });
  };
  if (!given("host"))
    text += where_.path.empty() ? "Host: 127.0.0.1:" + std::to_string(where_.port) + "\r\n"
                                : "Host: localhost\r\n";
  if (!token_.empty() && !given("authorization"))
    text += "Authorization: Bearer " + token_ + "\r\n";
  if (!body.empty() && !given("content-type")) text += "Content-Type: application/json\r\n";
  if ((!body.empty() || method == "POST") && !given("content-length") &&
      !given("transfer-encoding"))
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  send(text + "\r\n" + body);
}

bool Client::fill() {
  if (fd_ < 0) return false;
  char buffer[65536];
  const ssize_t size =
      tls_ ? SSL_read(tls_->ssl, buffer, sizeof buffer) : recv(fd_, buffer, sizeof buffer, 0);
  if (size <= 0) return false;
  in_.append(buffer, static_cast<std::size_t>(size));
  return true;
}

std::optional<std::string> Client::line() {
  std::size_t end;
  while ((end = in_.find("\r\n")) == in_.npos)
    if (!fill()) return {};
  std::string text = in_.substr(0, end);
  in_.erase(0, end + 2);
  return text;
}

Answer Client::read_head() {
  Answer answer;
  text_.clear();
  ended_ = false;
  const auto first = line();
  if (!first || !first->starts_with("HTTP/1.1 ")) return answer;
  answer.status = atoi(first->c_str() + 9);
  for (;;) {
    const auto next = line();
    if (!next) return {};
    if (next->empty()) return answer;
    const std::size_t colon = next->find(": ");
    std::string name = next->substr(0, colon);
    for (char& c : name) c = static_cast<char>(tolower(c));
    answer.headers[name] = colon == next->npos ? "" : next->substr(colon + 2);
  }
}

bool Client::chunk() {
  if (ended_) return false;
  const auto length = line();
  const std::size_t size = length ? strtoul(length->c_str(), nullptr, 16) : 0;
  ended_ = size == 0;
  while (in_.size() < size + 2)
    if (!fill()) {
      ended_ = true;
      return false;
    }
  text_.append(in_, 0, size);
  in_.erase(0, size + 2);
  return !ended_;
}

void Client::read_body(Answer& answer) {
  if (answer.header("transfer-encoding") == "chunked") {
    while (chunk()) {
    }
    answer.body = std::exchange(text_, "");
  } else if (answer.headers.contains("content-length")) {
    const std::size_t size = strtoul(answer.header("content-length").c_str(), nullptr, 10);
    while (in_.size() < size)
      if (!fill()) break;
    answer.body = in_.substr(0, size);
    in_.erase(0, size);
  } else if (answer.header("connection") == "close") {
    while (fill()) {
    }
    answer.body = std::exchange(in_, "");
  }
}

Answer Client::read(bool head_only) {
  Answer answer = read_head();
  if (!head_only && answer.status != 204) read_body(answer);
  return answer;
}

Answer Client::ask(const std::string& method, const std::string& path, const std::string& body,
                   const Headers& headers) {
  request(method, path, body, headers);
  return read(method == "HEAD");
}

std::optional<SseEvent> Client::event() {
  for (;;) {
    std::size_t end;
    while ((end = text_.find("\n\n")) == text_.npos)
      if (!chunk()) return {};
    std::istringstream block(text_.substr(0, end));
    text_.erase(0, end + 2);
    SseEvent event;
    bool any = false;
    for (std::string each; std::getline(block, each);) {
      const auto take = [&](const char* field, std::string& into) {
        if (!each.starts_with(field)) return;
        into = each.substr(strlen(field));
        any = true;
      };
      take("id: ", event.id);
      take("event: ", event.name);
      take("data: ", event.data);
    }
    if (any) return event;
  }
}

std::optional<SseEvent> Client::event(const std::string& name) {
  for (const auto begin = Clock::now(); since(begin) < kSoon;) {
    auto next = event();
    if (!next || next->name == name) return next;
  }
  return {};
}

bool Client::at_end() {
  if (fd_ < 0) return true;
  const auto begin = Clock::now();
  while (fill()) {
  }
  return since(begin) < kSoon;
}

}  // namespace e2e
