// What a Session does when it has both sides: bytes go up and down until both directions are over.
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "egress/session.h"

namespace brig::egress {
namespace {

using boost::asio::redirect_error;
using boost::asio::use_awaitable;
using boost::system::error_code;

// For the rest of the tool's first bytes, and for an answer of brig's own to be taken.
constexpr std::chrono::seconds kFirstBytes{10}, kLinger{2};

// A fatal alert: access_denied.
constexpr std::string_view kTlsAlert{"\x15\x03\x03\x00\x02\x02\x31", 7};

bool would_wait(int error) { return error == EAGAIN || error == EINTR; }

}  // namespace

Session::Task<void> Session::relay(const Target* target) {
  const Target copy = target ? *target : Target{};
  boost::asio::co_spawn(
      cell_->proxy().loop(),
      [self = shared_from_this(), copy, inspects = target != nullptr]() -> Task<void> {
        co_await self->send_up(inspects ? &copy : nullptr);
      },
      [self = shared_from_this()](const std::exception_ptr& error) { self->on_error(error); });
  co_await send_down();
}

// From the host to the tool. Its end is the session's, unless the tool still sends.
Session::Task<void> Session::send_down() {
  auto& scratch = cell_->proxy().scratch();
  error_code error;
  for (bool waits = true; !over_;) {
    if (waits) {
      co_await host_.async_wait(Tcp::socket::wait_read, redirect_error(use_awaitable, error));
      if (error) co_return;
    }
    co_await cell_->turn();
    if (over_) co_return;
    const ssize_t size = recv(host_.native_handle(), scratch.data(), scratch.size(), 0);
    waits = size < static_cast<ssize_t>(scratch.size());
    if (size < 0 && would_wait(errno)) continue;
    if (size < 0) resets_client_ = true;
    if (size < 0) co_return end();
    if (size == 0) break;
    if (!cell_->count_received(static_cast<std::uint64_t>(size))) {
      fail("limits.download was reached");
      co_return end();
    }
    noted_->received += static_cast<std::uint64_t>(size);
    const std::string_view bytes(scratch.data(), static_cast<std::size_t>(size));
    if (upgrade_ == Upgrade::asked) {
      upgrade_ = bytes.starts_with("HTTP/1.1 101") ? Upgrade::done : Upgrade::refused;
      gate_.cancel();
    }
    if (!co_await send_all(client_, bytes)) co_return;
  }
  if (over_) co_return;
  if (resets_client_) co_return end();
  // The host has nothing more to say. The tool may have: until it ends its side too.
  client_.shutdown(Tcp::socket::shutdown_send, error);
  while (!over_ && !up_over_) {
    done_.expires_at(Clock::time_point::max());
    co_await done_.async_wait(redirect_error(use_awaitable, error));
  }
}

Session::Task<void> Session::send_up(const Target* target) {
  FirstBytes first;
  first.kind = FirstBytes::Kind::other;
  if (target && !co_await inspect(*target, first)) co_return end();
  if (first.kind == FirstBytes::Kind::http) {
    HeadResult result;
    result = read_head(in_);
    while (result.kind == HeadResult::Kind::more) {
      const std::size_t before = in_.size();
      const bool got = co_await read_more();
      if (!got) co_return end();
      if (may_hold_head(before)) result = read_head(in_);
    }
    if (result.kind == HeadResult::Kind::refused || result.head.form != HttpHead::Form::origin ||
        !is_for(result.head.target, *target)) {
      deny(noted_->rule, result.kind == HeadResult::Kind::refused
                             ? "the HTTP request is malformed: " + result.why
                             : "the HTTP request is for " + result.head.target.text());
      // Nothing has gone up, so nothing has come down that it could be mixed with.
      if (noted_->received == 0) {
        answer_ = plain_answer(result.status ? result.status : 421, sentence());
        (void)co_await send_all(client_, answer_);
      }
      co_return end();
    }
    timer_.cancel();
    in_.replace(0, result.size, result.head.forwarded);
    upgrade_ = result.head.upgrades ? Upgrade::asked : Upgrade::none;
    {
      co_await send_request_up(result.head);
      co_return;
    }
  }
  if (!in_.empty() && !co_await send_to_host(in_)) co_return up_is_broken();
  std::string().swap(in_);
  co_await pump_up();
}

// From the tool to the host, as it comes.
Session::Task<void> Session::pump_up() {
  auto& scratch = cell_->proxy().scratch();
  error_code error;
  for (bool waits = true; !over_;) {
    if (waits) {
      co_await client_.async_wait(Tcp::socket::wait_read, redirect_error(use_awaitable, error));
      if (error) co_return;
    }
    co_await cell_->turn();
    if (over_) co_return;
    const ssize_t size = recv(client_.native_handle(), scratch.data(), scratch.size(), 0);
    waits = size < static_cast<ssize_t>(scratch.size());
    if (size < 0 && would_wait(errno)) continue;
    if (size < 0) resets_host_ = true;
    if (size < 0) co_return end();
    if (size == 0) break;
    const std::string_view bytes(scratch.data(), static_cast<std::size_t>(size));
    if (!co_await send_to_host(bytes)) co_return up_is_broken();
  }
  if (over_) co_return;
  host_.shutdown(Tcp::socket::shutdown_send, error);
  up_is_over();
}

void Session::up_is_broken() {
  if (over_ || noted_->verdict != Connection::Verdict::allowed) return end();
  resets_client_ = true;
  expire_in(kLinger, "");
  up_is_over();
}

void Session::up_is_over() {
  up_over_ = true;
  done_.cancel();
}

Session::Task<bool> Session::send_to_host(std::string_view bytes) {
  if (!cell_->count_sent(bytes.size())) {
    fail("limits.upload was reached");
    co_return false;
  }
  noted_->sent += bytes.size();
  const bool sent = co_await send_all(host_, bytes);
  co_return sent;
}

// `bytes` may be the loop's scratch: what can't be sent at once is copied before anything waits.
Session::Task<bool> Session::send_all(Tcp::socket& to, std::string_view bytes) {
  std::string rest;
  error_code error;
  while (!over_) {
    const ssize_t size = send(to.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size < 0 && !would_wait(errno)) co_return false;
    if (size > 0) bytes.remove_prefix(static_cast<std::size_t>(size));
    if (bytes.empty()) co_return true;
    if (rest.empty()) {
      rest = bytes;
      bytes = rest;
    }
    co_await to.async_wait(Tcp::socket::wait_write, redirect_error(use_awaitable, error));
    if (error) co_return false;
  }
  co_return false;
}

// TLS must ask for the host that was judged, and so must HTTP without TLS, whose first request is
// read as strictly as one to the proxy.
Session::Task<bool> Session::inspect(const Target& target, FirstBytes& first) {
  for (;;) {
    first = look_at(in_);
    if (first.kind != FirstBytes::Kind::more) break;
    // Whoever says nothing may be waiting for the host to speak first.
    if (!in_.empty() && !holds_) {
      holds_ = true;
      expire_in(kFirstBytes, "the tool's first bytes stopped before they said for whom they are");
    }
    if (!co_await read_more()) {
      if (over_ || !in_.empty()) co_return false;
      first.kind = FirstBytes::Kind::other;  // It has nothing to say.
      co_return true;
    }
  }
  if (first.kind == FirstBytes::Kind::http) co_return true;
  timer_.cancel();
  if (first.kind == FirstBytes::Kind::bad) {
    deny(noted_->rule, "the tool's first bytes are malformed: " + first.why);
    co_return false;
  }
  const bool is_other = first.kind == FirstBytes::Kind::tls && !first.name.empty() &&
                        !target.name.empty() && first.name != target.name;
  if (!is_other) co_return true;
  deny(noted_->rule, fmt::format("TLS asks for {} inside", first.name));
  if (noted_->received == 0) (void)co_await send_all(client_, kTlsAlert);
  co_return false;
}

bool Session::is_for(const Target& asked, const Target& judged) {
  if (asked == judged) return true;
  // The port is often left out, and behind an address any name may be meant.
  return judged.name.empty() ? true : asked.name == judged.name;
}

// The rest of a request whose head is in in_ already: its body, and nothing after it.
Session::Task<void> Session::send_request_up(const HttpHead& head) {
  const std::size_t head_size = head.forwarded.size();
  const std::string_view own_head = std::string_view(in_).substr(0, head_size);
  if (!co_await send_to_host(own_head)) co_return up_is_broken();
  in_.erase(0, head_size);
  if (head.upgrades) {
    error_code error;
    gate_.expires_at(Clock::time_point::max());
    while (!over_ && upgrade_ == Upgrade::asked)
      co_await gate_.async_wait(redirect_error(use_awaitable, error));
    if (over_ || upgrade_ != Upgrade::done) co_return up_is_over();
    if (!in_.empty() && !co_await send_to_host(in_)) co_return up_is_broken();
    in_.clear();
    {
      co_await pump_up();
      co_return;
    }
  }
  std::uint64_t left = head.body_size;
  ChunkedEnd chunks;
  while (!over_ && (head.is_chunked ? !chunks.done() : left > 0)) {
    if (in_.empty() && !co_await read_more()) co_return end();
    std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(left, in_.size()));
    if (head.is_chunked) size = chunks.feed(in_);
    if (chunks.bad()) {
      deny(noted_->rule, "the body of the HTTP request is malformed");
      co_return end();
    }
    const std::string_view piece = std::string_view(in_).substr(0, size);
    if (!co_await send_to_host(piece)) co_return up_is_broken();
    in_.erase(0, size);
    left -= head.is_chunked ? 0 : size;
  }
  up_is_over();
}

Session::Task<void> Session::answer_and_close() {
  expire_in(kLinger, "");
  if (!co_await send_all(client_, answer_)) co_return;
  error_code error;
  client_.shutdown(Tcp::socket::shutdown_send, error);
  // What the tool still sends must not make the kernel throw the answer away.
  for (std::size_t more = 0; more < kMaxHead && co_await read_more(); in_.clear())
    more += in_.size();
}

Session::Task<void> Session::explain() {
  const bool was_denied = noted_->verdict == Connection::Verdict::denied;
  if (!was_denied && noted_->reason.empty()) {
    resets_client_ = true;
    co_return;
  }
  expire_in(kLinger, "");
  FirstBytes first;
  while ((first = look_at(in_)).kind == FirstBytes::Kind::more)
    if (!co_await read_more()) break;
  if (first.kind == FirstBytes::Kind::tls && was_denied) {
    answer_ = std::string(kTlsAlert);
    co_await answer_and_close();
    co_return;
  }
  if (first.kind == FirstBytes::Kind::http) {
    answer_ = plain_answer(was_denied ? 403 : 502, sentence());
    co_await answer_and_close();
    co_return;
  }
  resets_client_ = true;
}

}  // namespace brig::egress
