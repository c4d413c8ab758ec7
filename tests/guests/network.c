// Every way out by socket. Arguments: what to try, and the host's port and names.
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "guest.h"

static long tcp(const char* address, int port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  inet_pton(AF_INET, address, &to.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return -1;
  const long result = connect(fd, (struct sockaddr*)&to, sizeof to);
  const int error = errno;
  close(fd);
  errno = error;
  return result;
}

static long tcp6(const char* address, int port) {
  struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons((unsigned short)port)};
  inet_pton(AF_INET6, address, &to.sin6_addr);
  const int fd = socket(AF_INET6, SOCK_STREAM, 0);
  if (fd < 0) return -1;
  const long result = connect(fd, (struct sockaddr*)&to, sizeof to);
  const int error = errno;
  close(fd);
  errno = error;
  return result;
}

static long udp(const char* address, int port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  inet_pton(AF_INET, address, &to.sin_addr);
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (fd < 0) return -1;
  const long result = sendto(fd, "brig-escape", 11, 0, (struct sockaddr*)&to, sizeof to);
  const int error = errno;
  close(fd);
  errno = error;
  return result;
}

static long vsock(unsigned cid, unsigned port) {
  struct sockaddr_vm to = {.svm_family = AF_VSOCK, .svm_port = port, .svm_cid = cid};
  const int fd = socket(AF_VSOCK, SOCK_STREAM, 0);
  return fd < 0 ? -1 : connect(fd, (struct sockaddr*)&to, sizeof to);
}

// `name` beginning with '@' is abstract.
static long unix_to(const char* name, int type) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  strncpy(to.sun_path, name, sizeof to.sun_path - 1);
  socklen_t size = sizeof to;
  if (name[0] == '@') {
    to.sun_path[0] = 0;
    size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
  }
  const int fd = socket(AF_UNIX, type, 0);
  if (fd < 0) return -1;
  long result = connect(fd, (struct sockaddr*)&to, size);
  if (result == -1 && type == SOCK_DGRAM)
    result = sendto(fd, "x", 1, 0, (struct sockaddr*)&to, size);
  const int error = errno;
  close(fd);
  errno = error;
  return result;
}

static void families(void) {
  char name[64];
  for (int family = 0; family < 64; ++family) {
    if (family == AF_UNIX) continue;
    for (int type = 1; type < 6; ++type) {
      snprintf(name, sizeof name, "socket family %d type %d", family, type);
      refused(name, socket(family, type, 0));
    }
  }
  refused("AF_INET ICMP", socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP));
  refused("AF_INET raw ICMP", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
  refused("AF_PACKET", socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)));
  refused("AF_NETLINK route", socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
  refused("AF_NETLINK uevent", socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT));
  refused("AF_NETLINK audit", socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT));
  refused("AF_INET with a dirty upper half",
          syscall(SYS_socket, 1ul << 32 | AF_INET, SOCK_STREAM, 0));
  refused("AF_VSOCK with a dirty upper half",
          syscall(SYS_socket, 1ul << 32 | AF_VSOCK, SOCK_STREAM, 0));
  refused("MPTCP", socket(AF_INET, SOCK_STREAM, 262));
  int pair[2];
  refused("socketpair AF_INET", socketpair(AF_INET, SOCK_STREAM, 0, pair));
  refused("socketpair AF_TIPC", socketpair(30, SOCK_STREAM, 0, pair));
  works("socketpair AF_UNIX", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
  works("socket AF_UNIX", socket(AF_UNIX, SOCK_STREAM, 0));
}

