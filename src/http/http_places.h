// Places: which connections an HttpServer keeps. There is a bounded number of places. A connection is a stranger's until a
// request on it has shown who its caller is; strangers are told apart by where they come from. Only on the loop's thread.
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

  // What one connection has, for as long as it is open.
  struct Place {
    CallerPtr caller;    // null: a stranger's
    std::string origin;  // of a stranger
    std::list<AnyConnection*>::iterator entry;
    bool taken = false;
  };

  bool full() const { return strangers_ + known_ >= limit_; }
  void take(Place& place, AnyConnection& connection, std::string origin);
  // It is that caller's from now on. False: the caller has its share of the places already, and it stays what it was.
  bool assign(Place& place, const CallerPtr& caller);
  void leave(Place& place);
  // The connection that makes room for another: of the origin with most strangers the oldest that is idle, or the oldest. Null
  // if there are only callers.
  AnyConnection* next_to_go() const;

 private:
  const std::size_t limit_;
  const std::size_t
      kept_;  // for strangers: a caller is one until its first head is read, and health is asked by them
  std::size_t strangers_ = 0, known_ = 0;
  std::map<std::string, std::list<AnyConnection*>> origins_;  // oldest first
};

// Where a connection comes from, as far as nobody can make it up: an address, the network of an IPv6 address (64 bits), or for a
// Unix socket the user at its other end.
std::string origin_of(int socket, const sockaddr_storage& peer);

}  // namespace brig::serve
