// One connection of an HttpServer, on whatever stream carries it. Only for http_server.cc.
//
// There is always a read under way, even while a request is being answered: it is how a client that leaves is noticed.
// What it brings then is the next request, which waits its turn.
#pragma once

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <deque>
#include <optional>
#include <type_traits>
#include <unordered_set>

#include "serve/http_server.h"
#include "serve/loop_impl.h"

namespace brig::serve {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;
using Socket = asio::generic::stream_protocol::socket;
using TlsStream = asio::ssl::stream<Socket>;

class AnyConnection {
 public:
  virtual ~AnyConnection() = default;
  virtual void start() = 0;
  // Of the answer to the current request.
  virtual void send(std::string bytes) = 0;
  virtual void answered() = 0;
  virtual std::size_t unsent() const = 0;
  // At once; who waits for the answer to be taken is told.
  virtual void drop() = 0;
  virtual void check_deadline(SteadyClock::time_point now) = 0;
  virtual void drain() = 0;
};

// What the connections share.
struct HttpServer::Impl : std::enable_shared_from_this<HttpServer::Impl> {
  Impl(Loop& loop_, Handler handler_, HttpLimits limits_)
      : loop(loop_), handler(std::move(handler_)), limits(limits_) {}

  Loop& loop;
  Handler handler;
  const HttpLimits limits;
  HttpCounts counts;
  std::size_t bodies = 0, unsent = 0;
  bool draining = false;
  std::unordered_set<AnyConnection*> connections;
  struct Listener {
    UniqueFd socket;
    std::unique_ptr<asio::ssl::context> tls;
    std::shared_ptr<void> readable;
  };
  std::deque<Listener> listeners;
  Loop::Timer sweep, pause;

