#include "egress/cell.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "egress/dns_server.h"
#include "egress/session.h"

namespace brig::egress {
namespace {

using boost::system::error_code;

// How many connections one listener gives in one turn of the loop.
constexpr int kMostAccepted = 16;
// When this process has no descriptor left, those of other cells may become free. When a cell has
// all the connections that it may have, the tool may have closed some of them already.
constexpr std::chrono::milliseconds kPause{50};
// Names that the report has at most, if they were only looked up.
constexpr std::size_t kMostLookUps = 64;

// A RST, and no state that stays in the cell's network.
void reset(const UniqueFd& socket) {
  const sockaddr nobody{AF_UNSPEC, {}};
  (void)connect(socket.get(), &nobody, sizeof nobody);
}

// A copy of this process may have the descriptor too, so it leaves the epoll set by name.
void close_listener(boost::asio::posix::stream_descriptor& listener) {
  if (listener.is_open()) UniqueFd(listener.release()).reset();
}

}  // namespace

Cell::Cell(Proxy& proxy, std::shared_ptr<const Settings> settings, const Sockets& sockets)
    : proxy_(proxy), settings_(std::move(settings)) {
  numbers_.push_back(sockets.dns.get());
  for (const UniqueFd& socket : sockets.listeners) numbers_.push_back(socket.get());
}

void Cell::begin(Sockets sockets) {
  dns_ = std::make_shared<Listener>(proxy_.loop(), sockets.dns.release());
  serve_dns();
  bool is_proxy = true;  // The first is the proxy's.
  for (UniqueFd& socket : sockets.listeners) {
    listeners_.push_back(std::make_shared<Listener>(proxy_.loop(), socket.release()));
    listen(listeners_.back(), is_proxy, false);
    is_proxy = false;
  }
}

bool Cell::is_quiet() const {
  std::vector<pollfd> polls;
  polls.reserve(numbers_.size());
  for (const int socket : numbers_) polls.push_back({socket, POLLIN, 0});
  // In this order: what is taken between the two has been seen by one of them.
  return poll(polls.data(), polls.size(), 0) == 0 && !touched_;
}

void Cell::listen(const std::shared_ptr<Listener>& listener, bool is_proxy, bool refuses) {
  listener->async_wait(Listener::wait_read, [self = shared_from_this(), listener, is_proxy,
                                             refuses](const error_code& error) {
    if (error || self->over_) return;
    if (!refuses && self->is_full()) return self->take_later(listener, is_proxy);
    self->take(listener, is_proxy, refuses);
  });
}

void Cell::take(const std::shared_ptr<Listener>& listener, bool is_proxy, bool refuses) {
  touched_ = true;
  switch (accept_some(listener->native_handle(), is_proxy, refuses)) {
    case Taken::all: return listen(listener, is_proxy, false);
    case Taken::some: return listen(listener, is_proxy, refuses);
    case Taken::none: return take_later(listener, is_proxy);
  }
}

void Cell::take_later(const std::shared_ptr<Listener>& listener, bool is_proxy) {
  const auto timer = std::make_shared<boost::asio::steady_timer>(proxy_.loop(), kPause);
  pauses_.insert(timer);
  timer->async_wait(
      [self = shared_from_this(), listener, is_proxy, timer](const error_code& cancelled) {
        self->pauses_.erase(timer);
        if (!self->over_) self->take(listener, is_proxy, !cancelled);
      });
}

Cell::Taken Cell::accept_some(int listener, bool is_proxy, bool refuses) {
  for (int i = 0; i < kMostAccepted && (refuses || !is_full()); ++i) {
    UniqueFd socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      serve(std::move(socket), is_proxy);
      continue;
    }
    if ((errno == EMFILE || errno == ENFILE) && refuses && refuse_one(listener)) continue;
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
      return Taken::none;
    if (errno == EAGAIN) return Taken::all;
  }
  return Taken::some;
}

// For want of a descriptor. A connection that nobody takes would hang until its call is over.
bool Cell::refuse_one(int listener) {
  proxy_.spare().reset();
  UniqueFd socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const bool taken = static_cast<bool>(socket);
  if (taken) {
    sockaddr_storage place{};
    socklen_t size = sizeof place;
    getsockname(socket.get(), reinterpret_cast<sockaddr*>(&place), &size);
    // The port is at the same place for both families.
    const Target target{"", Address::of(place),
                        ntohs(reinterpret_cast<const sockaddr_in&>(place).sin_port)};
    if (Connection* connection = note(target, "direct").connection) {
      if (const std::string* name = target.address ? names_.name_at(*target.address) : nullptr)
        connection->host = *name;
      connection->verdict = Connection::Verdict::failed;
      connection->reason = kNoDescriptor;
    }
    reset(socket);
  }
  socket.reset();
  proxy_.keep_spare();
  return taken;
}

void Cell::serve(UniqueFd socket, bool is_proxy) {
  if (is_full()) {
    ++account_.refused;
    return reset(socket);
  }
  try {
    Session::begin(shared_from_this(), std::move(socket), is_proxy);
  } catch (const std::exception&) {
    // No memory for this one. The listener is still there for the next.
  }
}

