// Proxy: the thread that serves the ways out of all cells of this process. One loop, nothing in it
// waits.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <memory>

#include "base/fd.h"
#include "base/own_thread.h"
#include "egress/resolver.h"

namespace brig::egress {

class Proxy {
 public:
  // The one of this process. It ends with its last owner.
  static std::shared_ptr<Proxy> shared();
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  boost::asio::io_context& loop() { return loop_; }

  // The rest is for the loop's thread.
  Resolver& resolver() { return resolver_; }
  // Where bytes stand between receiving and sending, for all connections: no use of it outlives one
  // step of the loop.
  std::array<char, 128 * 1024>& scratch() { return scratch_; }
  // A descriptor that can be given up for a moment when there is no other.
  UniqueFd& spare() { return spare_; }
  void keep_spare();

 private:
  Proxy();
  void serve();

  boost::asio::io_context loop_{1};
  Resolver resolver_{loop_};
  std::array<char, 128 * 1024> scratch_;
  UniqueFd spare_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  OwnThread thread_;
};

}  // namespace brig::egress
