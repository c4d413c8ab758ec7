#include "http/http_places.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "base/fair_share.h"
#include "http/http_exchange.h"

namespace brig::serve {
namespace {

constexpr std::size_t kMostKept = 64;

}  // namespace

Places::Places(std::size_t limit) : limit_(limit), kept_(std::min(kMostKept, limit / 8)) {}

void Places::take(Place& place, AnyConnection& connection, std::string origin) {
  place.taken = true;
  place.origin = std::move(origin);
  std::list<AnyConnection*>& there = origins_[place.origin];
  place.entry = there.insert(there.end(), &connection);
  ++strangers_;
}

bool Places::assign(Place& place, const CallerPtr& caller) {
  if (!place.taken || place.caller == caller) return true;
  const std::size_t used = known_ - (place.caller ? 1 : 0), limit = limit_ - kept_;
  if (caller->alone ? used >= limit : !is_fair(caller->holds.connections, 1, used, limit))
    return false;
  leave(place);
  place.taken = true;
  place.caller = caller;
  ++caller->holds.connections;
  ++known_;
  return true;
}

void Places::leave(Place& place) {
  if (!std::exchange(place.taken, false)) return;
  if (const CallerPtr caller = std::exchange(place.caller, nullptr)) {
    --caller->holds.connections;
    --known_;
    return;
  }
  const auto there = origins_.find(place.origin);
  there->second.erase(place.entry);
  if (there->second.empty()) origins_.erase(there);
  --strangers_;
}

AnyConnection* Places::next_to_go() const {
  const auto most = std::max_element(
      origins_.begin(), origins_.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (most == origins_.end()) return nullptr;
  const auto idle =
      std::find_if(most->second.begin(), most->second.end(),
                   [](const AnyConnection* each) { return each->request() == nullptr; });
  return idle == most->second.end() ? most->second.front() : *idle;
}

std::string origin_of(int socket, const sockaddr_storage& peer) {
  char text[INET6_ADDRSTRLEN] = "";
  if (peer.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(peer).sin_addr, text, sizeof text);
    return text;
  }
  if (peer.ss_family == AF_INET6) {
    in6_addr network = reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
    // Whoever has an IPv6 address has as many as it likes of the same network; not so of an IPv4
    // address in IPv6's clothes.
    if (!IN6_IS_ADDR_V4MAPPED(&network)) std::fill(network.s6_addr + 8, network.s6_addr + 16, 0);
    inet_ntop(AF_INET6, &network, text, sizeof text);
    return text;
  }
  ucred other{};
  socklen_t size = sizeof other;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &size) != 0) return "unix";
  return "uid " + std::to_string(other.uid);
}

}  // namespace brig::serve
