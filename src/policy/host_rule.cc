#include "policy/host_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace brig {
namespace {

constexpr std::size_t kMaxEntry = 300, kMaxName = 253, kMaxLabel = 63;

bool is_number_digit(char c) { return c >= '0' && c <= '9'; }

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_number_digit);
}

// Whether programs that read addresses generously take the last part of a name for a number.
bool looks_like_number(std::string_view label) {
  if (is_number(label)) return true;
  if (label.size() < 2 || label[0] != '0' || (label[1] != 'x' && label[1] != 'X')) return false;
  return label.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string_view::npos;
}

std::string lower_name(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_number_digit(c) || c == '-' ||
         c == '_';
}

// Why `text` is no host name, and what to write instead; or "".
std::string name_fault(std::string_view text) {
  std::string_view name = text;
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty()) return "no host; write a name or an address before the port";
  if (name.size() > kMaxName)
    return fmt::format("the name is longer than {} bytes; no host has it", kMaxName);
  if (name[0] == '.')
    return fmt::format("begins with a dot; for every name below it, write {}",
                       in_quotes(fmt::format("*{}", text)));
  std::string_view label;
  for (std::string_view rest = name;;) {
    const std::size_t end = std::min(rest.find('.'), rest.size());
    label = rest.substr(0, end);
    if (label.empty()) return "two dots without anything between them; write the name with one";
    if (label.size() > kMaxLabel)
      return fmt::format("a part of the name is longer than {} bytes; no host has it", kMaxLabel);
    const auto bad = std::find_if_not(label.begin(), label.end(), is_name_character);
    if (bad != label.end())
      return fmt::format("no host name has {}; write letters, digits, '-', '_' and '.'",
                         in_quotes({&*bad, 1}));
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  if (looks_like_number(label))
    return "programs could take it for an address; write an address as four decimal numbers "
           "without leading zeros, such as '192.0.2.7'";
  return "";
}

// What an entry consists of: "host", "/16" or a path, ":443". Nothing is checked yet.
struct EntryParts {
  std::string_view host, slash, port;
  bool brackets = false;
  bool port_first = false;  // As in "host:443/16".
};

EntryParts parts_of(std::string_view text) {
  EntryParts parts;
  std::string_view rest;
  const std::size_t close = text.find(']');
  if (text.starts_with('[') && close != std::string_view::npos) {
    parts.brackets = true;
    parts.host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
  } else {
    const bool many = std::count(text.begin(), text.end(), ':') > 1;
    const std::size_t end = std::min(text.find_first_of(many ? "/" : ":/"), text.size());
    parts.host = text.substr(0, end);
    rest = text.substr(end);
  }
  parts.port_first = rest.starts_with(':') && rest.find('/') != std::string_view::npos;
  const std::size_t second = std::min(rest.find(parts.port_first ? '/' : ':'), rest.size());
  parts.slash = rest.substr(0, second);
  parts.port = rest.substr(second);
  if (parts.port_first) std::swap(parts.slash, parts.port);
  return parts;
}

// What to write instead: `text`, if that is an entry.
std::string in_place(std::string_view text, RuleList list) {
  std::string ignored;
  const auto rule = parse_host_rule(text, list, ignored);
  return in_quotes(rule ? to_text(*rule) : "api.example.com:443");
}

std::string scheme_fault(std::string_view text, std::size_t scheme, RuleList list) {
  std::string_view rest = text.substr(scheme + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  std::string host(rest.substr(std::min(rest.rfind('@') + 1, rest.size())));
  const std::string name = lower_name(text.substr(0, scheme));
  if (parts_of(host).port.empty() && (name == "http" || name == "ws")) host += ":80";
  return fmt::format("a scheme; rules are about hosts and ports: write {}", in_place(host, list));
}

std::string text_fault(std::string_view text, RuleList list) {
  if (text.empty()) return "empty; remove it, or write a host and a port";
  if (text.size() > kMaxEntry) return "longer than any host name; write one host in each entry";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80)
      return "characters outside of ASCII; write the name in the form that begins with 'xn--'";
    if (c <= ' ' || c == '\x7f')
      return "a space or a control character; write one host in each entry, without them";
    if (c == ',') return "a comma; write one host in each entry";
  }
  if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos)
    return scheme_fault(text, scheme, list);
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos)
    return fmt::format("a user; rules are about hosts and ports: write {}",
                       in_place(text.substr(at + 1), list));
  if (text.starts_with('[') && text.find(']') == std::string_view::npos)
    return "no ']'; write an IPv6 address as in '[2001:db8::1]:443'";
  if (text.find('%') != std::string_view::npos)
    return "'%'; write a name as the DNS has it, or an address without a zone";
  return "";
}

