// An entry of network.allow or network.deny.
#include "base/text.h"
#include "egress/rules.h"
#include "promise.h"

using namespace brig;
using fuzz::promise;

namespace {

void check_fault(std::string_view text, const std::string& fault) {
  promise(!fault.empty(), "a refusal has a reason", text);
  promise(is_valid_utf8(fault), "what is wrong can be shown", fault);
  promise(std::none_of(fault.begin(), fault.end(),
                       [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }),
          "what is wrong is one line", fault);
}

std::optional<HostRule> read_rule(std::string_view text, RuleList list) {
  std::string fault;
  const auto rule = parse_host_rule(text, list, fault);
  if (!rule) {
    check_fault(text, fault);
    return rule;
  }
  promise(fault.empty(), "a rule has no fault", fault);
  promise(list == RuleList::deny || rule->port != 0, "an allow rule has a port", text);
  const std::string again = to_text(*rule);
  promise(parse_host_rule(again, list, fault) == rule, "a rule's text is that rule", again);
  if (rule->kind == HostRule::Kind::addresses) {
    promise(rule->name.empty() && rule->prefix <= 128, "a network has no name", again);
    promise(network_of(rule->address, rule->prefix) == rule->address, "a network is one", again);
  } else {
    promise(normal_host_name(rule->name) == rule->name, "a rule's name is normal", again);
    promise(!parse_ip(rule->name), "a name is no address", again);
  }
  return rule;
}

// The rule alone allows what it names and nothing beside it; with the same to deny, nothing.
void check_effect(const std::string& text, const HostRule& rule) {
  const egress::Rules allows({text}, {}), denies({text}, {text});
  const auto other = static_cast<std::uint16_t>(rule.port ^ 1);
  if (rule.kind == HostRule::Kind::addresses) {
    const egress::Address address{rule.address};
    promise(allows.judge_address(address, rule.port).allowed, "it allows its address", text);
    promise(allows.judge_resolved(address, rule.port).allowed, "it lists its address", text);
    promise(!allows.judge_address(address, other).allowed, "for no other port", text);
    promise(!denies.judge_address(address, rule.port).allowed, "a deny rule wins", text);
    promise(!denies.judge_resolved(address, rule.port).allowed, "a deny rule wins", text);
    return;
  }
  const bool below = rule.kind == HostRule::Kind::below;
  const std::string name = below ? "x." + rule.name : rule.name;
  promise(allows.judge_name(name, rule.port).allowed, "it allows its name", text);
  promise(allows.knows_name(name), "it knows its name", text);
  promise(!allows.judge_name(name, other).allowed, "for no other port", text);
  promise(!allows.judge_name(below ? rule.name : "x." + rule.name, rule.port).allowed,
          "it allows no other name", text);
  promise(!allows.judge_name("x" + rule.name, rule.port).allowed, "it allows no other name", text);
  promise(!denies.judge_name(name, rule.port).allowed, "a deny rule wins", text);
  promise(!denies.knows_name(name), "a deny rule wins", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  const auto allow = read_rule(text, RuleList::allow), deny = read_rule(text, RuleList::deny);
  promise(!allow || deny, "what may be allowed may be denied", text);
  if (allow) {
    check_effect(text, *allow);
    promise(!why_without_effect(*allow, {*deny}).empty(), "its denial takes its effect", text);
  }
  if (const auto name = normal_host_name(text)) {
    promise(normal_host_name(*name) == name, "a normal name is normal", *name);
    promise(!egress::Address::parse(*name), "a name is no address", *name);
  }
  if (const auto address = egress::Address::parse(text)) {
    promise(egress::Address::parse(address->text()) == address, "an address is its text's", text);
    for (const egress::Address& each : egress::embedded_ipv4(*address)) {
      promise(each.is_ipv4(), "what is embedded is IPv4", text);
      promise(!egress::special_use(each) || egress::special_use(*address),
              "an address is as special as the one inside", text);
    }
  }
  return 0;
}
