// Resolver: asks the host's own name servers for the addresses of a name, by c-ares, in the proxy's
// loop. The host's environment changes nothing, and no search list applies: the name that a rule
// allows is the name that is asked. For the loop's thread alone.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "egress/address.h"

struct ares_channeldata;

namespace brig::egress {

class Resolver {
 public:
  explicit Resolver(boost::asio::io_context& loop);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  struct Answer {
    std::vector<Address> addresses;
    std::string why;  // If there are none: "no such name", "the name servers do not answer".
  };
  // `name` is normal. What is found is kept for as long as its TTL says, 30 s at most. Whatever the
  // name servers do, the answer is there by `deadline`.
  boost::asio::awaitable<Answer> resolve(const std::string& name,
                                         std::chrono::steady_clock::time_point deadline);

  // Ends all questions; they have no answer.
  void stop();

 private:
  struct Question;
  struct Watched;
  struct Known {
    Answer answer;
    std::chrono::steady_clock::time_point until;
  };

  std::string begin();
  void watch(int socket, bool readable, bool writable);
  void wait(const std::shared_ptr<Watched>& watched, bool for_write);
  void arm();

  boost::asio::io_context& loop_;
  ares_channeldata* channel_ = nullptr;
  // When /etc/resolv.conf was written that the channel was made from.
  timespec written_{};
  std::map<int, std::shared_ptr<Watched>> watched_;
  boost::asio::steady_timer timer_;
  std::map<std::string, Known> known_;
  bool stopped_ = false;
};

}  // namespace brig::egress
