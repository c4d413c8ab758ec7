// How a request that came on a connection is answered. Only the connection and the server include
// this.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "http/http.h"

namespace brig::serve {

using SteadyClock = std::chrono::steady_clock;

class AnyConnection {
 public:
  virtual ~AnyConnection() = default;
  virtual void start() = 0;
  // Bytes of the answer to the current request.
  virtual void send(std::string bytes) = 0;
  virtual void answered() = 0;
  virtual std::size_t unsent() const = 0;
  // Closes the connection at once; calls the job of on_gone().
  virtual void drop() = 0;
  virtual void check_deadline(SteadyClock::time_point now) = 0;
  virtual void drain() = 0;
  // The request that is being answered, or null.
  virtual const Request* request() const = 0;
  // The caller, or null while it is not known.
  virtual const Caller* caller() const = 0;
  // Called when the head of an answer is sent.
  virtual void answers(const Answered& answer) = 0;
};

// A share of a sum that several objects add up; it is given back when this object goes.
class Share {
 public:
  Share() = default;
  explicit Share(std::shared_ptr<std::size_t> sum) : sum_(std::move(sum)) {}
  Share(Share&& other) noexcept
      : sum_(std::move(other.sum_)), size_(std::exchange(other.size_, 0)) {}
  Share& operator=(Share&& other) noexcept {
    std::swap(sum_, other.sum_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Share() {
    if (sum_) *sum_ -= size_;
  }
  std::size_t size() const { return size_; }
  void resize(std::size_t size) {
    *sum_ += size - size_;
    size_ = size;
  }

 private:
  std::shared_ptr<std::size_t> sum_;
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
  // Called by the connection when the client has left.
  void leave() {
    if (const auto job = std::exchange(gone_, nullptr); job && !answered_) job();
  }

  bool keep_alive = true;
  bool old = false;        // HTTP/1.0
  bool head_only = false;  // HEAD
  Share room, own_room;    // of the sum of all bodies and of its caller's, until it is answered

 private:
  std::string head_of(const Response& response, std::optional<std::size_t> length) const;

  std::weak_ptr<AnyConnection> connection_;
  const std::size_t unsent_limit_;
  std::function<void()> gone_;
};

}  // namespace brig::serve
