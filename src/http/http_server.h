// HttpServer: HTTP/1.1 on TCP or a Unix socket, with or without TLS. It bounds what a client can
// hold: sizes, times, memory, connections. The handler decides about the content of requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"
#include "http/http.h"
#include "http/loop.h"

namespace brig::serve {

struct HttpLimits {
  std::size_t header = 16 * 1024;               // bytes of a request's head
  std::size_t body = std::size_t{16} << 20;     // of one body
  std::size_t bodies = std::size_t{256} << 20;  // of all bodies that are being received or answered
  std::size_t unsent = std::size_t{4} << 20;    // of a stream whose client does not read
  std::size_t all_unsent = std::size_t{512} << 20;  // of all clients together
  std::size_t least_rate = 64 * 1024;               // bytes per second that a client must take
  unsigned connections = 4096;  // callers have shares; beyond it a stranger's is closed (Places)
  std::chrono::seconds head_time{10};  // from a request's first byte to the end of its head
  std::chrono::seconds body_time{60};  // to receive its body
  std::chrono::seconds idle_time{75};  // between requests
  std::chrono::seconds send_time{30};  // in which a client must take something
};

struct TlsFiles {
  // PEM; the certificate with its chain.
  std::string certificate, key;
};

struct HttpCounts {
  std::uint64_t requests = 0, bytes_in = 0, bytes_out = 0, refused = 0;
  unsigned connections = 0;
};

class HttpServer {
 public:
  // `check` is called for every request at the end of its head, before its body is read; `handler`
  // gets the requests that it lets pass. `watch` is called for every answer.
  HttpServer(Loop& loop, HeadCheck check, Handler handler, HttpLimits limits = {},
             AnswerWatch watch = {});
  // Closes all connections.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Takes over a listening socket and accepts its connections. Throws Error(config) for bad TLS
  // files.
  void listen(UniqueFd socket, const TlsFiles* tls = nullptr);
  // Accepts nothing new; each connection ends with the answer that it waits for.
  void drain();
  // Closes the connections whose request is not answered yet and for which `such` returns true.
  void drop_if(const std::function<bool(const Request&)>& such);
  HttpCounts counts() const;

  // For the connections.
  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace brig::serve