// Reads ":443", or nothing. Returns why it is no port, or "".
std::string read_port(std::string_view text, RuleList list, std::uint16_t& port) {
  port = list == RuleList::allow ? 443 : 0;
  if (text.empty()) return "";
  text.remove_prefix(1);
  if (text == "*")
    return list == RuleList::deny ? "'*' is no port; for every port, leave it out"
                                  : "'*' is no port; write an entry for each port";
  unsigned value = 0;
  const char* const end = text.data() + text.size();
  if (is_number(text) && std::from_chars(text.data(), end, value).ec == std::errc() && value > 0 &&
      value <= 65535) {
    port = static_cast<std::uint16_t>(value);
    return "";
  }
  return fmt::format("{} is no port; write a number from 1 to 65535", in_quotes(text));
}

// The prefix after an address, as one of 128 bits. Nullopt: it is none.
std::optional<unsigned> read_prefix(const EntryParts& parts) {
  const std::string_view digits = parts.slash.substr(1);
  const bool dotted = parts.host.find(':') == std::string_view::npos;
  if (!is_number(digits) || digits.size() > 3 || (digits.size() > 1 && digits[0] == '0'))
    return std::nullopt;
  unsigned prefix = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
  if (prefix > (dotted ? 32u : 128u)) return std::nullopt;
  return dotted ? prefix + 96 : prefix;
}

// Reads an entry whose host is an address.
std::string read_addresses(const EntryParts& parts, RuleList list, HostRule& rule) {
  rule.kind = HostRule::Kind::addresses;
  rule.prefix = 128;
  const bool dotted = parts.host.find(':') == std::string_view::npos;
  if (!parts.slash.empty() && parts.slash[0] != '/')
    return fmt::format("{} after the address; write a port as in '[2001:db8::1]:443'",
                       in_quotes(parts.slash));
  if (parts.brackets && dotted)
    return fmt::format("only IPv6 addresses stand in brackets; write {}",
                       in_place(fmt::format("{}{}{}", parts.host, parts.slash, parts.port), list));
  if (!parts.brackets && !dotted && !parts.port.empty())
    return fmt::format(
        "an IPv6 address with a port stands in brackets; write {}",
        in_place(fmt::format("[{}]{}{}", parts.host, parts.slash, parts.port), list));
  if (parts.port_first)
    return fmt::format("the port stands last; write {}",
                       in_place(fmt::format("{}{}{}{}{}", dotted ? "" : "[", parts.host,
                                            dotted ? "" : "]", parts.slash, parts.port),
                                list));
  if (std::string fault = read_port(parts.port, list, rule.port); !fault.empty()) return fault;
  if (parts.slash.empty()) return "";
  const std::optional<unsigned> prefix = read_prefix(parts);
  if (!prefix)
    return fmt::format("{} is no prefix; write a number from 0 to {} after the '/'",
                       in_quotes(parts.slash.substr(1)), dotted ? 32 : 128);
  const HostRule one = rule;
  rule.prefix = *prefix;
  rule.address = network_of(rule.address, rule.prefix);
  if (rule.address != one.address)
    return fmt::format("not the first address of a network; write {}, or {} for that address",
                       in_quotes(to_text(rule)), in_quotes(to_text(one)));
  const bool is_all = rule.prefix == 0 || (rule.prefix == 96 && is_ipv4(rule.address));
  if (is_all && list == RuleList::allow)
    return "it would allow every address, also those of this machine and of private networks; "
           "list the networks that are needed";
  return "";
}

