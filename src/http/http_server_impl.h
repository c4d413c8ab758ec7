// What the connections of an HttpServer share. Only for http_server.cc and http_connection.h.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_set>

#include "http/http_exchange.h"
#include "http/http_places.h"
#include "http/http_server.h"
#include "http/loop_impl.h"

namespace brig::serve {

namespace asio = boost::asio;
using boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;
using TlsStream = asio::ssl::stream<Socket>;

struct HttpServer::Impl : std::enable_shared_from_this<HttpServer::Impl> {
  Impl(Loop& loop_, HeadCheck check_, Handler handler_, HttpLimits limits_, AnswerWatch watch_)
      : loop(loop_),
        check(std::move(check_)),
        handler(std::move(handler_)),
        watch(std::move(watch_)),
        limits(limits_),
        places(limits_.connections) {}

  Loop& loop;
  HeadCheck check;
  Handler handler;
  AnswerWatch watch;
  const HttpLimits limits;
  Places places;
  HttpCounts counts;
  std::size_t bodies = 0, unsent = 0;
  bool draining = false, shedding = false;
  std::unordered_set<AnyConnection*> connections;
  struct Listener {
    UniqueFd socket;
    std::unique_ptr<asio::ssl::context> tls;
    std::shared_ptr<void> readable;
  };
  std::deque<Listener> listeners;
  Loop::Timer sweep, pause;

  void accept(Listener& listener);
  // Closes a stranger's connection to make room for another. Returns false if there is none.
  bool make_room();
  // Allows for a connection that goes and takes others along.
  void for_each(const std::function<void(AnyConnection&)>& job);
  // Drops clients until the unsent bytes of the rest are within the limit. The first to go is the
  // client with most unsent bytes, of the caller with most of them. Happens later, not while
  // somebody sends: the sender may be going through a list that a leaving client is removed from.
  void shed_soon();
};

}  // namespace brig::serve
