#include "http/listen_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace brig::serve {
namespace {

constexpr int kBacklog = 1024;

[[noreturn]] void malformed(const std::string& text) {
  throw_error(ErrorKind::config,
              "--listen {}: give an address and a port, such as 127.0.0.1:7070 or [::1]:7070, or "
              "unix:/path/of/a/socket",
              in_quotes(text));
}

bool is_v6(const std::string& host) { return host.find(':') != std::string::npos; }

socklen_t fill(const ListenAddress& address, sockaddr_storage& storage) {
  if (is_v6(address.host)) {
    auto& in = reinterpret_cast<sockaddr_in6&>(storage);
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(address.port);
    inet_pton(AF_INET6, address.host.c_str(), &in.sin6_addr);
    return sizeof in;
  }
  auto& in = reinterpret_cast<sockaddr_in&>(storage);
  in.sin_family = AF_INET;
  in.sin_port = htons(address.port);
  inet_pton(AF_INET, address.host.c_str(), &in.sin_addr);
  return sizeof in;
}

// A socket that is left behind refuses to be connected to; one in use is not ours to take.
void remove_stale(const sockaddr_un& name) {
  struct stat info;
  if (lstat(name.sun_path, &info) != 0) return;
  if (!S_ISSOCK(info.st_mode))
    throw_error(ErrorKind::config, "--listen unix:{}: the path exists and is not a socket",
                name.sun_path);
  const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0 ||
      errno == EAGAIN)
    throw_error(ErrorKind::config, "--listen unix:{}: another server already uses this socket",
                name.sun_path);
  if (errno == ECONNREFUSED) unlink(name.sun_path);
}

UniqueFd listen_on_path(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof name.sun_path)
    throw_error(ErrorKind::config, "--listen unix:{}: the path is longer than {} bytes", path,
                sizeof name.sun_path - 1);
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
  remove_stale(name);
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) throw_sys("--listen unix:{}: socket", path);
  // The mode before there is a name: nobody else gets in between.
  if (fchmod(fd.get(), 0600) != 0) throw_sys("--listen unix:{}: fchmod", path);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0)
    throw_sys("--listen unix:{}: bind", path);
  if (listen(fd.get(), kBacklog) != 0) {
    const int error = errno;
    unlink(name.sun_path);
    errno = error;
    throw_sys("--listen unix:{}: listen", path);
  }
  return fd;
}

}  // namespace

bool ListenAddress::is_local() const {
  if (!unix_path.empty()) return true;
  if (!is_v6(host)) return host.starts_with("127.");
  return host == "::1";
}

std::string ListenAddress::url(bool tls) const {
  if (!unix_path.empty()) return "unix:" + unix_path;
  return fmt::format("{}://{}:{}", tls ? "https" : "http", is_v6(host) ? "[" + host + "]" : host,
                     port);
}

ListenAddress parse_listen_address(const std::string& text) {
  ListenAddress address;
  if (text.starts_with("unix:")) {
    address.unix_path = text.substr(5);
    if (address.unix_path.empty() || address.unix_path.find('\0') != std::string::npos)
      malformed(text);
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) malformed(text);
  std::string host = text.substr(0, colon);
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, address.port);
  if (parsed.ec != std::errc() || parsed.ptr != end) malformed(text);
  if (host == "localhost") host = "127.0.0.1";
  unsigned char bytes[16];
  char canonical[INET6_ADDRSTRLEN];
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  const int family = brackets ? AF_INET6 : AF_INET;
  if (inet_pton(family, host.c_str(), bytes) != 1) malformed(text);
  address.host = inet_ntop(family, bytes, canonical, sizeof canonical);
  return address;
}

UniqueFd listen_on(ListenAddress& address) {
  if (!address.unix_path.empty()) return listen_on_path(address.unix_path);
  sockaddr_storage storage{};
  socklen_t size = fill(address, storage);
  const std::string where = address.url(false);
  UniqueFd fd(socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) throw_sys("--listen {}: socket", where);
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (is_v6(address.host)) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&storage), size) != 0)
    throw_sys("--listen {}: bind", where);
  if (listen(fd.get(), kBacklog) != 0) throw_sys("--listen {}: listen", where);
  address.port = address_of(fd).port;
  return fd;
}

ListenAddress address_of(const UniqueFd& socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&storage), &size) != 0)
    throw_sys("the listening socket: getsockname");
  ListenAddress address;
  char text[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(storage);
    address.host = inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
    address.port = ntohs(in.sin_port);
  } else if (storage.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(storage);
    address.host = inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text);
    address.port = ntohs(in.sin6_port);
  } else if (storage.ss_family == AF_UNIX) {
    const auto& name = reinterpret_cast<const sockaddr_un&>(storage);
    address.unix_path = name.sun_path[0] ? name.sun_path : "@";
  } else {
    throw_error(ErrorKind::config,
                "the socket that the service manager passed is neither TCP nor Unix");
  }
  return address;
}

}  // namespace brig::serve
