#include "policy/narrower_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "policy/host_rule.h"

namespace brig {
namespace {

constexpr std::size_t kMostRules = 256;

// The policy has been validated, so each of its entries is a rule.
std::vector<HostRule> rules_of(const std::vector<std::string>& entries, RuleList list) {
  std::vector<HostRule> rules;
  std::string fault;
  for (const std::string& each : entries)
    if (auto rule = parse_host_rule(each, list, fault)) rules.push_back(std::move(*rule));
  return rules;
}

std::string fault_of_hosts(const Network& own, const Network& policy) {
  if (own.allow.empty()) return "network.allow: is empty; list a host, or use \"none\"";
  if (own.allow.size() > kMostRules || own.deny.size() > kMostRules)
    return fmt::format("network.{}: more than {} entries; list fewer",
                       own.allow.size() > kMostRules ? "allow" : "deny", kMostRules);
  std::string fault;
  for (const std::string& each : own.deny)
    if (!parse_host_rule(each, RuleList::deny, fault)) return "network.deny: " + fault;
  const std::vector<HostRule> allowed = rules_of(policy.allow, RuleList::allow);
  const std::vector<HostRule> denied = rules_of(policy.deny, RuleList::deny);
  for (const std::string& each : own.allow) {
    const auto rule = parse_host_rule(each, RuleList::allow, fault);
    if (!rule) return "network.allow: " + fault;
    const auto has_it = [&](const HostRule& wider) { return covers(wider, *rule); };
    if (!std::any_of(allowed.begin(), allowed.end(), has_it))
      return fmt::format("network.allow: {} is not covered by network.allow of the policy",
                         in_quotes(each));
    if (std::any_of(denied.begin(), denied.end(), has_it))
      return fmt::format("network.allow: {} is covered by network.deny of the policy",
                         in_quotes(each));
  }
  return "";
}

}  // namespace

std::string why_not_narrower(const Network& own, const Network& policy) {
  switch (own.mode) {
    case Network::none:
      if (policy.mode != Network::host) return "";
      return "network: \"none\" can't be enforced for one call, because the policy gives its cells "
             "the host's network";
    case Network::proxy:
      if (policy.mode == Network::proxy) return fault_of_hosts(own, policy);
      if (policy.mode == Network::host)
        return "network.allow: a list of hosts can't be enforced for one call, because the policy "
               "gives its cells the host's network";
      return fmt::format("network.allow: a list of hosts is more than the \"{}\" of the policy",
                         to_string(policy.mode));
    default: return "network: must be \"none\" or a list of hosts";
  }
}

}  // namespace brig
