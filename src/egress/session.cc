#include "egress/session.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "egress/dns_server.h"
#include "egress/socks.h"

namespace brig::egress {
namespace {

using boost::asio::redirect_error;
using boost::asio::use_awaitable;
using boost::system::error_code;

// For the tool to say what it wants.
constexpr std::chrono::seconds kHandshake{10};
constexpr std::uint16_t kDnsPort = 53;

}  // namespace

void end_socket(Tcp::socket& socket, bool resets) {
  if (!socket.is_open()) return;
  error_code ignored;
  const UniqueFd own(socket.release(ignored));
  const sockaddr nobody{AF_UNSPEC, {}};
  if (resets)
    (void)connect(own.get(), &nobody, sizeof nobody);
  else
    shutdown(own.get(), SHUT_RDWR);
}

Session::Session(std::shared_ptr<Cell> cell, UniqueFd socket, bool is_proxy)
    : cell_(std::move(cell)),
      client_(cell_->proxy().loop()),
      host_(cell_->proxy().loop()),
      timer_(cell_->proxy().loop()),
      life_(cell_->proxy().loop()),
      gate_(cell_->proxy().loop()),
      done_(cell_->proxy().loop()),
      is_proxy_(is_proxy) {
  sockaddr_storage place{};
  socklen_t size = sizeof place;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&place), &size);
  client_.assign(place.ss_family == AF_INET ? Tcp::v4() : Tcp::v6(), socket.get());
  (void)socket.release();
  client_.native_non_blocking(true);
}

void Session::begin(const std::shared_ptr<Cell>& cell, UniqueFd socket, bool is_proxy) {
  const std::shared_ptr<Session> session(new Session(cell, std::move(socket), is_proxy));
  cell->add(*session);  // First, since the session may end before co_spawn() returns.
  try {
    boost::asio::co_spawn(cell->proxy().loop(), session->run(),
                          [session](const std::exception_ptr& error) {
                            session->on_error(error);
                            session->end();
                          });
  } catch (...) {
    session->end();
    throw;
  }
}

void Session::on_error(const std::exception_ptr& error) {
  if (!error) return;
  fail("brig had no memory for it");
  end();
}

Session::Task<void> Session::run() {
  expire_in(kHandshake, "the tool did not say what it wants within 10 s");
  if (is_proxy_)
    co_await serve_proxy();
  else
    co_await serve_direct();
}

void Session::end() {
  if (over_) return;
  if (noted_->verdict == Connection::Verdict::allowed && noted_->address.empty())
    fail("the call ended before there was a connection");
  over_ = true;
  timer_.cancel();
  life_.cancel();
  gate_.cancel();
  done_.cancel();
  end_socket(client_, resets_client_);
  end_socket(host_, resets_host_);
  if (is_noted_)
    noted_->duration = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin_);
  // The entry is the account's: it may go before the last coroutine has seen the end.
  own_place_ = *noted_;
  noted_ = &own_place_;
  cell_->remove(*this);
}

std::string Session::refusal() const {
  return plain_answer(noted_->verdict == Connection::Verdict::denied ? 403 : 502, sentence());
}

void Session::expire_in(Clock::duration time, const char* reason) {
  end_after(timer_, time, reason);
}

void Session::end_after(boost::asio::steady_timer& timer, Clock::duration time,
                        const char* reason) {
  if (over_) return;  // The loop could not end before the timer.
  timer.expires_after(time);
  timer.async_wait([self = shared_from_this(), reason](const error_code& error) {
    if (error || self->over_) return;
    self->fail(reason);
    self->end();
  });
}

Target Session::meant_by(const Target& target) const {
  const std::string* name = target.address ? cell_->names().name_at(*target.address) : nullptr;
  return name ? Target{*name, std::nullopt, target.port} : target;
}

bool Session::judge(const Target& target, const char* way) {
  const Cell::Entry entry = cell_->note(target, way);
  if (entry.connection) noted_ = entry.connection;
  is_noted_ = true;
  begin_ = entry.begin;
  own_place_.host = target.address ? target.address->text() : target.name;
  own_place_.port = target.port;
  const Rules::Verdict verdict = cell_->judge(target);
  noted_->rule = verdict.rule;
  noted_->verdict = Connection::Verdict::allowed;
  const bool is_made_up = target.address && Names::is_made_up(*target.address);
  if (!verdict.allowed)
    deny(verdict.rule, is_made_up ? "no name in this cell has that address" : verdict.why);
  return verdict.allowed;
}

