#include "serve/http.h"

#include <fmt/format.h>

#include <algorithm>

namespace brig::serve {
namespace {

bool same(std::string_view a, std::string_view b) { return lower_case(a) == lower_case(b); }

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The next element of a list, which loses it.
std::string_view take(std::string_view& list, char separator) {
  const std::size_t end = std::min(list.find(separator), list.size());
  const std::string_view element = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return element;
}

}  // namespace

const std::string* Request::header(std::string_view name) const {
  for (const Header& each : headers)
    if (each.name == name) return &each.value;
  return nullptr;
}

unsigned Request::count(std::string_view name) const {
  return static_cast<unsigned>(std::count_if(
      headers.begin(), headers.end(), [&](const Header& each) { return each.name == name; }));
}

bool Request::accepts(std::string_view type, bool by_name) const {
  bool any = false;
  const std::string_view family = type.substr(0, type.find('/') + 1);  // "text/"
  for (const Header& each : headers) {
    if (each.name != "accept") continue;
    any = true;
    for (std::string_view list = each.value; !list.empty();) {
      std::string_view element = take(list, ',');
      const std::string_view range = trimmed(take(element, ';'));
      if (same(range, type)) return true;
      if (!by_name && (range == "*/*" || (range.size() == family.size() + 1 &&
                                          range.back() == '*' && range.starts_with(family))))
        return true;
    }
  }
  return !any && !by_name;
}

bool Request::is_json() const {
  const std::string* type = header("content-type");
  if (!type || count("content-type") > 1) return false;
  std::string_view text = *type;
  return same(trimmed(take(text, ';')), "application/json");
}

std::optional<std::string> Request::parameter(std::string_view name) const {
  for (std::string_view list = query; !list.empty();) {
    std::string_view value = take(list, '&');
    if (take(value, '=') == name) return percent_decoded(value, true);
  }
  return {};
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return result;
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return {};
      const int high = hex(text[i + 1]), low = hex(text[i + 2]);
      if (high < 0 || low < 0) return {};
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus) {
      c = ' ';
    }
    if (c == '\0') return {};
    decoded.push_back(c);
  }
  return decoded;
}

std::string_view reason_of(unsigned status) {
  switch (status) {
    case 200: return "OK";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 411: return "Length Required";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Unknown";
  }
}

std::string sse_event(std::string_view name, std::string_view data, std::string_view id) {
  std::string text;
  if (!id.empty()) text += fmt::format("id: {}\n", id);
  if (!name.empty()) text += fmt::format("event: {}\n", name);
  text.append("data: ").append(data).append("\n\n");
  return text;
}

}  // namespace brig::serve
