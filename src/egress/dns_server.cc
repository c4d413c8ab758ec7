#include "egress/dns_server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "egress/dns_message.h"

namespace brig::egress {
namespace {

constexpr int kMostQuestions = 32;

// Where a datagram came from, and to which address it was sent.
struct Ends {
  sockaddr_storage from{};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(in6_pktinfo)) + CMSG_SPACE(sizeof(in_pktinfo))]{};
  msghdr message{};
};

ssize_t receive(int socket, Ends& ends, iovec& place) {
  ends.message = {};
  ends.message.msg_name = &ends.from;
  ends.message.msg_namelen = sizeof ends.from;
  ends.message.msg_iov = &place;
  ends.message.msg_iovlen = 1;
  ends.message.msg_control = ends.control;
  ends.message.msg_controllen = sizeof ends.control;
  return recvmsg(socket, &ends.message, MSG_DONTWAIT);
}

// The answer comes from where the question went. The interface is left to the kernel: there is one.
void answer_from_there(Ends& ends) {
  for (cmsghdr* each = CMSG_FIRSTHDR(&ends.message); each;
       each = CMSG_NXTHDR(&ends.message, each)) {
    if (each->cmsg_level == IPPROTO_IPV6 && each->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info;
      std::memcpy(&info, CMSG_DATA(each), sizeof info);
      info.ipi6_ifindex = 0;
      std::memcpy(CMSG_DATA(each), &info, sizeof info);
    } else if (each->cmsg_level == IPPROTO_IP && each->cmsg_type == IP_PKTINFO) {
      in_pktinfo info;
      std::memcpy(&info, CMSG_DATA(each), sizeof info);
      info.ipi_ifindex = 0;
      info.ipi_spec_dst = info.ipi_addr;
      std::memcpy(CMSG_DATA(each), &info, sizeof info);
    }
  }
}

}  // namespace

std::vector<std::uint8_t> answer_to(std::span<const std::uint8_t> message, Cell& cell) {
  const auto question = read_dns_question(message);
  if (!question) return {};
  const auto answer = [&](DnsCode code, const Address* address = nullptr) {
    return write_dns_answer(*question, code, address);
  };
  if (question->class_ != DnsQuestion::kInternet || question->name.empty())
    return answer(DnsCode::no_such_name);
  if (question->name == "localhost" || question->name.ends_with(".localhost")) {
    const Address self = Address::v4(INADDR_LOOPBACK);
    return answer(DnsCode::ok, question->type == DnsQuestion::kA ? &self : nullptr);
  }
  if (question->name.ends_with(".arpa")) return answer(DnsCode::no_such_name);
  // Other types are questions about a name (SRV, HTTPS, TXT), and nothing that a rule could allow.
  if (question->type == DnsQuestion::kA || question->type == DnsQuestion::kAaaa)
    cell.looked_up(question->name);
  // Names have one address, and of IPv4. Asked for others, a name that exists has none.
  if (question->type != DnsQuestion::kA) return answer(DnsCode::ok);
  const std::optional<Address> address = cell.names().address_of(question->name);
  return address ? answer(DnsCode::ok, &*address) : answer(DnsCode::failed);
}

void answer_datagrams(int socket, Cell& cell) {
  for (int i = 0; i < kMostQuestions; ++i) {
    std::uint8_t bytes[512];
    iovec place{bytes, sizeof bytes};
    Ends ends;
    const ssize_t size = receive(socket, ends, place);
    if (size < 0) return;
    std::vector<std::uint8_t> answer = answer_to({bytes, static_cast<std::size_t>(size)}, cell);
    if (answer.empty()) continue;
    answer_from_there(ends);
    iovec out{answer.data(), answer.size()};
    ends.message.msg_iov = &out;
    ends.message.msg_flags = 0;
    // If it does not fit, the tool asks again.
    (void)!sendmsg(socket, &ends.message, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

}  // namespace brig::egress
