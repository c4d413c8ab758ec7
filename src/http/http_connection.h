// One connection of an HttpServer, on whatever stream carries it. Only for http_server.cc.
//
// There is always a read under way, even while a request is being answered: this is how a client
// that leaves is noticed. What the read brings then is the next request, which waits for its turn.
#pragma once

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <deque>
#include <type_traits>

#include "base/fair_share.h"
#include "http/http_exchange.h"
#include "http/http_reader.h"
#include "http/http_server_impl.h"

namespace brig::serve {

template <typename Stream>
class Connection final : public AnyConnection,
                         public std::enable_shared_from_this<Connection<Stream>> {
 public:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

  Connection(std::shared_ptr<HttpServer::Impl> server, Stream stream, std::string peer,
             const std::string& origin)
      : server_(std::move(server)),
        stream_(std::move(stream)),
        peer_(std::move(peer)),
        reader_(server_->limits.header, server_->limits.body) {
    server_->connections.insert(this);
    server_->places.take(place_, *this, origin);
    ++server_->counts.connections;
  }
  ~Connection() override {
    server_->places.leave(place_);
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
    if (out_.empty()) {
      busy_since_ = SteadyClock::now();
      taken_ = 0;
    }
    unsent_ += bytes.size();
    server_->unsent += bytes.size();
    out_.push_back(std::move(bytes));
    if (!writing_) write();
    if (server_->unsent > server_->limits.all_unsent) server_->shed_soon();
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
    server_->places.leave(place_);
    reader_.forget();
    pending_.reset();
    room_ = Share();
    own_room_ = Share();
    server_->unsent -= std::exchange(unsent_, 0);
    if (const auto exchange = std::exchange(exchange_, nullptr)) exchange->leave();
  }

  void check_deadline(SteadyClock::time_point now) override {
    if (writing_ && (now > send_deadline_ || is_too_slow(now))) return drop();
    if (now < deadline_) return;
    if (reader_.begun() && !closing_)
      refuse(408, "the request did not arrive in time");
    else
      drop();
  }

  const Request* request() const override { return exchange_ ? &exchange_->request : nullptr; }
  const Caller* caller() const override { return place_.caller.get(); }
  void answers(const Answered& answer) override {
    if (server_->watch) server_->watch(answer);
  }

  void drain() override {
    if (!exchange_ && !reader_.begun() && out_.empty()) drop();
  }

 private:
  Socket& socket() {
    if constexpr (kTls)
      return stream_.next_layer();
    else
      return stream_;
  }

  // Taking a little now and then is not enough to keep a large answer for ever.
  bool is_too_slow(SteadyClock::time_point now) const {
    const auto most = server_->limits.send_time +
                      std::chrono::seconds((taken_ + unsent_) / server_->limits.least_rate);
    return now - busy_since_ > most;
  }

  void limit(std::chrono::seconds time) { deadline_ = SteadyClock::now() + time; }

  void read() {
    if (reading_ || closed_) return;
    reading_ = true;
    // Do not read into the reader's buffer: it moves what is already there of the next request.
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
    // Read on until the client has seen that the connection ends.
    if (closing_) {
      discarded_ += size;
      return discarded_ > kMostDiscarded ? drop() : read();
    }
    reader_.append(chunk_.data(), size);
    if (!exchange_) return parse();
    // This is the next request, ahead of its time. If there is much of it, it waits in the kernel.
    if (reader_.waiting() < server_->limits.header) read();
  }

  // Goes on with the request that is being received, or begins one.
  void parse() {
    while (!closed_ && !closing_ && !exchange_) {
      if (!reader_.begun()) {
        if (reader_.waiting() == 0 && server_->draining) return drop();
        if (!reader_.skipping())
          limit(reader_.waiting() == 0 ? server_->limits.idle_time : server_->limits.head_time);
      }
      switch (reader_.next()) {
        case HttpReader::Step::more:
          if (has_room(reader_.body_size())) read();
          return;
        case HttpReader::Step::head: on_head(); break;
        case HttpReader::Step::request: {
          HttpReader::Message message = reader_.take();
          if (!has_room(message.request.body.size())) return;
          dispatch(std::move(message));
          break;
        }
        case HttpReader::Step::refused:
          return refuse(reader_.refusal().status, reader_.refusal().why);
      }
    }
  }

  // The caller is judged before any of the body is taken.
  void on_head() {
    HttpReader::Message& head = reader_.head();
    const auto exchange =
        std::make_shared<HttpExchange>(this->weak_from_this(), server_->limits.unsent);
    exchange->old = head.old;
    exchange->request = std::move(head.request);
    exchange->request.peer = peer_;
    exchange->request.secure = kTls;
    exchange->head_only = exchange->request.method == "HEAD";
    // In case it is refused.
    exchange->keep_alive = head.keep_alive && reader_.can_skip();
    ++server_->counts.requests;
    exchange_ = exchange;
    bool wanted = false;
    try {
      answer_by(exchange, [&] {
        wanted = (!server_->check || server_->check(exchange)) && has_place(*exchange);
      });
    } catch (const std::exception&) {
      pass_over();
      throw;
    }
    if (!wanted) return pass_over();
    exchange_.reset();
    exchange->keep_alive = head.keep_alive;
    pending_ = exchange;
    room_ = Share({server_, &server_->bodies});
    if (exchange->caller) own_room_ = Share({exchange->caller, &exchange->caller->holds.bodies});
    limit(server_->limits.body_time);
    if (reader_.awaits_continue()) send("HTTP/1.1 100 Continue\r\n\r\n");
  }

  // The request is answered, and the rest of its body is not wanted.
  void pass_over() {
    if (closed_) return;
    deadline_ = SteadyClock::time_point::max();
    reader_.skip();
    read();
  }

  bool has_place(Exchange& exchange) {
    if (!exchange.caller || server_->places.assign(place_, exchange.caller)) return true;
    ++server_->counts.refused;
    exchange.respond({503,
                      "application/problem+json",
                      R"({"type":"urn:brig:problem:too-many-connections","title":)"
                      R"("too-many-connections","status":503,"detail":)"
                      R"("this caller has all the connections that it may have; close some"})",
                      {{"Retry-After", "1"}},
                      "too-many-connections"});
    return false;
  }

  // Returns whether there is room for a body of that size. A small body always has room.
  bool has_room(std::size_t size) {
    if (size == 0) return true;
    const Caller* caller = pending_ ? pending_->caller.get() : nullptr;
    const std::size_t more = size - room_.size(), limit = server_->limits.bodies;
    const bool fits =
        size <= kSmallBody || more == 0 ||
        (!caller || caller->alone ? server_->bodies + more <= limit
                                  : is_fair(caller->holds.bodies, more, server_->bodies, limit));
    room_.resize(size);
    if (caller) own_room_.resize(size);
    if (fits) return true;
    refuse(503, "too many large requests at once; try again later");
    return false;
  }

  void dispatch(HttpReader::Message&& message) {
    const auto exchange = std::exchange(pending_, nullptr);
    exchange->room = std::move(room_);
    exchange->own_room = std::move(own_room_);
    exchange->request.body = std::move(message.request.body);
    exchange_ = exchange;
    deadline_ = SteadyClock::time_point::max();
    read();
    answer_by(exchange, [&] { server_->handler(exchange); });
  }

  void answer_by(const std::shared_ptr<HttpExchange>& exchange, const std::function<void()>& job) {
    try {
      job();
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

  // The client has the whole answer.
  void finish() {
    if (closed_ || !exchange_) return;
    const bool keep = exchange_->keep_alive && !server_->draining;
    exchange_.reset();
    if (!keep) return linger();
    parse();
  }

  // Answers bytes that are not a request, and closes: nobody knows where the next request would
  // begin.
  void refuse(unsigned status, std::string_view why) {
    ++server_->counts.refused;
    reader_.forget();
    pending_.reset();
    room_ = Share();
    own_room_ = Share();
    closing_ = true;
    limit(std::chrono::seconds(5));
    const std::string body =
        fmt::format(R"({{"type":"about:blank","title":"{}","status":{},"detail":"{}"}})",
                    reason_of(status), status, why);
    answers({.status = status});
    send(
        fmt::format("HTTP/1.1 {} {}\r\nContent-Type: application/problem+json\r\n"
                    "Content-Length: {}\r\nDate: {}\r\nConnection: close\r\n{}\r\n{}",
                    status, reason_of(status), body.size(), http_date(),
                    status == 503 ? "Retry-After: 1\r\n" : "", body));
    read();
  }

  // Closing while the client still sends would reset the connection, and the client would lose the
  // answer.
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
  HttpReader reader_;
  Places::Place place_;
  std::shared_ptr<HttpExchange> pending_;   // the request whose body is being received
  Share room_, own_room_;                   // of that body, among all bodies and among its caller's
  std::shared_ptr<HttpExchange> exchange_;  // the request that is being answered
  std::deque<std::string> out_;
  // Bytes sent of the first piece.
  std::size_t sent_ = 0;
  std::size_t unsent_ = 0, discarded_ = 0;
  std::size_t taken_ = 0;                 // since
  SteadyClock::time_point busy_since_{};  // there is something to send
  SteadyClock::time_point deadline_ = SteadyClock::time_point::max(), send_deadline_{};
  bool reading_ = false, writing_ = false, closing_ = false, closed_ = false;
};

}  // namespace brig::serve
