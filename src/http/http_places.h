// Places: decides which connections an HttpServer keeps. There is a bounded number of places. A
// connection belongs to a stranger until a request on it has shown its caller; strangers are
// distinguished by where they come from. Use it on the loop's thread only.
#pragma once

#include <sys/socket.h>

#include <list>
#include <map>
#include <string>

#include "http/caller.h"

namespace brig::serve {

class AnyConnection;

class Places {
 public:
  explicit Places(std::size_t limit);

  // The place of one connection, for as long as it is open.
  struct Place {
    CallerPtr caller;    // null: a stranger's
    std::string origin;  // of a stranger
    std::list<AnyConnection*>::iterator entry;
    bool taken = false;
  };

  bool full() const { return strangers_ + known_ >= limit_; }
  void take(Place& place, AnyConnection& connection, std::string origin);
  // Gives the place to that caller. False: the caller has its share of the places already, and the
  // place stays as it was.
  bool assign(Place& place, const CallerPtr& caller);
  void leave(Place& place);
  // The connection to close for another one: of the origin with the most strangers, the oldest idle
  // one, or else the oldest. Null if all connections belong to callers.
  AnyConnection* next_to_go() const;

 private:
  const std::size_t limit_;
  // Places kept for strangers: every caller is one until its first head is read, and so are health
  // checks.
  const std::size_t kept_;
  std::size_t strangers_ = 0, known_ = 0;
  // Oldest first.
  std::map<std::string, std::list<AnyConnection*>> origins_;
};

// Where a connection comes from, as far as it can't be forged: an address, the network of an IPv6
// address (64 bits), or, for a Unix socket, the user at its other end.
std::string origin_of(int socket, const sockaddr_storage& peer);

}  // namespace brig::serve
