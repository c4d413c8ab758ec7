// Cell: the proxy's side of one cell, in the loop's thread: its listeners, the names that it asked
// for, its connections and the account of them.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "egress/http_head.h"
#include "egress/names.h"
#include "egress/proxy.h"
#include "egress/settings.h"
#include "egress/way_out.h"

namespace brig::egress {

class Session;
// Why a host is denied that the policy allows: no policy can give it to this call.
inline constexpr const char* kNotOfThisCall = "the hosts that this call was given leave it out";

inline constexpr const char* kNoDescriptor = "brig has no descriptor left; raise ulimit -n";

using Tcp = boost::asio::ip::tcp;
using Clock = std::chrono::steady_clock;

class Cell : public std::enable_shared_from_this<Cell> {
 public:
  Cell(Proxy& proxy, std::shared_ptr<const Settings> settings, const Sockets& sockets);

  // All of the following is for the loop's thread, except narrow() and is_quiet().
  void begin(Sockets sockets);
  // Ends every connection and closes everything. The account is complete after that.
  void end();
  WayOut::Account take_account();
  // Whether nothing has come from the cell, and nothing waits to be taken. Any thread may ask as
  // long as end() has not been posted.
  bool is_quiet() const;

  // See WayOut. The rules are there at once, not only when the loop comes to it. So no connection of
  // a tool that is told to begin after this returns is judged without them.
  void narrow(std::shared_ptr<const Rules> rules);
  // By the rules of the policy, and those of the call.
  Rules::Verdict judge(const Target& target) const;
  bool knows_name(std::string_view name) const;

  Proxy& proxy() { return proxy_; }
  const Settings& settings() const { return *settings_; }
  Names& names() { return names_; }
  bool is_over() const { return over_; }

  // What the account has of a connection. Null: the account is full, or the cell's end has come.
  struct Entry {
    Connection* connection = nullptr;
    Clock::time_point begin;
  };
  Entry note(const Target& target, const char* way);
  void looked_up(const std::string& name);

  // Counts bytes, of all connections together. False: that would be more than the limit.
  bool count_sent(std::uint64_t bytes);
  bool count_received(std::uint64_t bytes);

  // Before each piece that goes from one side to the other. In one turn of the loop a cell moves
  // one piece, however many connections it has: the others wait here, in the order of their coming.
  // So other cells, and whoever waits for close(), feel a busy cell no more than a busy connection.
  boost::asio::awaitable<void> turn();

  void add(Session& session) { sessions_.insert(&session); }
  void remove(Session& session);

 private:
  using Listener = boost::asio::posix::stream_descriptor;
  struct Waiting;

  // How many of a listener's connections were taken; none: there is no descriptor for one.
  enum class Taken { none, some, all };

  // Takes connections as they come. Unless it refuses what is above the limit, it waits a little
  // for another connection's end.
  void listen(const std::shared_ptr<Listener>& listener, bool is_proxy, bool refuses);
  void take(const std::shared_ptr<Listener>& listener, bool is_proxy, bool refuses);
  void take_later(const std::shared_ptr<Listener>& listener, bool is_proxy);
  Taken accept_some(int listener, bool is_proxy, bool refuses);
  void serve(UniqueFd socket, bool is_proxy);
  bool refuse_one(int listener);
  bool is_full() const { return sessions_.size() >= settings_->limits.connections; }
  void serve_dns();
  void take_the_last();
  void end_turn();

  std::shared_ptr<const Rules> rules_of_call() const;

  Proxy& proxy_;
  const std::shared_ptr<const Settings> settings_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Rules> rules_of_call_;  // Null: none beside the policy's.
  const Clock::time_point made_ = Clock::now();
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::shared_ptr<Listener> dns_;
  // For is_quiet(): the descriptors of the listeners.
  std::vector<int> numbers_;
  std::atomic<bool> touched_{false};
  Names names_;
  std::set<Session*> sessions_;
  std::set<std::shared_ptr<boost::asio::steady_timer>> pauses_;  // See take_later().
  bool moves_ = false;                                           // In this turn of the loop.
  std::deque<Waiting*> waiting_;
  WayOut::Account account_;
  // Names that no rule knows, and how many of them the account has.
  std::set<std::string> unknown_names_;
  std::uint64_t sent_ = 0, received_ = 0;
  bool over_ = false;
};

}  // namespace brig::egress