  void accept(Listener& listener);
  std::shared_ptr<Impl> shared() { return shared_from_this(); }
};

// Room in Impl::bodies, for as long as it lives.
class BodyRoom {
 public:
  BodyRoom() = default;
  BodyRoom(std::shared_ptr<HttpServer::Impl> server, std::size_t size)
      : server_(std::move(server)), size_(size) {
    server_->bodies += size_;
  }
  BodyRoom(BodyRoom&& other) noexcept : server_(std::move(other.server_)), size_(other.size_) {}
  BodyRoom& operator=(BodyRoom&& other) noexcept {
    std::swap(server_, other.server_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~BodyRoom() {
    if (server_) server_->bodies -= size_;
  }
  void resize(std::size_t size) {
    server_->bodies += size - size_;
    size_ = size;
  }

 private:
  std::shared_ptr<HttpServer::Impl> server_;
  std::size_t size_ = 0;
};

class HttpExchange final : public Exchange {
 public:
  HttpExchange(std::weak_ptr<AnyConnection> connection, std::size_t unsent_limit)
      : connection_(std::move(connection)), unsent_limit_(unsent_limit) {}

  void respond(Response response) override;
  void begin(Response head) override;
  void write(std::string_view piece) override;
  void end() override;
  std::size_t unsent() const override {
    const auto connection = connection_.lock();
    return connection ? connection->unsent() : 0;
  }
  void on_gone(std::function<void()> job) override {
    if (!answered_) gone_ = std::move(job);
  }
  // By the connection.
  void leave() {
    if (const auto job = std::exchange(gone_, nullptr); job && !answered_) job();
  }

  bool keep_alive = true, old = false, head_only = false;
  BodyRoom room;

 private:
  std::string head_of(const Response& response, std::optional<std::size_t> length) const;

  std::weak_ptr<AnyConnection> connection_;
  const std::size_t unsent_limit_;
  std::function<void()> gone_;
};

template <typename Stream>
class Connection final : public AnyConnection,
                         public std::enable_shared_from_this<Connection<Stream>> {
 public:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

  Connection(std::shared_ptr<HttpServer::Impl> server, Stream stream, std::string peer)
      : server_(std::move(server)), stream_(std::move(stream)), peer_(std::move(peer)) {
    server_->connections.insert(this);
    ++server_->counts.connections;
  }
  ~Connection() override {
    server_->unsent -= unsent_;
    server_->connections.erase(this);
    --server_->counts.connections;
  }

  void start() override {
    limit(server_->limits.head_time);
    if constexpr (kTls) {
      stream_.async_handshake(asio::ssl::stream_base::server,
                              [self = this->shared_from_this()](error_code error) {
                                if (error || self->closed_) return self->drop();
                                self->read();
                              });
    } else {
      read();
    }
  }

  void send(std::string bytes) override {
    if (closed_) return;
    // Of what clients do not take there is so much in all: who has much of it goes first.
    if (server_->unsent > server_->limits.all_unsent && unsent_ > server_->limits.unsent)
      return drop();
    if (out_.empty()) {
      busy_since_ = SteadyClock::now();
      taken_ = 0;
    }
    unsent_ += bytes.size();
    server_->unsent += bytes.size();
    out_.push_back(std::move(bytes));
    if (!writing_) write();
  }

  void answered() override {
    if (out_.empty()) finish();
  }

  std::size_t unsent() const override { return unsent_; }

  void drop() override {
    if (closed_) return;
    closed_ = true;
    error_code ignored;
    socket().close(ignored);
    parser_.reset();
    if (const auto exchange = std::exchange(exchange_, nullptr)) exchange->leave();
  }

  void check_deadline(SteadyClock::time_point now) override {
    if (writing_ && (now > send_deadline_ || is_too_slow(now))) return drop();
    if (now < deadline_) return;
    if (parser_ && !closing_)
      refuse(408, "the request did not arrive in time");
    else
      drop();
  }

  void drain() override {
    if (!exchange_ && !parser_ && out_.empty()) drop();
  }

 private:
  Socket& socket() {
    if constexpr (kTls)
      return stream_.next_layer();
    else
      return stream_;
  }

  // Something now and then is not enough to hold a large answer for ever.
  bool is_too_slow(SteadyClock::time_point now) const {
    const auto most = server_->limits.send_time +
                      std::chrono::seconds((taken_ + unsent_) / server_->limits.least_rate);
    return now - busy_since_ > most;
  }

  void limit(std::chrono::seconds time) { deadline_ = SteadyClock::now() + time; }

  void read() {
    if (reading_ || closed_) return;
    reading_ = true;
    // Not into in_, which is moved while the next request waits in it.
    stream_.async_read_some(asio::buffer(chunk_),
                            [self = this->shared_from_this()](error_code error, std::size_t size) {
                              self->reading_ = false;
                              self->on_read(error, size);
                            });
  }

  void on_read(error_code error, std::size_t size) {
    if (closed_) return;
    if (error) return drop();
    server_->counts.bytes_in += size;
    if (closing_) {  // until the client has seen that it is over
      discarded_ += size;
      return discarded_ > kMostDiscarded ? drop() : read();
    }
    in_.commit(asio::buffer_copy(in_.prepare(size), asio::buffer(chunk_, size)));
    if (!exchange_) return parse();
    // The next request, ahead of its time. When there is much of it, it waits in the kernel.
    if (in_.size() < server_->limits.header) read();
  }

  // Goes on with the request that is being received, or begins one.
  void parse() {
    while (!closed_ && !closing_ && !exchange_) {
      if (!parser_) {
        if (in_.size() == 0) {
          if (server_->draining) return drop();
          limit(server_->limits.idle_time);
          return read();
        }
        parser_.emplace();
        parser_->header_limit(static_cast<std::uint32_t>(server_->limits.header));
        parser_->body_limit(server_->limits.body);
        head_seen_ = false;
        limit(server_->limits.head_time);
      }
      error_code error;
      const std::size_t used = parser_->put(in_.data(), error);
      in_.consume(used);
      if (error && error != http::error::need_more) return refuse(error);
      if (parser_->is_header_done() && !head_seen_) {
        head_seen_ = true;
        if (!begin_body()) return;
      }
      if (head_seen_ && !grow()) return;
      if (parser_->is_done()) {
        dispatch();
      } else if (error == http::error::need_more || in_.size() == 0) {
        // What stays unused belongs to no body: the head of a chunk, or what follows the last.
        if (head_seen_ && in_.size() > server_->limits.header)
          return refuse(431, "what is said of a chunk, or after the last, is too long");
        return read();
      }
    }
  }

  // Whether the body may come.
  bool begin_body() {
    const auto& head = parser_->get();
    const auto length = parser_->content_length();
    if (length && *length > server_->limits.body) {
      refuse(413, "the body is too large");
      return false;
    }
    // Whoever stands in between must see the same end of the body as this does.
    const auto encodings = head.count(http::field::transfer_encoding);
    if (encodings > 0 &&
        (encodings > 1 || head.version() < 11 || head.count(http::field::content_length) > 0 ||
         !boost::beast::iequals(head[http::field::transfer_encoding], "chunked"))) {
      refuse(400, "Transfer-Encoding: 'chunked', once, without a Content-Length, or not at all");
      return false;
    }
    // Now: what comes after the body as trailers is nothing that anybody has checked.
    headers_.clear();
    for (const auto& field : head) {
      const auto name = field.name_string();
      headers_.push_back({lower_case({name.data(), name.size()}), std::string(field.value())});
    }
    room_ = BodyRoom(server_, 0);
    limit(server_->limits.body_time);
    if (const auto expect = head.find(http::field::expect); expect != head.end()) {
      if (!boost::beast::iequals(expect->value(), "100-continue")) {
        refuse(417, "an expectation that is not known");
        return false;
      }
      if (!parser_->is_done() && in_.size() == 0) send("HTTP/1.1 100 Continue\r\n\r\n");
    }
    return true;
  }

  // Room for what has come of the body: small ones always have it.
  bool grow() {
    const std::size_t size = parser_->get().body().size();
    room_.resize(size);
    if (size <= kSmallBody || server_->bodies <= server_->limits.bodies) return true;
    refuse(503, "too many large requests at once; try again later");
    return false;
  }

  void dispatch() {
    const bool keep_alive = parser_->keep_alive();
    auto message = parser_->release();
    parser_.reset();
    const auto exchange =
        std::make_shared<HttpExchange>(this->weak_from_this(), server_->limits.unsent);
    exchange->room = std::move(room_);
    exchange->keep_alive = keep_alive;
    exchange->old = message.version() < 11;
    Request& request = exchange->request;
    request.method = std::string(message.method_string());
    exchange->head_only = request.method == "HEAD";
    const std::string_view target(message.target().data(), message.target().size());
    const std::size_t question = std::min(target.find('?'), target.size());
    request.path = target.substr(0, question);
    request.query = target.substr(std::min(question + 1, target.size()));
    request.headers = std::move(headers_);
    request.body = std::move(message.body());
    request.peer = peer_;
    request.secure = kTls;
    ++server_->counts.requests;
    if ((request.count("host") != 1 && !exchange->old) || request.count("host") > 1)
      return refuse(400, "a request has one Host header");
    if (!target.starts_with('/') || target.find('#') != std::string::npos)
      return refuse(400, "the target of a request is a path");
    exchange_ = exchange;
    deadline_ = SteadyClock::time_point::max();
    read();
    try {
      server_->handler(exchange);
    } catch (const std::exception&) {
      exchange->respond({500,
                         "application/problem+json",
                         R"({"type":"about:blank","title":"Internal Server Error","status":500,)"
                         R"("detail":"a defect of the server; its log says more"})",
                         {}});
      throw;
    }
  }

  void write() {
    writing_ = true;
    send_deadline_ = SteadyClock::now() + server_->limits.send_time;
    std::array<asio::const_buffer, 16> pieces{};
    std::size_t count = 0;
    for (auto each = out_.begin(); each != out_.end() && count < pieces.size(); ++each, ++count)
      pieces[count] = asio::buffer(*each);
    pieces[0] += sent_;
    stream_.async_write_some(pieces,
                             [self = this->shared_from_this()](error_code error, std::size_t size) {
                               self->writing_ = false;
                               self->on_written(error, size);
                             });
  }

  void on_written(error_code error, std::size_t size) {
    if (closed_) return;
    if (error) return drop();
    server_->counts.bytes_out += size;
    unsent_ -= size;
    server_->unsent -= size;
    taken_ += size;
    sent_ += size;
    while (!out_.empty() && sent_ >= out_.front().size()) {
      sent_ -= out_.front().size();
      out_.pop_front();
    }
    if (!out_.empty()) return write();
    if (closing_) return linger();
    if (exchange_ && exchange_->answered()) finish();
  }

  // The answer is with the client.
  void finish() {
    if (closed_ || !exchange_) return;
    const bool keep = exchange_->keep_alive && !server_->draining;
    exchange_.reset();
    if (!keep) return linger();
    parse();
  }

  void refuse(error_code error) {
    if (error == http::error::header_limit) return refuse(431, "the request's head is too long");
    if (error == http::error::body_limit) return refuse(413, "the body is too large");
    if (error == http::error::bad_version) return refuse(505, "only HTTP/1.1 is spoken here");
    refuse(400, "the request is not HTTP: " + error.message());
  }

  // Answers what is no request, and closes: nobody knows where the next one would begin.
  void refuse(unsigned status, std::string_view why) {
    ++server_->counts.refused;
    parser_.reset();
    room_ = BodyRoom();
    closing_ = true;
    limit(std::chrono::seconds(5));
    const std::string body =
        fmt::format(R"({{"type":"about:blank","title":"{}","status":{},"detail":"{}"}})",
                    reason_of(status), status, why);
    send(fmt::format(
        "HTTP/1.1 {} {}\r\nContent-Type: application/problem+json\r\n"
        "Content-Length: {}\r\nConnection: close\r\n{}\r\n{}",
        status, reason_of(status), body.size(), status == 503 ? "Retry-After: 1\r\n" : "", body));
    read();
  }

  // Closing while the client still sends would reset the connection, and lose it the answer.
  void linger() {
    closing_ = true;
    limit(std::chrono::seconds(2));
    if constexpr (kTls) {
      stream_.async_shutdown([self = this->shared_from_this()](error_code) { self->drop(); });
    } else {
      error_code error;
      socket().shutdown(asio::socket_base::shutdown_send, error);
      if (error) return drop();
      read();
    }
  }

  static constexpr std::size_t kChunk = 16 * 1024, kSmallBody = 64 * 1024,
                               kMostDiscarded = std::size_t{1} << 20;

  const std::shared_ptr<HttpServer::Impl> server_;
  Stream stream_;
  const std::string peer_;
  std::array<char, kChunk> chunk_;
  boost::beast::flat_buffer in_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::vector<Header> headers_;  // of it
  BodyRoom room_;
  std::shared_ptr<HttpExchange> exchange_;  // being answered
  std::deque<std::string> out_;
  std::size_t sent_ = 0;  // of the first of them
  std::size_t unsent_ = 0, discarded_ = 0;
  std::size_t taken_ = 0;                 // since
  SteadyClock::time_point busy_since_{};  // there is something to send
  SteadyClock::time_point deadline_ = SteadyClock::time_point::max(), send_deadline_{};
  bool reading_ = false, writing_ = false, head_seen_ = false, closing_ = false, closed_ = false;
};

}  // namespace brig::serve