// In a coroutine that waits for the cell's turn.
struct Cell::Waiting {
  explicit Waiting(Cell& its) : cell(its), timer(its.proxy_.loop(), Clock::time_point::max()) {
    cell.waiting_.push_back(this);
  }
  ~Waiting() {
    if (!is_called) std::erase(cell.waiting_, this);
  }
  void call() {
    is_called = true;
    timer.cancel();
  }

  Cell& cell;
  boost::asio::steady_timer timer;
  bool is_called = false;
};

boost::asio::awaitable<void> Cell::turn() {
  if (moves_) {
    Waiting mine(*this);
    error_code ignored;
    co_await mine.timer.async_wait(
        boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
    co_return;
  }
  boost::asio::post(proxy_.loop(), [self = shared_from_this()] { self->end_turn(); });
  moves_ = true;
}

void Cell::end_turn() {
  moves_ = !waiting_.empty();
  if (!moves_) return;
  boost::asio::post(proxy_.loop(), [self = shared_from_this()] { self->end_turn(); });
  Waiting& next = *waiting_.front();
  waiting_.pop_front();
  next.call();
}

void Cell::remove(Session& session) {
  sessions_.erase(&session);
  for (const auto& each : pauses_) each->cancel();
}

void Cell::serve_dns() {
  dns_->async_wait(Listener::wait_read, [self = shared_from_this()](const error_code& error) {
    if (error || self->over_) return;
    self->touched_ = true;
    answer_datagrams(self->dns_->native_handle(), *self);
    self->serve_dns();
  });
}

void Cell::narrow(std::shared_ptr<const Rules> rules) {
  const std::lock_guard lock(mutex_);
  rules_of_call_ = std::move(rules);
}

std::shared_ptr<const Rules> Cell::rules_of_call() const {
  const std::lock_guard lock(mutex_);
  return rules_of_call_;
}

Rules::Verdict Cell::judge(const Target& target) const {
  const auto by = [&](const Rules& rules) {
    return target.address ? rules.judge_address(*target.address, target.port)
                          : rules.judge_name(target.name, target.port);
  };
  Rules::Verdict verdict = by(settings_->rules);
  if (const auto narrower = rules_of_call(); verdict.allowed && narrower)
    if (!by(*narrower).allowed) return {.allowed = false, .rule = "", .why = kNotOfThisCall};
  return verdict;
}

bool Cell::knows_name(std::string_view name) const {
  const auto narrower = rules_of_call();
  return settings_->rules.knows_name(name) && (!narrower || narrower->knows_name(name));
}

void Cell::looked_up(const std::string& name) {
  if (over_ || knows_name(name) || unknown_names_.contains(name)) return;
  if (unknown_names_.size() < kMostLookUps) unknown_names_.insert(name);
}

Cell::Entry Cell::note(const Target& target, const char* way) {
  const Clock::time_point now = Clock::now();
  if (over_) return {nullptr, now};
  ++account_.total;
  // The entries must not move while connections write to them.
  account_.connections.reserve(WayOut::kMostConnections);
  if (account_.connections.size() >= WayOut::kMostConnections) return {nullptr, now};
  Connection& connection = account_.connections.emplace_back();
  connection.host = target.address ? target.address->text() : target.name;
  connection.port = target.port;
  connection.way = way;
  connection.begin = std::chrono::duration_cast<std::chrono::microseconds>(now - made_);
  return {&connection, now};
}

bool Cell::count_sent(std::uint64_t bytes) {
  if (settings_->limits.upload && bytes > *settings_->limits.upload - sent_) return false;
  sent_ += bytes;
  return true;
}

bool Cell::count_received(std::uint64_t bytes) {
  if (settings_->limits.download && bytes > *settings_->limits.download - received_) return false;
  received_ += bytes;
  return true;
}

// A tool that ended at once can have left connections and questions that nobody has taken yet. The
// account has those too, as far as they say what they are for.
void Cell::take_the_last() {
  bool is_proxy = true;
  for (const auto& listener : listeners_) {
    accept_some(listener->native_handle(), is_proxy, false);
    is_proxy = false;
  }
  if (dns_) answer_datagrams(dns_->native_handle(), *this);
}

void Cell::end() {
  if (over_) return;
  take_the_last();
  for (Session* session : std::set<Session*>(sessions_)) session->end();
  for (const std::string& name : unknown_names_) {
    const auto is_this = [&](const Connection& each) { return each.host == name; };
    if (std::any_of(account_.connections.begin(), account_.connections.end(), is_this)) continue;
    if (Connection* connection = note({name, std::nullopt, 0}, "dns").connection)
      connection->reason = settings_->rules.knows_name(name) ? kNotOfThisCall : kNoRule;
  }
  over_ = true;
  for (const auto& each : pauses_) each->cancel();
  for (const auto& listener : listeners_) close_listener(*listener);
  if (dns_) close_listener(*dns_);
}

WayOut::Account Cell::take_account() {
  account_.made = made_;
  return std::move(account_);
}

}  // namespace brig::egress
