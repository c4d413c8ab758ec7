#include "egress/http_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace brig::egress {
namespace {

constexpr std::string_view kLineEnd = "\r\n", kSpaces = " \t";

bool is_in_token(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_in_token);
}

// Takes a line without its end off the front.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find(kLineEnd), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + kLineEnd.size(), text.size()));
  return line;
}

LineFault check_request_line(std::string_view line) {
  const std::size_t first = line.find(' '), second = line.rfind(' ');
  if (first == second)
    return {400, "the request line must be a method, a target and HTTP/1.1, with a space between"};
  const std::string_view method = line.substr(0, first),
                         target = line.substr(first + 1, second - first - 1),
                         version = line.substr(second + 1);
  if (!is_token(method)) return {400, "the method of the request has bytes that none may have"};
  if (target.empty() || std::any_of(target.begin(), target.end(), [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) >= 0x7f;
      }))
    return {400,
            "the target of the request has spaces or bytes outside of ASCII; percent-encode them"};
  if (version == "HTTP/1.1" || version == "HTTP/1.0") return {};
  if (version.starts_with("HTTP/")) return {505, "unsupported HTTP version; use HTTP/1.1"};
  return {400, "the request line must end in HTTP/1.1"};
}

// Some servers take '_' for '-' in the name of a field.
bool imitates_framing(std::string_view name) {
  if (name.find('_') == std::string_view::npos) return false;
  std::string plain(name);
  for (char& c : plain) {
    if (c == '_') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return plain == "content-length" || plain == "transfer-encoding";
}

LineFault check_field(std::string_view line) {
  if (kSpaces.find(line[0]) != std::string_view::npos)
    return {400, "a field goes on in a second line; write it in one"};
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return {400, "a field has no colon"};
  const std::string_view name = line.substr(0, colon);
  if (!is_token(name))
    return {400, fmt::format("the name of a field is empty, or has a space or other bytes that no "
                             "name may have: {}",
                             in_quotes(name))};
  if (imitates_framing(name))
    return {400, fmt::format("some servers could take the field {} for another", in_quotes(name))};
  return {};
}

}  // namespace

HeadLines find_head(std::string_view bytes) {
  HeadLines found;
  std::size_t line = 0;  // Where the current one begins.
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const auto byte = static_cast<unsigned char>(bytes[at]);
    if (byte == '\r') {
      if (at + 1 == bytes.size()) break;
      if (bytes[at + 1] != '\n') {
        found.fault = "a CR without LF in the head of the request";
        break;
      }
      const bool is_empty = at == line;
      line = ++at + 1;
      if (!is_empty) continue;
      if (found.begin + kLineEnd.size() != line) {
        found.end = line;
        break;
      }
      found.begin = line;
    } else if (byte == '\n') {
      found.fault = "an LF without CR in the head of the request; lines end in CR and LF";
      break;
    } else if ((byte < ' ' && byte != '\t') || byte == 0x7f) {
      found.fault = "a control byte in the head of the request";
      break;
    }
  }
  return found;
}

LineFault check_lines(std::string_view head) {
  if (LineFault fault = check_request_line(take_line(head)); fault.status != 0) return fault;
  while (!head.empty()) {
    const std::string_view line = take_line(head);
    if (line.empty()) break;
    if (LineFault fault = check_field(line); fault.status != 0) return fault;
  }
  return {};
}

std::vector<std::string_view> list_items(std::string_view text) {
  std::vector<std::string_view> items;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    item.remove_prefix(std::min(item.find_first_not_of(kSpaces), item.size()));
    item = item.substr(0, item.find_last_not_of(kSpaces) + 1);
    if (!item.empty()) items.push_back(item);
  }
  return items;
}

}  // namespace brig::egress
