#include "egress/resolver.h"

#include <ares.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>

#include "base/error.h"

namespace brig::egress {
namespace {

using Clock = std::chrono::steady_clock;
using Descriptor = boost::asio::posix::stream_descriptor;

// Each try has twice the time of the one before.
constexpr int kTimeoutMs = 1000;
constexpr int kTries = 3;
constexpr std::chrono::seconds kKept{30};
constexpr std::size_t kMostKnown = 1024;
constexpr std::size_t kMostAddresses = 32;

constexpr const char* kSilent = "the host's name servers do not answer";

std::string in_words(int status) {
  switch (status) {
    case ARES_ENODATA: return "the name has no address";
    case ARES_ENOTFOUND: return "no such name";
    case ARES_ETIMEOUT:
    case ARES_ECONNREFUSED: return kSilent;
    default: return std::string("looking up the name failed: ") + ares_strerror(status);
  }
}

timespec written_at(const char* path) {
  struct stat info {};
  return stat(path, &info) == 0 ? info.st_mtim : timespec{};
}

bool same(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

// One question that is under way. c-ares calls back exactly once, also when its channel ends.
struct Resolver::Question {
  explicit Question(boost::asio::io_context& loop) : answered(loop) {}

  static void on_answer(void* argument, int status, int timeouts, ares_addrinfo* found);

  bool done = false;
  Answer answer;
  std::chrono::seconds kept = kKept;
  boost::asio::steady_timer answered;
};

// A socket of c-ares', which closes it.
struct Resolver::Watched {
  Watched(boost::asio::io_context& loop, int socket) : descriptor(loop, socket) {}
  ~Watched() { descriptor.release(); }

  Descriptor descriptor;
  bool reads = false, writes = false;
  bool waits_to_read = false, waits_to_write = false;
};

void Resolver::Question::on_answer(void* argument, int status, int, ares_addrinfo* found) {
  const std::unique_ptr<std::shared_ptr<Question>> held(
      static_cast<std::shared_ptr<Question>*>(argument));
  Question& question = **held;
  question.done = true;
  if (status != ARES_SUCCESS || !found) {
    question.answer.why = in_words(status);
  } else {
    for (const ares_addrinfo_node* node = found->nodes; node; node = node->ai_next) {
      sockaddr_storage place{};
      std::memcpy(&place, node->ai_addr, std::min<std::size_t>(node->ai_addrlen, sizeof place));
      const auto address = Address::of(place);
      auto& all = question.answer.addresses;
      if (address && all.size() < kMostAddresses &&
          std::find(all.begin(), all.end(), *address) == all.end())
        all.push_back(*address);
      question.kept = std::min(question.kept, std::chrono::seconds(std::max(0, node->ai_ttl)));
    }
    if (question.answer.addresses.empty()) question.answer.why = "the name has no address";
  }
  if (found) ares_freeaddrinfo(found);
  question.answered.cancel();
}

Resolver::Resolver(boost::asio::io_context& loop) : loop_(loop), timer_(loop) {}

Resolver::~Resolver() { stop(); }

void Resolver::stop() {
  stopped_ = true;
  if (channel_) ares_destroy(channel_);
  channel_ = nullptr;
  watched_.clear();
  timer_.cancel();
}

// Makes the channel, if there is none or the host's settings have changed. Returns why it can't.
std::string Resolver::begin() {
  const timespec written = written_at("/etc/resolv.conf");
  if (channel_ && same(written, written_)) return "";
  // Questions that are under way end, and are asked anew by whoever wants to.
  if (channel_) ares_destroy(channel_);
  channel_ = nullptr;
  watched_.clear();
  known_.clear();
  static const int initialised = ares_library_init(ARES_LIB_INIT_ALL);
  if (initialised != ARES_SUCCESS) return in_words(initialised);
  ares_options options{};
  options.timeout = kTimeoutMs;
  options.tries = kTries;
  options.ndots = 0;
  // Neither a search list nor $HOSTALIASES.
  options.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES;
  // A search list could make another name of the one that a rule allows.
  options.domains = nullptr;
  options.ndomains = 0;
  char lookups[] = "fb";  // /etc/hosts, then the DNS.
  options.lookups = lookups;
  options.sock_state_cb = [](void* self, ares_socket_t socket, int readable, int writable) {
    static_cast<Resolver*>(self)->watch(socket, readable != 0, writable != 0);
  };
  options.sock_state_cb_data = this;
  // What is given here is not taken from the environment (RES_OPTIONS, LOCALDOMAIN).
  const int status = ares_init_options(&channel_, &options,
                                       ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
                                           ARES_OPT_NDOTS | ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS |
                                           ARES_OPT_SOCK_STATE_CB | ARES_OPT_NOROTATE);
  if (status != ARES_SUCCESS) {
    channel_ = nullptr;
    return in_words(status);
  }
  written_ = written;
  return "";
}

void Resolver::watch(int socket, bool readable, bool writable) {
  if (!readable && !writable) {
    if (const auto found = watched_.find(socket); found != watched_.end()) {
      found->second->descriptor.cancel();
      found->second->descriptor.release();
      watched_.erase(found);
    }
    return;
  }
  auto& watched = watched_[socket];
  if (!watched) watched = std::make_shared<Watched>(loop_, socket);
  watched->reads = readable;
  watched->writes = writable;
  if (readable && !watched->waits_to_read) wait(watched, false);
  if (writable && !watched->waits_to_write) wait(watched, true);
}

void Resolver::wait(const std::shared_ptr<Watched>& watched, bool for_write) {
  (for_write ? watched->waits_to_write : watched->waits_to_read) = true;
  watched->descriptor.async_wait(
      for_write ? Descriptor::wait_write : Descriptor::wait_read,
      [this, watched, for_write](const boost::system::error_code& error) {
        (for_write ? watched->waits_to_write : watched->waits_to_read) = false;
        if (error || !channel_) return;
        const int socket = watched->descriptor.native_handle();
        if (const auto found = watched_.find(socket);
            found == watched_.end() || found->second != watched)
          return;
        ares_process_fd(channel_, for_write ? ARES_SOCKET_BAD : socket,
                        for_write ? socket : ARES_SOCKET_BAD);
        arm();
        if (const auto found = watched_.find(socket);
            found == watched_.end() || found->second != watched)
          return;
        if (for_write ? watched->writes && !watched->waits_to_write
                      : watched->reads && !watched->waits_to_read)
          wait(watched, for_write);
      });
}

// Has c-ares look at its time-outs when the next one is due.
void Resolver::arm() {
  if (!channel_) return;
  timeval left{};
  if (!ares_timeout(channel_, nullptr, &left)) return;
  timer_.expires_after(std::chrono::seconds(left.tv_sec) + std::chrono::microseconds(left.tv_usec) +
                       std::chrono::milliseconds(1));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || !channel_) return;
    ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    arm();
  });
}

boost::asio::awaitable<Resolver::Answer> Resolver::resolve(
    const std::string& name, std::chrono::steady_clock::time_point deadline) {
  Answer none;
  none.why = stopped_ ? "the proxy is ending" : begin();
  if (!none.why.empty()) co_return none;
  const auto known = known_.find(name);
  if (known != known_.end() && Clock::now() < known->second.until) co_return known->second.answer;
  auto question = std::make_shared<Question>(loop_);
  ares_addrinfo_hints hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = ARES_AI_NOSORT;
  ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, Question::on_answer,
                   new std::shared_ptr<Question>(question));
  arm();
  boost::system::error_code ignored;
  // on_answer() ends the wait.
  question->answered.expires_at(deadline);
  if (!question->done)
    co_await question->answered.async_wait(
        boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
  if (!question->done) {
    none.why = kSilent;
    co_return none;
  }
  if (question->answer.why.empty() && question->kept.count() > 0) {
    if (known_.size() >= kMostKnown) known_.clear();
    known_[name] = {question->answer, Clock::now() + question->kept};
  }
  co_return question->answer;
}

}  // namespace brig::egress
