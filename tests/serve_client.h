// A client of `brig serve` that sends what it is told to, byte by byte, and reads no further than asked.
#pragma once

#include <brig/json.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace e2e {

using brig::Json;
using Headers = std::vector<std::pair<std::string, std::string>>;

struct Answer {
  int status = 0;                              // 0: there was none
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  std::string header(const std::string& name) const;
  // Null if it is none. Of a stream of events: the last one.
  Json json() const;
  // "rate-limited" of "urn:brig:problem:rate-limited".
  std::string problem() const;
};
std::ostream& operator<<(std::ostream& stream, const Answer& answer);

struct SseEvent {
  std::string id, name, data;
  Json json() const;
};

struct Where {
  std::uint16_t port = 0;  // of 127.0.0.1
  std::string path;        // or a Unix socket
  bool tls = false;
};

// One connection. Nothing here waits for longer than a test may.
class Client {
 public:
  explicit Client(const Where& where, std::string token = "");
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  bool connected() const { return fd_ >= 0; }
  void close();

  void send(std::string_view bytes);
  // With Host, Content-Length, the token, and Content-Type of JSON if there is a body and no other is given.
  void request(const std::string& method, const std::string& path, const std::string& body = "",
               const Headers& headers = {});

  Answer read_head();
  // The rest of an answer whose head was read.
  void read_body(Answer& answer);
  Answer read(bool head_only = false);
  Answer ask(const std::string& method, const std::string& path, const std::string& body = "",
             const Headers& headers = {});
  Answer get(const std::string& path, const Headers& headers = {}) {
    return ask("GET", path, "", headers);
  }
  Answer post(const std::string& path, const Json& body, const Headers& headers = {}) {
    return ask("POST", path, body.dump(), headers);
  }

  // Of a stream whose head was read: the next event (comments are passed over); nothing at its end.
  std::optional<SseEvent> event();
  // The next of that name; others are passed over.
  std::optional<SseEvent> event(const std::string& name);
  // Whether the server has closed, once what it sent is read.
  bool at_end();

 private:
  struct Tls;
  bool fill();
  // A line of what comes, without its end.
  std::optional<std::string> line();
  // Decoded pieces of a chunked body; false: there is no more.
  bool chunk();

  Where where_;
  std::string token_;
  int fd_ = -1;
  std::unique_ptr<Tls> tls_;
  std::string in_;    // as it came
  std::string text_;  // of a stream, decoded
  bool ended_ = false;
};

}  // namespace e2e
