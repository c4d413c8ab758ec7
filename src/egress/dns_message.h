// Questions and answers of the DNS, as the cell's own resolver sees them. No compression is read or
// followed, no more than one question, no more than 512 bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "egress/address.h"

namespace brig::egress {

struct DnsQuestion {
  static constexpr std::uint16_t kA = 1, kAaaa = 28, kInternet = 1;
  std::uint16_t id = 0;
  bool wants_recursion = false;
  std::uint16_t type = 0, class_ = 0;
  // Normal (normal_host_name); empty if the name is none that a rule could have.
  std::string name;
  std::vector<std::uint8_t> wire;  // The question section, to be sent back as it came.
};

// Nullopt: not a standard query with one question; nothing can be answered. Trailing records, such
// as EDNS, are ignored.
std::optional<DnsQuestion> read_dns_question(std::span<const std::uint8_t> message);

enum class DnsCode : std::uint8_t {
  ok = 0,
  bad_format = 1,
  failed = 2,
  no_such_name = 3,
  not_implemented = 4,
  refused = 5
};

// With an address: one A record with a TTL of `ttl` seconds. Without: no record.
std::vector<std::uint8_t> write_dns_answer(const DnsQuestion& question, DnsCode code,
                                           const Address* address, std::uint32_t ttl = 60);

}  // namespace brig::egress
