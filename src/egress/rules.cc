#include "egress/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace brig::egress {
namespace {

std::vector<HostRule> parsed(const std::vector<std::string>& entries, RuleList list) {
  std::vector<HostRule> rules;
  for (const std::string& each : entries) {
    std::string fault;
    const auto rule = parse_host_rule(each, list, fault);
    if (!rule)
      throw_error(ErrorKind::config, "network.{}: {}", list == RuleList::allow ? "allow" : "deny",
                  fault);
    rules.push_back(*rule);
  }
  return rules;
}

bool is_of_port(const HostRule& rule, std::uint16_t port) {
  return rule.port == 0 || rule.port == port;
}

bool matches_name(const HostRule& rule, std::string_view name) {
  switch (rule.kind) {
    case HostRule::Kind::name: return name == rule.name;
    case HostRule::Kind::below:
      return name.size() > rule.name.size() + 1 && name.ends_with(rule.name) &&
             name[name.size() - rule.name.size() - 1] == '.';
    case HostRule::Kind::addresses: return false;
  }
  return false;
}

Rules::Verdict allowed_by(const HostRule* rule) {
  return {.allowed = true, .rule = rule ? to_text(*rule) : "", .why = ""};
}

Rules::Verdict denied_by(const HostRule& rule) {
  const std::string text = to_text(rule);
  return {.allowed = false, .rule = text, .why = "network.deny has " + text};
}

Rules::Verdict not_allowed(std::string why) {
  return {.allowed = false, .rule = "", .why = std::move(why)};
}

}  // namespace

bool can_be_allowed(std::string_view entry) {
  std::string fault;
  const auto rule = parse_host_rule(entry, RuleList::allow, fault);
  return rule && why_without_effect(*rule, {}).empty();
}

Rules::Rules(const std::vector<std::string>& allow, const std::vector<std::string>& deny)
    : allow_(parsed(allow, RuleList::allow)), deny_(parsed(deny, RuleList::deny)) {
  std::set<std::uint16_t> ports;
  for (const HostRule& each : allow_) ports.insert(each.port);
  ports_.assign(ports.begin(), ports.end());
}

Rules::Verdict Rules::judge_name(std::string_view name, std::uint16_t port) const {
  if (const HostRule* const rule = find_name(deny_, name, port)) return denied_by(*rule);
  if (const HostRule* const rule = find_name(allow_, name, port)) return allowed_by(rule);
  return not_allowed(kNoRule);
}

Rules::Verdict Rules::judge_address(const Address& address, std::uint16_t port) const {
  if (const HostRule* const rule = find_denied(address, port)) return denied_by(*rule);
  if (const HostRule* const rule = find_address(allow_, address, port)) return allowed_by(rule);
  return not_allowed(kNoRule);
}

Rules::Verdict Rules::judge_resolved(const Address& address, std::uint16_t port) const {
  if (const HostRule* const rule = find_denied(address, port)) return denied_by(*rule);
  if (const HostRule* const rule = find_address(allow_, address, port)) return allowed_by(rule);
  if (const char* const use = special_use(address))
    return not_allowed(fmt::format("{} is {}", address.text(), use));
  if (is_of_this_machine(address))
    return not_allowed(fmt::format("{} is an address of this machine", address.text()));
  return allowed_by(nullptr);
}

bool Rules::knows_name(std::string_view name) const {
  return std::any_of(allow_.begin(), allow_.end(), [&](const HostRule& each) {
    return matches_name(each, name) && !find_name(deny_, name, each.port);
  });
}

const HostRule* Rules::find_name(const std::vector<HostRule>& rules, std::string_view name,
                                 std::uint16_t port) const {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const HostRule& each) {
    return is_of_port(each, port) && matches_name(each, name);
  });
  return found == rules.end() ? nullptr : &*found;
}

const HostRule* Rules::find_address(const std::vector<HostRule>& rules, const Address& address,
                                    std::uint16_t port) const {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const HostRule& each) {
    return each.kind == HostRule::Kind::addresses && is_of_port(each, port) &&
           address.is_in(each.address, each.prefix);
  });
  return found == rules.end() ? nullptr : &*found;
}

const HostRule* Rules::find_denied(const Address& address, std::uint16_t port) const {
  if (const HostRule* const rule = find_address(deny_, address, port)) return rule;
  for (const Address& each : embedded_ipv4(address))
    if (const HostRule* const rule = find_address(deny_, each, port)) return rule;
  return nullptr;
}

}  // namespace brig::egress