// Reads an entry whose host is a name.
std::string read_name(const EntryParts& parts, RuleList list, HostRule& rule) {
  std::string_view host = parts.host;
  if (parts.brackets || std::count(host.begin(), host.end(), ':') > 0)
    return "neither a name nor an address; write a port once, and an IPv6 address as in "
           "'[2001:db8::1]:443'";
  if (!parts.slash.empty())
    return fmt::format("a path; rules are about hosts and ports: write {}",
                       in_place(fmt::format("{}{}", host, parts.port), list));
  if (host == "*" || host == "*.")
    return "it would match every host; list names, such as '*.example.com', or networks";
  if (host.starts_with("*.")) {
    rule.kind = HostRule::Kind::below;
    host.remove_prefix(2);
  }
  if (const std::size_t star = host.rfind('*'); star != std::string_view::npos) {
    const std::size_t dot = host.find('.', star);
    return fmt::format(
        "'*' stands for whole parts at the front of a name, once; write {}",
        in_place(
            dot == std::string_view::npos ? "*.example.com" : fmt::format("*{}", host.substr(dot)),
            list));
  }
  if (std::string fault = name_fault(host); !fault.empty()) return fault;
  rule.name = *normal_host_name(host);
  return read_port(parts.port, list, rule.port);
}

bool is_below(std::string_view name, std::string_view parent) {
  return name.size() > parent.size() + 1 && name.ends_with(parent) &&
         name[name.size() - parent.size() - 1] == '.';
}

// Whether the deny rule covers everything that the allow rule allows.
bool covers(const HostRule& deny, const HostRule& allow) {
  if (deny.port != 0 && deny.port != allow.port) return false;
  using Kind = HostRule::Kind;
  switch (deny.kind) {
    case Kind::name: return allow.kind == Kind::name && allow.name == deny.name;
    case Kind::below:
      return (allow.kind == Kind::below && allow.name == deny.name) ||
             (allow.kind != Kind::addresses && is_below(allow.name, deny.name));
    case Kind::addresses:
      return allow.kind == Kind::addresses && deny.prefix <= allow.prefix &&
             is_in_network(allow.address, deny.address, deny.prefix);
  }
  return false;
}

}  // namespace

std::optional<HostRule> parse_host_rule(std::string_view text, RuleList list, std::string& fault) {
  HostRule rule;
  fault = text_fault(text, list);
  if (fault.empty()) {
    const EntryParts parts = parts_of(text);
    if (const auto address = parse_ip(parts.host)) {
      rule.address = *address;
      fault = read_addresses(parts, list, rule);
    } else {
      fault = read_name(parts, list, rule);
    }
  }
  if (fault.empty()) return rule;
  fault = fmt::format("{}: {}", in_quotes(text), fault);
  return std::nullopt;
}

std::string to_text(const HostRule& rule) {
  std::string text;
  if (rule.kind == HostRule::Kind::addresses) {
    const bool dotted = is_ipv4(rule.address);
    text = dotted ? ip_text(rule.address) : fmt::format("[{}]", ip_text(rule.address));
    if (rule.prefix < 128) text += fmt::format("/{}", dotted ? rule.prefix - 96 : rule.prefix);
  } else {
    text = rule.kind == HostRule::Kind::below ? "*." + rule.name : rule.name;
  }
  if (rule.port != 0) text += fmt::format(":{}", rule.port);
  return text;
}

std::optional<std::string> normal_host_name(std::string_view text) {
  if (!name_fault(text).empty()) return std::nullopt;
  if (text.ends_with('.')) text.remove_suffix(1);
  return lower_name(text);
}

std::string why_without_effect(const HostRule& rule, const std::vector<HostRule>& deny) {
  if (rule.kind != HostRule::Kind::addresses &&
      (rule.name == "localhost" || is_below(rule.name, "localhost")))
    return fmt::format(
        "{}: in a cell, 'localhost' is the cell itself; to reach a server of this machine, write "
        "an address on which it listens for others",
        in_quotes(to_text(rule)));
  for (const HostRule& each : deny)
    if (covers(each, rule))
      return fmt::format("{}: network.deny has {}, which covers it; remove one of them",
                         in_quotes(to_text(rule)), in_quotes(to_text(each)));
  return "";
}

}  // namespace brig
