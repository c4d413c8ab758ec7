#include "http/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/crypto.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ssl/context.hpp>

#include "base/error.h"
#include "http/http_connection.h"
#include "os/trusted_file.h"

namespace brig::serve {
namespace {

constexpr std::chrono::milliseconds kSweep{1000}, kPause{200};
constexpr std::size_t kMostPem = 1 << 20;

std::string name_of(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
    return fmt::format("{}:{}", text, ntohs(in.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text);
    return fmt::format("[{}]:{}", text, ntohs(in.sin6_port));
  }
  return "unix";
}

std::unique_ptr<asio::ssl::context> tls_of(const TlsFiles& files) {
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  error_code error;
  const auto check = [&](const char* what, const std::string& file) {
    if (error) throw_error(ErrorKind::config, "TLS {} '{}': {}", what, file, error.message());
  };
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  context->set_options(asio::ssl::context::no_compression | SSL_OP_NO_RENEGOTIATION |
                       SSL_OP_CIPHER_SERVER_PREFERENCE);
  const std::string certificate = read_trusted({files.certificate, "TLS certificate"}, kMostPem);
  context->use_certificate_chain(asio::buffer(certificate), error);
  check("certificate", files.certificate);
  std::string key = read_trusted({files.key, "TLS key"}, kMostPem);
  context->use_private_key(asio::buffer(key), asio::ssl::context::pem, error);
  OPENSSL_cleanse(key.data(), key.size());
  check("key", files.key);
  if (SSL_CTX_check_private_key(context->native_handle()) != 1)
    throw_error(ErrorKind::config, "TLS key '{}' does not belong to the certificate '{}'",
                files.key, files.certificate);
  return context;
}

}  // namespace

void HttpServer::Impl::accept(Listener& listener) {
  // Only some at a time, so that open connections have their turn too.
  for (int i = 0; i < 64 && !draining; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    UniqueFd fd(accept4(listener.socket.get(), reinterpret_cast<sockaddr*>(&address), &size,
                        SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        if (make_room()) continue;
        // The socket stays readable: without a pause the loop would do nothing else.
        listener.readable.reset();
        pause = loop.after(kPause, [this] {
          for (Listener& each : listeners)
            if (!each.readable && !draining)
              each.readable =
                  loop.when_readable(each.socket.get(), [this, &each] { accept(each); });
        });
      }
      return;
    }
    if (places.full() && !make_room()) {
      ++counts.refused;
      if (!listener.tls) {
        const std::string full =
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nDate: " +
            http_date() + "\r\nConnection: close\r\n\r\n";
        (void)!::send(fd.get(), full.data(), full.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      }
      continue;
    }
    if (address.ss_family != AF_UNIX) {
      const int on = 1;
      setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    const std::string origin = origin_of(fd.get(), address);
    error_code error;
    Socket socket(loop.impl().context);
    socket.assign(asio::generic::stream_protocol(address.ss_family, 0), fd.get(), error);
    if (error) continue;
    (void)fd.release();
    std::shared_ptr<AnyConnection> connection;
    // The connection keeps what all connections share; these listeners are part of that.
    const std::shared_ptr<Impl> self = shared_from_this();
    if (listener.tls)
      connection = std::make_shared<Connection<TlsStream>>(
          self, TlsStream(std::move(socket), *listener.tls), name_of(address), origin);
    else
      connection =
          std::make_shared<Connection<Socket>>(self, std::move(socket), name_of(address), origin);
    connection->start();
  }
}

bool HttpServer::Impl::make_room() {
  AnyConnection* const gone = places.next_to_go();
  if (gone) gone->drop();
  return gone != nullptr;
}

void HttpServer::Impl::for_each(const std::function<void(AnyConnection&)>& job) {
  const std::vector<AnyConnection*> all(connections.begin(), connections.end());
  for (AnyConnection* each : all)
    if (connections.contains(each)) job(*each);
}

void HttpServer::Impl::shed_soon() {
  if (std::exchange(shedding, true)) return;
  loop.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->shedding = false;
    while (self->unsent > self->limits.all_unsent) {
      std::map<const Caller*, std::size_t> sums;
      for (const AnyConnection* each : self->connections) sums[each->caller()] += each->unsent();
      const Caller* const most =
          std::ranges::max_element(sums, {}, [](const auto& each) { return each.second; })->first;
      const auto of_most = [&](const AnyConnection* each) {
        return each->caller() == most ? each->unsent() : 0;
      };
      (*std::ranges::max_element(self->connections, {}, of_most))->drop();
    }
  });
}

HttpServer::HttpServer(Loop& loop, HeadCheck check, Handler handler, HttpLimits limits,
                       AnswerWatch watch)
    : impl_(std::make_shared<Impl>(loop, std::move(check), std::move(handler), limits,
                                   std::move(watch))) {
  impl_->sweep = loop.every(kSweep, [impl = impl_.get()] {
    impl->for_each([now = SteadyClock::now()](AnyConnection& each) { each.check_deadline(now); });
  });
}

HttpServer::~HttpServer() {
  impl_->sweep.reset();
  impl_->pause.reset();
  impl_->draining = true;
  for (Impl::Listener& each : impl_->listeners) each.readable.reset();
  impl_->for_each([](AnyConnection& each) { each.drop(); });
  impl_->check = [](const ExchangePtr&) { return true; };
  impl_->handler = [](const ExchangePtr&) {};
  impl_->watch = {};
}

void HttpServer::listen(UniqueFd socket, const TlsFiles* tls) {
  Impl::Listener& listener = impl_->listeners.emplace_back();
  listener.socket = std::move(socket);
  if (tls) listener.tls = tls_of(*tls);
  listener.readable = impl_->loop.when_readable(
      listener.socket.get(), [impl = impl_.get(), &listener] { impl->accept(listener); });
}

void HttpServer::drain() {
  impl_->draining = true;
  for (Impl::Listener& each : impl_->listeners) {
    each.readable.reset();
    each.socket.reset();
  }
  impl_->for_each([](AnyConnection& each) { each.drain(); });
}

void HttpServer::drop_if(const std::function<bool(const Request&)>& such) {
  impl_->for_each([&](AnyConnection& each) {
    if (each.request() && such(*each.request())) each.drop();
  });
}

HttpCounts HttpServer::counts() const { return impl_->counts; }

}  // namespace brig::serve
