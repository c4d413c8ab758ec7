// The entries of network.allow and network.deny: a host name, every name below one, or addresses;
// with a port. These functions work on text alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/ip.h"

namespace brig {

enum class RuleList { allow, deny };

struct HostRule {
  enum class Kind {
    name,       // "api.github.com"
    below,      // "*.pypi.org": every name below pypi.org, at any depth, and not pypi.org itself
    addresses,  // "10.2.0.0/16", "192.0.2.7", "[2001:db8::]/32"
  };
  Kind kind = Kind::name;
  // Lower case, without a dot at its end. For `below`: the part after "*.".
  std::string name;
  // For `addresses`: IPv6, or IPv4 as ::ffff:a.b.c.d with a prefix of 96 and more.
  IpBytes address{};
  unsigned prefix = 0;
  std::uint16_t port = 0;  // 0: every port; only in network.deny.

  bool operator==(const HostRule&) const = default;
};

// Reads one entry. Without a port, it means 443 in network.allow and every port in network.deny.
// IPv6 addresses stand in brackets: "[2001:db8::1]:443", "[2001:db8::]/32:443"; without a port,
// they may stand alone. Networks of all addresses ("0.0.0.0/0") may only be denied.
// Nullopt: `fault` says what is wrong and what to write instead.
std::optional<HostRule> parse_host_rule(std::string_view text, RuleList list, std::string& fault);

// The rule as an entry would have it: "*.pypi.org:443", "10.2.0.0/16:5432", "[2001:db8::1]:443".
std::string to_text(const HostRule& rule);

// A name as rules have it: lower case, without a dot at its end. Nullopt: it is no host name that
// the DNS could have (letters, digits, '-' and '_'; at most 253 bytes, and 63 in each part), or it
// could be taken for an address: its last part is a number, as in "127.1", "2130706433", "0x7f.1".
std::optional<std::string> normal_host_name(std::string_view text);

// Why the allow rule can never let anything through, given all rules; or "". As: a deny rule covers
// it; it names this machine itself ("localhost").
std::string why_without_effect(const HostRule& rule, const std::vector<HostRule>& deny);

}  // namespace brig
