#include "egress/dns_message.h"

#include "policy/host_rule.h"

namespace brig::egress {
namespace {

constexpr std::size_t kDnsHeader = 12, kMaxDnsMessage = 512, kMaxDnsName = 255, kMaxDnsLabel = 63;
constexpr unsigned kIsAnswer = 0x8000, kOperation = 0x7800, kRecursion = 0x0100,
                   kCanRecurse = 0x0080;

std::uint16_t number16(std::span<const std::uint8_t> message, std::size_t at) {
  return static_cast<std::uint16_t>(message[at] << 8 | message[at + 1]);
}

void put16(std::vector<std::uint8_t>& message, unsigned value) {
  message.push_back(static_cast<std::uint8_t>(value >> 8));
  message.push_back(static_cast<std::uint8_t>(value));
}

// Reads the labels of a name from `at` on, and moves `at` behind them. Nullopt: they are none. ""
// if the name is none that a rule could have.
std::optional<std::string> read_name(std::span<const std::uint8_t> message, std::size_t& at) {
  const std::size_t begin = at;
  std::string name;
  bool has_dot = false;
  for (;;) {
    if (at >= message.size()) return std::nullopt;
    const std::size_t size = message[at++];
    if (size == 0) break;
    // Above are pointers to other places.
    if (size > kMaxDnsLabel || size > message.size() - at) return std::nullopt;
    if (!name.empty()) name += '.';
    for (const std::uint8_t byte : message.subspan(at, size)) {
      has_dot = has_dot || byte == '.';
      name += static_cast<char>(byte);
    }
    at += size;
    if (at - begin >= kMaxDnsName) return std::nullopt;
  }
  // A dot inside of a label would look like the one between two.
  return has_dot ? "" : normal_host_name(name).value_or("");
}

}  // namespace

std::optional<DnsQuestion> read_dns_question(std::span<const std::uint8_t> message) {
  if (message.size() < kDnsHeader || message.size() > kMaxDnsMessage) return std::nullopt;
  const unsigned flags = number16(message, 2);
  if ((flags & (kIsAnswer | kOperation)) != 0 || number16(message, 4) != 1) return std::nullopt;
  DnsQuestion question;
  question.id = number16(message, 0);
  question.wants_recursion = (flags & kRecursion) != 0;
  std::size_t at = kDnsHeader;
  const std::optional<std::string> name = read_name(message, at);
  if (!name || message.size() - at < 4) return std::nullopt;
  question.name = *name;
  question.type = number16(message, at);
  question.class_ = number16(message, at + 2);
  const auto section = message.subspan(kDnsHeader, at + 4 - kDnsHeader);
  question.wire.assign(section.begin(), section.end());
  return question;
}

std::vector<std::uint8_t> write_dns_answer(const DnsQuestion& question, DnsCode code,
                                           const Address* address, std::uint32_t ttl) {
  const bool has_record = address && address->is_ipv4();
  std::vector<std::uint8_t> message;
  put16(message, question.id);
  put16(message, kIsAnswer | kCanRecurse | (question.wants_recursion ? kRecursion : 0) |
                     static_cast<unsigned>(code));
  put16(message, 1);
  put16(message, has_record ? 1 : 0);
  put16(message, 0);
  put16(message, 0);
  message.insert(message.end(), question.wire.begin(), question.wire.end());
  if (!has_record) return message;
  put16(message, 0xC000 | kDnsHeader);  // The name in the question.
  put16(message, DnsQuestion::kA);
  put16(message, DnsQuestion::kInternet);
  put16(message, ttl >> 16);
  put16(message, ttl);
  put16(message, 4);
  message.insert(message.end(), address->bytes.end() - 4, address->bytes.end());
  return message;
}

}  // namespace brig::egress