static void everywhere(int port) {
  static const char* const addresses[] = {"127.0.0.1",       "127.1.2.3",      "0.0.0.0",
                                          "1.1.1.1",         "10.0.0.1",       "192.168.0.1",
                                          "169.254.169.254", "255.255.255.255"};
  for (unsigned i = 0; i < sizeof addresses / sizeof *addresses; ++i) {
    char name[64];
    snprintf(name, sizeof name, "tcp %s", addresses[i]);
    refused(name, tcp(addresses[i], port));
    snprintf(name, sizeof name, "udp %s", addresses[i]);
    refused(name, udp(addresses[i], port));
  }
  static const char* const six[] = {
      "::1", "::", "::ffff:127.0.0.1", "::ffff:1.1.1.1", "fe80::1", "2606:4700::1111"};
  for (unsigned i = 0; i < sizeof six / sizeof *six; ++i) {
    char name[64];
    snprintf(name, sizeof name, "tcp [%s]", six[i]);
    refused(name, tcp6(six[i], port));
  }
  for (unsigned cid = 0; cid < 4; ++cid) {
    char name[64];
    snprintf(name, sizeof name, "vsock %u", cid);
    refused(name, vsock(cid, 1024));
  }
}

// A network of its own, which the host's listener at `port` is not in.
static void loopback(int port) {
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof here;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  works("bind 127.0.0.1", bind(listener, (struct sockaddr*)&here, sizeof here));
  works("listen", listen(listener, 1));
  getsockname(listener, (struct sockaddr*)&here, &size);
  works("connect to oneself", tcp("127.0.0.1", ntohs(here.sin_port)));
  refused_with("the host's listener", tcp("127.0.0.1", port), ECONNREFUSED, ECONNREFUSED);
  refused_with("the host's listener by ::ffff:127.0.0.1", tcp6("::ffff:127.0.0.1", port),
               ECONNREFUSED, ECONNREFUSED);
  refused_with("the host's listener by 0.0.0.0", tcp("0.0.0.0", port), ECONNREFUSED, ECONNREFUSED);
  // To the cell's own 127.0.0.1 it is sent; nobody is there.
  udp("127.0.0.1", port);
  refused_with("tcp 1.1.1.1", tcp("1.1.1.1", 80), ENETUNREACH, EHOSTUNREACH);
  refused_with("udp 1.1.1.1", udp("1.1.1.1", 53), ENETUNREACH, EHOSTUNREACH);
  refused_with("tcp 169.254.169.254", tcp("169.254.169.254", 80), ENETUNREACH, EHOSTUNREACH);
  refused("tcp [2606:4700::1111]", tcp6("2606:4700::1111", 80));
  refused("raw socket", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
  refused("packet socket", socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)));
  refused("vsock 2", vsock(2, 1024));
  refused("netlink audit", socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT));
  refused("netlink netfilter", socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER));
  // No right to change it: capabilities are empty in its own network too.
  struct {
    struct nlmsghdr head;
    char body[64];
  } message = {.head = {.nlmsg_len = 32, .nlmsg_type = 16 /* RTM_NEWLINK */, .nlmsg_flags = 0x605}};
  const int route = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  works("netlink route", route);
  (void)!send(route, &message, 32, 0);
  struct {
    struct nlmsghdr head;
    int error;
  } answer;
  const long got = recv(route, &answer, sizeof answer, MSG_DONTWAIT);
  holds("netlink refuses a new interface",
        got >= (long)sizeof answer && answer.head.nlmsg_type == NLMSG_ERROR && answer.error < 0);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (is(argv[1], "families"))
    families();
  else if (is(argv[1], "everywhere") && argc == 3)
    everywhere(atoi(argv[2]));
  else if (is(argv[1], "loopback") && argc == 3)
    loopback(atoi(argv[2]));
  else if (is(argv[1], "unix"))
    for (int i = 2; i < argc; ++i) {
      char name[512];
      snprintf(name, sizeof name, "stream %s", argv[i]);
      refused(name, unix_to(argv[i], SOCK_STREAM));
      snprintf(name, sizeof name, "datagram %s", argv[i]);
      refused(name, unix_to(argv[i], SOCK_DGRAM));
      snprintf(name, sizeof name, "seqpacket %s", argv[i]);
      refused(name, unix_to(argv[i], SOCK_SEQPACKET));
    }
  else
    return 2;
  return guest_failed;
}