void Session::deny(std::string rule, std::string reason) {
  noted_->verdict = Connection::Verdict::denied;
  noted_->rule = std::move(rule);
  noted_->reason = std::move(reason);
}

void Session::fail(std::string reason) {
  if (over_ || !is_noted_ || reason.empty()) return;
  if (noted_->verdict == Connection::Verdict::denied) return;
  noted_->verdict = Connection::Verdict::failed;
  noted_->reason = std::move(reason);
}

std::string Session::sentence() const {
  const Target target{noted_->host, Address::parse(noted_->host), noted_->port};
  const std::string grant = target.text();
  if (noted_->verdict == Connection::Verdict::denied && noted_->reason == kNoRule &&
      can_be_allowed(grant))
    return fmt::format(
        "brig: {} can't be reached: {}; the operator can allow it with network.allow = [\"{}\"]",
        grant, noted_->reason, grant);
  return fmt::format("brig: {} can't be reached: {}", grant, noted_->reason);
}

Session::Task<bool> Session::read_more() {
  error_code error;
  char bytes[4096];
  const std::size_t size = co_await client_.async_read_some(boost::asio::buffer(bytes),
                                                            redirect_error(use_awaitable, error));
  in_.append(bytes, size);
  if (error) co_return false;
  co_await cell_->turn();  // For what is done with them.
  co_return !over_;
}

// Whether the bytes after the first `before` make it worth to read the head. A tool that sends one
// byte at a time must not have all of them looked at each time.
bool Session::may_hold_head(std::size_t before) const {
  if (before == 0 || in_.size() >= kMaxHead) return true;
  return in_.find("\n\r\n", before < 2 ? 0 : before - 2) != std::string::npos ||
         in_.find("\n\n", before - 1) != std::string::npos;
}

// The tool connected to an address as if it had a network. The kernel says to which.
Session::Task<void> Session::serve_direct() {
  sockaddr_storage place{};
  socklen_t size = sizeof place;
  getsockname(client_.native_handle(), reinterpret_cast<sockaddr*>(&place), &size);
  const auto address = Address::of(place);
  // The port is at the same place for both families.
  const std::uint16_t port = ntohs(reinterpret_cast<const sockaddr_in&>(place).sin_port);
  if (!address) {
    resets_client_ = true;
    co_return;
  }
  Target target{"", address, port};
  const bool is_own = *address == Address::v4(Names::kOwn) ||
                      address->is_in(Address::v4(INADDR_LOOPBACK).bytes, 104) ||
                      *address == *Address::parse("::1");
  if (is_own && port == kDnsPort) {
    co_await serve_dns();
    co_return;
  }
  // The cell's own loopback, where nobody of its own listens.
  if (is_own && !cell_->settings().rules.judge_address(*address, port).allowed) {
    resets_client_ = true;
    co_return;
  }
  target = meant_by(target);
  if (!judge(target, "direct")) {
    co_await explain();
    co_return;
  }
  if (!co_await dial(target)) {
    co_await explain();
    co_return;
  }
  co_await relay(&target);
}

// g++ 12 compiles some forms of coroutines wrongly, so they are not used in this folder: the loop
// `do ... while (co_await x)`, of which `continue` leaves the condition out; a conditional operator
// or a temporary string within the expression that awaits.
Session::Task<void> Session::serve_proxy() {
  HeadResult result;
  while (result.kind == HeadResult::Kind::more) {
    const std::size_t before = in_.size();
    const bool got = co_await read_more();
    if (!got) co_return;
    if (in_[0] == '\x05') {
      co_await serve_socks();
      co_return;
    }
    if (may_hold_head(before)) result = read_head(in_);
  }
  if (result.kind == HeadResult::Kind::refused) {
    answer_ = plain_answer(result.status, "brig: " + result.why);
    co_await answer_and_close();
    co_return;
  }
  in_.erase(0, result.size);
  result.head.target = meant_by(result.head.target);
  if (result.head.form == HttpHead::Form::connect) {
    co_await serve_connect(result.head.target);
    co_return;
  }
  if (result.head.form == HttpHead::Form::absolute) {
    co_await serve_request(result.head, "http");
    co_return;
  }
  answer_ =
      plain_answer(400, "brig: this is a proxy; ask it for a whole URL, such as http://host/path");
  co_await answer_and_close();
}

