#include "helper/way_out.h"

#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <errno.h>
#include <string.h>

#include "os/socket.h"

namespace brig::helper {
namespace {

using wire::Stage;

// What Failure::index says of Stage::way_out.
enum Step : unsigned { kNetlink, kAddress, kRoute, kDns, kListener };

constexpr int kLoopback = 1;  // The first interface of every network namespace.
constexpr int kBacklog = 512;

struct Request {
  nlmsghdr header;
  union {
    ifaddrmsg address;
    rtmsg route;
  };
  char attributes[64];
};

void add_attribute(Request& request, unsigned short type, const void* value, unsigned size) {
  char* end = reinterpret_cast<char*>(&request) + NLMSG_ALIGN(request.header.nlmsg_len);
  const rtattr head{static_cast<unsigned short>(RTA_LENGTH(size)), type};
  memcpy(end, &head, sizeof head);
  memcpy(end + RTA_LENGTH(0), value, size);
  request.header.nlmsg_len = NLMSG_ALIGN(request.header.nlmsg_len) + RTA_ALIGN(RTA_LENGTH(size));
}

// Sends it and waits for the kernel's answer, which comes at once.
bool ask(int netlink, const Request& request) {
  struct {
    nlmsghdr header;
    nlmsgerr error;
    char more[128];
  } answer;
  if (send(netlink, &request, request.header.nlmsg_len, 0) < 0) return false;
  const ssize_t size = recv(netlink, &answer, sizeof answer, 0);
  if (size < static_cast<ssize_t>(NLMSG_LENGTH(sizeof answer.error)) ||
      answer.header.nlmsg_type != NLMSG_ERROR) {
    if (size >= 0) errno = EPROTO;
    return false;
  }
  errno = -answer.error.error;
  return answer.error.error == 0;
}

// With nothing but 127.0.0.1, programs that ask only for addresses of families that the machine has
// (AI_ADDRCONFIG) would look up none.
bool add_address(int netlink) {
  Request request{};
  request.header.nlmsg_len = NLMSG_LENGTH(sizeof request.address);
  request.header.nlmsg_type = RTM_NEWADDR;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
  request.address.ifa_family = AF_INET;
  request.address.ifa_prefixlen = 32;
  request.address.ifa_index = kLoopback;
  const unsigned char own[4] = {198, 18, 0, 1};
  add_attribute(request, IFA_LOCAL, own, sizeof own);
  return ask(netlink, request);
}

bool add_route(int netlink, unsigned char family) {
  Request request{};
  request.header.nlmsg_len = NLMSG_LENGTH(sizeof request.route);
  request.header.nlmsg_type = RTM_NEWROUTE;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
  request.route.rtm_family = family;
  request.route.rtm_table = RT_TABLE_LOCAL;
  request.route.rtm_protocol = RTPROT_BOOT;
  request.route.rtm_scope = RT_SCOPE_HOST;
  request.route.rtm_type = RTN_LOCAL;
  const int interface = kLoopback;
  add_attribute(request, RTA_OIF, &interface, sizeof interface);
  return ask(netlink, request);
}

// Bound to `port` of every address, IPv4 and, where the kernel has it, IPv6. -1: failed.
int bound_socket(int type, unsigned port, bool has_ipv6) {
  const int fd = socket(has_ipv6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int result;
  if (has_ipv6) {
    const int off = 0;
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(static_cast<unsigned short>(port));
    result = setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (result == 0) result = bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any);
  } else {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(static_cast<unsigned short>(port));
    result = bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any);
  }
  if (result == 0 && type == SOCK_STREAM) result = listen(fd, kBacklog);
  if (result == 0) return fd;
  close(fd);
  return -1;
}

// The answer to a datagram must come from the address that it was sent to.
bool tell_destinations(int fd, bool has_ipv6) {
  const int on = 1;
  return setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on) == 0 &&
         (!has_ipv6 || setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on) == 0);
}

// Sends what is in `fds` and closes it.
bool send_sockets(int socket, int* fds, int* count) {
  wire::Message message{};
  message.tag = wire::Tag::way_out;
  const bool sent = send_packet(socket, &message, sizeof message, fds, *count);
  for (int i = 0; i < *count; ++i) close(fds[i]);
  *count = 0;
  return sent;
}

bool has_ipv6_sockets() {
  const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

}  // namespace

bool open_way_out(const Plan& plan, int socket, Failure& failure) {
  if (!plan.way_out_ports.count) return true;
  const int netlink = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (netlink < 0) return fail(failure, Stage::way_out, kNetlink);
  bool done = add_address(netlink) || fail(failure, Stage::way_out, kAddress);
  done = done && (add_route(netlink, AF_INET) || fail(failure, Stage::way_out, kRoute));
  // A machine without IPv6 needs no route for it: then a connection fails as it does there.
  const bool has_ipv6 = has_ipv6_sockets();
  if (done && has_ipv6) (void)add_route(netlink, AF_INET6);
  close(netlink);
  if (!done) return false;

  int fds[kMaxPacketFds], count = 0;
  constexpr unsigned kDnsPort = 53;
  fds[0] = bound_socket(SOCK_DGRAM, kDnsPort, has_ipv6);
  if (fds[0] < 0 || !tell_destinations(fds[0], has_ipv6))
    return fail(failure, Stage::way_out, kDns);
  count = 1;
  for (unsigned i = 0; i < plan.way_out_ports.count; ++i) {
    fds[count] = bound_socket(SOCK_STREAM, begin_of(plan, plan.way_out_ports)[i], has_ipv6);
    if (fds[count] < 0) return fail(failure, Stage::way_out, kListener + i);
    if (++count == kMaxPacketFds && !send_sockets(socket, fds, &count))
      return fail(failure, Stage::sockets);
  }
  return count == 0 || send_sockets(socket, fds, &count) || fail(failure, Stage::sockets);
}

}  // namespace brig::helper
