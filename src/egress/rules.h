// Rules: network.allow and network.deny of one policy, worked out. They judge names before anything
// is resolved, addresses that a tool names, and the addresses that a resolver gave for a name.
// Immutable; any thread may ask.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "egress/address.h"
#include "policy/host_rule.h"

namespace brig::egress {

// Why something is denied that a rule could allow.
inline constexpr const char* kNoRule = "no rule allows it";

// Whether network.allow may have this entry, and a tool could then reach more.
bool can_be_allowed(std::string_view entry);

class Rules {
 public:
  // Entries as in a policy. Throws Error(config) for one that parse_host_rule() refuses.
  Rules(const std::vector<std::string>& allow, const std::vector<std::string>& deny);

  struct Verdict {
    bool allowed = false;
    // The rule that decided: "*.pypi.org:443". Empty: no rule allows it.
    std::string rule;
    // If denied, the reason: "no rule allows it", "network.deny has gist.github.com",
    // "169.254.169.254 is link-local, where clouds keep their metadata".
    std::string why;
  };
  // `name` is normal (normal_host_name).
  Verdict judge_name(std::string_view name, std::uint16_t port) const;
  // An address that the tool itself names. Only rules with addresses count. Here and below, a deny
  // rule also covers the IPv6 addresses that embed one of its IPv4 addresses.
  Verdict judge_address(const Address& address, std::uint16_t port) const;
  // One of the addresses that an allowed name resolved to: denied if a deny rule covers it, or if
  // it is of special use or of this machine and no allow rule lists it by address and port.
  Verdict judge_resolved(const Address& address, std::uint16_t port) const;
  // Whether any rule allows this name, on whatever port, and no deny rule takes that back.
  bool knows_name(std::string_view name) const;

  // The ports of the allow rules, ascending, each once.
  const std::vector<std::uint16_t>& ports() const { return ports_; }

 private:
  const HostRule* find_name(const std::vector<HostRule>& rules, std::string_view name,
                            std::uint16_t port) const;
  const HostRule* find_address(const std::vector<HostRule>& rules, const Address& address,
                               std::uint16_t port) const;
  const HostRule* find_denied(const Address& address, std::uint16_t port) const;

  std::vector<HostRule> allow_, deny_;
  std::vector<std::uint16_t> ports_;
};

}  // namespace brig::egress