Session::Task<void> Session::serve_connect(const Target& target) {
  bool reached = judge(target, "connect");
  if (reached) reached = co_await dial(target);
  answer_ = reached ? "HTTP/1.1 200 Connection established\r\n\r\n" : refusal();
  if (!reached) {
    co_await answer_and_close();
    co_return;
  }
  const bool answered = co_await send_all(client_, answer_);
  if (answered) co_await relay(&target);
}

// One request and its answer; then the connection ends. So no second request can be meant for
// somebody else.
Session::Task<void> Session::serve_request(const HttpHead& head, const char* way) {
  bool reached = judge(head.target, way);
  if (reached) reached = co_await dial(head.target);
  if (!reached) {
    answer_ = refusal();
    co_await answer_and_close();
    co_return;
  }
  in_.insert(0, head.forwarded);
  upgrade_ = head.upgrades ? Upgrade::asked : Upgrade::none;
  spawn_request_up(head);
  co_await send_down();
}

void Session::spawn_request_up(const HttpHead& head) {
  boost::asio::co_spawn(
      cell_->proxy().loop(),
      [self = shared_from_this(), head]() -> Task<void> { co_await self->send_request_up(head); },
      [self = shared_from_this()](const std::exception_ptr& error) { self->on_error(error); });
}

Session::Task<void> Session::serve_socks() {
  SocksGreeting greeting;
  while ((greeting = read_socks_greeting(in_)).kind == SocksGreeting::Kind::more)
    if (!co_await read_more()) co_return;
  if (greeting.kind == SocksGreeting::Kind::refused) {
    answer_ = std::string(kSocksNoMethod);
    co_await answer_and_close();
    co_return;
  }
  in_.erase(0, greeting.size);
  if (!co_await send_all(client_, kSocksWelcome)) co_return;
  SocksRequest request;
  while ((request = read_socks_request(in_)).kind == SocksRequest::Kind::more)
    if (!co_await read_more()) co_return;
  if (request.kind == SocksRequest::Kind::refused) {
    answer_ = socks_answer(request.code);
    co_await answer_and_close();
    co_return;
  }
  in_.erase(0, request.size);
  request.target = meant_by(request.target);
  constexpr std::uint8_t kNotAllowed = 2, kUnreachable = 4;
  bool reached = judge(request.target, "socks");
  if (reached) reached = co_await dial(request.target);
  if (!reached) {
    answer_ =
        socks_answer(noted_->verdict == Connection::Verdict::denied ? kNotAllowed : kUnreachable);
    co_await answer_and_close();
    co_return;
  }
  answer_ = socks_answer(0);
  const bool answered = co_await send_all(client_, answer_);
  if (answered) co_await relay(&request.target);
}

// Questions over TCP: each with its size in two bytes before it.
Session::Task<void> Session::serve_dns() {
  for (;;) {
    while (in_.size() < 2 || in_.size() < 2u + ((in_[0] & 0xff) << 8 | (in_[1] & 0xff)))
      if (!co_await read_more()) co_return;
    const std::size_t size = static_cast<std::size_t>((in_[0] & 0xff) << 8 | (in_[1] & 0xff));
    const std::vector<std::uint8_t> answer =
        answer_to({reinterpret_cast<const std::uint8_t*>(in_.data()) + 2, size}, *cell_);
    in_.erase(0, 2 + size);
    if (answer.empty()) co_return;
    std::string bytes{static_cast<char>(answer.size() >> 8), static_cast<char>(answer.size())};
    bytes.append(answer.begin(), answer.end());
    if (!co_await send_all(client_, bytes)) co_return;
    expire_in(kHandshake, "");
  }
}

}  // namespace brig::egress
