// A server of this machine that the cells of a test may reach, if their policy lists its address.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace e2e {

// Listens on 127.0.0.1, says "from the host" to each who connects, and waits for its end.
class HostServer {
 public:
  HostServer() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    if (bind(socket_, reinterpret_cast<sockaddr*>(&place), size) == 0 && listen(socket_, 64) == 0 &&
        getsockname(socket_, reinterpret_cast<sockaddr*>(&place), &size) == 0)
      port_ = ntohs(place.sin_port);
    server_ = std::thread([this] { serve(); });
  }
  ~HostServer() {
    over_ = true;
    shutdown(socket_, SHUT_RDWR);
    server_.join();
    close(socket_);
  }
  HostServer(const HostServer&) = delete;
  HostServer& operator=(const HostServer&) = delete;

  std::string port() const { return std::to_string(port_); }
  std::string address() const { return "127.0.0.1:" + port(); }
  // How many have connected.
  int met() const { return met_; }
  // A command that prints what the server says, and exits with 1 if it can't be reached. The cell
  // connects as if it had a network.
  std::vector<std::string> visit() const {
    return {"bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/" + port() + " && timeout 20 cat <&3"};
  }

 private:
  void serve() {
    while (!over_) {
      const int peer = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (peer < 0) continue;
      ++met_;
      constexpr std::string_view kText = "from the host\n";
      (void)!send(peer, kText.data(), kText.size(), MSG_NOSIGNAL);
      close(peer);
    }
  }

  const int socket_;
  std::uint16_t port_ = 0;
  std::atomic<bool> over_{false};
  std::atomic<int> met_{0};
  std::thread server_;
};

// A command that asks brig's proxy in the cell for a tunnel to `place`, and prints the answer. Its
// exit code is 1: a tool that is refused a host fails.
inline std::vector<std::string> ask_proxy_for(const std::string& place) {
  return {"bash", "-c",
          "exec 3<>/dev/tcp/127.0.0.1/3128 && printf 'CONNECT " + place +
              " HTTP/1.1\\r\\nHost: " + place + "\\r\\n\\r\\n' >&3 && timeout 20 cat <&3; exit 1"};
}

}  // namespace e2e
