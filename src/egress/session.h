// Session: one connection that a tool has made, from its acceptance to its end. What the tool asks
// for is judged before anything is looked up or dialled. After that the host's bytes reach the tool
// at once, since in many protocols the server speaks first; the tool's first bytes are held until
// they show that they are meant for the host that was judged.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "egress/cell.h"
#include "egress/first_bytes.h"
#include "egress/http_head.h"

namespace brig::egress {

// Ends the connection and not only this descriptor: a copy of this process, made by a fork, may
// have another one. For the same reason the socket leaves the loop's epoll set by name.
void end_socket(Tcp::socket& socket, bool resets);

class Session : public std::enable_shared_from_this<Session> {
 public:
  // The cell knows the session until it is over. Throws if there is no memory for it.
  static void begin(const std::shared_ptr<Cell>& cell, UniqueFd socket, bool is_proxy);

  // Closes both sides and completes what the account has of it.
  void end();

 private:
  template <typename T>
  using Task = boost::asio::awaitable<T>;

  Session(std::shared_ptr<Cell> cell, UniqueFd socket, bool is_proxy);

  Task<void> run();
  // The ways to ask for a host.
  Task<void> serve_direct();
  Task<void> serve_proxy();
  Task<void> serve_connect(const Target& target);
  Task<void> serve_request(const HttpHead& head, const char* way);
  Task<void> serve_socks();
  Task<void> serve_dns();

  // Programs may look a name up here and then ask the proxy for the address that stands for it.
  Target meant_by(const Target& target) const;
  // Enters the target into the account. False: it is denied.
  bool judge(const Target& target, const char* way);
  // Connects to the target, which has been judged. False: it failed, and the account says why.
  Task<bool> dial(const Target& target);
  Task<bool> try_address(const Address& address, std::uint16_t port, Clock::time_point until);
  // Why the address of a name must not be dialled, or "".
  std::string why_not(const Address& address, std::uint16_t port) const;

  // Both directions, until both are over. `target`: for whom the first bytes must be, or null if
  // that is known.
  Task<void> relay(const Target* target);
  Task<void> send_up(const Target* target);
  // Holds the tool's first bytes until their kind is known. False: they are refused, and the
  // session is over.
  Task<bool> inspect(const Target& target, FirstBytes& first);
  Task<void> send_request_up(const HttpHead& head);
  Task<void> send_down();
  Task<void> pump_up();
  void up_is_over();
  // The host takes nothing more. What it has sent before that still reaches the tool.
  void up_is_broken();
  // Whether a request may go where it was judged to go.
  static bool is_for(const Target& asked, const Target& judged);
  // Sends all of it. False: the peer is gone, or the session.
  Task<bool> send_all(Tcp::socket& to, std::string_view bytes);
  Task<bool> send_to_host(std::string_view bytes);

  bool may_hold_head(std::size_t before) const;
  // Reads more from the tool into in_. False: there is no more.
  Task<bool> read_more();
  // Tells a denied or failed tool why, in its own protocol where that has a way to.
  Task<void> explain();
  // Sends answer_, and waits a little for the tool to take it.
  Task<void> answer_and_close();
  void deny(std::string rule, std::string reason);
  void fail(std::string reason);
  // The sentence of the account for the tool.
  std::string sentence() const;
  // The same as an answer of HTTP.
  std::string refusal() const;
  void spawn_request_up(const HttpHead& head);
  // What a coroutine of this session threw: it had no memory. Then this session ends, and the
  // others go on.
  void on_error(const std::exception_ptr& error);
  // Ends the session unless timer_ is cancelled or set anew before that.
  void expire_in(Clock::duration time, const char* reason);
  void end_after(boost::asio::steady_timer& timer, Clock::duration time, const char* reason);

  const std::shared_ptr<Cell> cell_;
  Tcp::socket client_, host_;
  // Ends the session if a step takes too long; and when limits.connection_time is over.
  boost::asio::steady_timer timer_, life_;
  // Fires when the host has answered an upgrade (see send_request_up), and when the tool has sent
  // everything.
  boost::asio::steady_timer gate_, done_;
  const bool is_proxy_;
  std::string in_;  // Of the tool, not yet sent on.
  std::string answer_;
  // Of the account, or a place of its own if that is full.
  Connection own_place_;
  Connection* noted_ = &own_place_;
  bool is_noted_ = false;
  Clock::time_point begin_ = Clock::now();
  unsigned attempts_ = 0;  // To connect.
  bool over_ = false;
  bool up_over_ = false;
  // How the sides learn of the end: by a reset, which says that something may be missing.
  bool resets_client_ = false, resets_host_ = false;
  bool holds_ = false;  // The first bytes, for a limited time.
  // What the host's first bytes were, after an upgrade was asked for.
  enum class Upgrade { none, asked, done, refused } upgrade_ = Upgrade::none;
};

}  // namespace brig::egress
