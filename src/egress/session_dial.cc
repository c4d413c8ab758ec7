// How a Session reaches a host that was judged: it resolves a name once, judges every address, and
// connects to one that may be reached.
#include <sys/socket.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "egress/session.h"

namespace brig::egress {
namespace {

using boost::asio::redirect_error;
using boost::asio::use_awaitable;
using boost::system::error_code;

constexpr std::chrono::seconds kDial{10};
// For one address, if others follow.
constexpr std::chrono::seconds kOneOfSeveral{2};

}  // namespace

std::string Session::why_not(const Address& address, std::uint16_t port) const {
  const Rules& rules = cell_->settings().rules;
  const Rules::Verdict verdict = rules.judge_resolved(address, port);
  if (!verdict.allowed) return verdict.why;
  // Whoever lists an address of this machine means it.
  if (!rules.judge_address(address, port).allowed && is_of_this_machine(address))
    return fmt::format("{} is an address of this machine", address.text());
  return "";
}

Session::Task<bool> Session::dial(const Target& target) {
  timer_.cancel();
  const Clock::time_point deadline = Clock::now() + kDial;
  std::vector<Address> addresses;
  if (target.address) {
    addresses.push_back(*target.address);
  } else {
    Resolver::Answer answer = co_await cell_->proxy().resolver().resolve(target.name, deadline);
    if (over_) co_return false;
    if (!answer.why.empty()) {
      fail(answer.why);
      co_return false;
    }
    std::string why;
    for (const Address& address : answer.addresses) {
      const std::string reason = why_not(address, target.port);
      if (reason.empty())
        addresses.push_back(address);
      else if (why.empty())
        why = reason;
    }
    if (addresses.empty()) {
      deny("", fmt::format("the name leads to an address that may not be reached: {}", why));
      co_return false;
    }
  }
  for (std::size_t i = 0; i < addresses.size() && !over_; ++i) {
    const bool is_last = i + 1 == addresses.size();
    const Clock::time_point until =
        is_last ? deadline : std::min(deadline, Clock::now() + kOneOfSeveral);
    const bool reached = co_await try_address(addresses[i], target.port, until);
    if (!reached) continue;
    noted_->address = addresses[i].text();
    noted_->reason.clear();
    noted_->verdict = Connection::Verdict::allowed;
    const auto& longest = cell_->settings().limits.connection_time;
    if (longest) end_after(life_, *longest, "limits.connection_time was over");
    co_return true;
  }
  co_return false;
}

Session::Task<bool> Session::try_address(const Address& address, std::uint16_t port,
                                         Clock::time_point until) {
  sockaddr_storage place{};
  const socklen_t size = address.to_socket_address(port, place);
  error_code error;
  end_socket(host_, false);
  host_.open(address.is_ipv4() ? Tcp::v4() : Tcp::v6(), error);
  if (error) {
    fail(error == boost::system::errc::too_many_files_open ? kNoDescriptor : error.message());
    co_return false;
  }
  host_.native_non_blocking(true);
  const int socket = host_.native_handle();
  if (connect(socket, reinterpret_cast<const sockaddr*>(&place), size) != 0 &&
      errno != EINPROGRESS) {
    fail(fmt::format("{}: {}", address.text(), errno_text(errno)));
    co_return false;
  }
  boost::asio::steady_timer patience(cell_->proxy().loop());
  patience.expires_at(until);
  // The next attempt's socket may have the same number.
  patience.async_wait([self = shared_from_this(), mine = ++attempts_](const error_code& stopped) {
    if (stopped || self->over_ || self->attempts_ != mine) return;
    error_code ignored;
    self->host_.cancel(ignored);
  });
  co_await host_.async_wait(Tcp::socket::wait_write, redirect_error(use_awaitable, error));
  patience.cancel();
  if (over_) co_return false;
  int result = 0;
  socklen_t length = sizeof result;
  if (error)
    result = ETIMEDOUT;
  else if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &result, &length) != 0)
    result = errno;
  if (result == 0) co_return true;
  fail(fmt::format("{}: {}", address.text(), errno_text(result)));
  co_return false;
}

}  // namespace brig::egress
