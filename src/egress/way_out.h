// WayOut: what brig's proxy does for one cell. The proxy is one thread of the host process, for all
// cells together. It starts with the first way out and ends with the last.
//
// A cell's init makes the sockets in the cell's own network namespace (helper/way_out.h), so the
// socket on which something arrives says which cell it came from. Nothing else says that.
#pragma once

#include <brig/report.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/fd.h"
#include "egress/settings.h"

namespace brig::egress {

// The sockets of one cell: for the DNS, and a listener for each of Settings::ports, in that order.
struct Sockets {
  UniqueFd dns;
  std::vector<UniqueFd> listeners;

  // In the order in which they come from the init.
  void add(UniqueFd socket);
  bool are_complete(const Settings& settings) const {
    return listeners.size() == settings.ports.size();
  }
};

class Cell;
class Proxy;

class WayOut {
 public:
  // Serves the sockets from now on. Throws Error if the proxy's thread can't be started.
  WayOut(std::shared_ptr<const Settings> settings, Sockets sockets);
  // Closes everything, soon.
  ~WayOut();
  WayOut(const WayOut&) = delete;
  WayOut& operator=(const WayOut&) = delete;

  struct Account {
    // The first kMostConnections, in the order in which they began.
    std::vector<Connection> connections;
    // From when their Connection::begin counts.
    std::chrono::steady_clock::time_point made;
    std::uint64_t total = 0;
    // Above limits.connections; not among the others.
    std::uint64_t refused = 0;
  };
  static constexpr std::size_t kMostConnections = 256;
  // Ends every connection and says what there was. Once.
  Account close();

 private:
  std::shared_ptr<Proxy> proxy_;
  std::shared_ptr<Cell> cell_;
};

}  // namespace brig::egress
