#include "http/http.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

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

// "0.25" as 250; nothing if it is no weight.
std::optional<unsigned> weight_of(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1') ||
      (text.size() > 1 && text[1] != '.'))
    return {};
  unsigned weight = text[0] == '1' ? 1000 : 0, unit = 100;
  for (const char c : text.substr(std::min<std::size_t>(2, text.size()))) {
    if (c < '0' || c > '9') return {};
    weight += static_cast<unsigned>(c - '0') * unit;
    unit /= 10;
  }
  return weight > 1000 ? std::optional<unsigned>() : weight;
}

// Of a header that lists what a client takes: each, and how much it is wanted; one whose weight is
// none is passed over. False: there is no such header.
template <typename Job>
bool for_each_weighted(const Request& request, std::string_view header, const Job& job) {
  bool any = false;
  for (const Header& each : request.headers) {
    if (each.name != header) continue;
    any = true;
    for (std::string_view list = each.value; !list.empty();) {
      std::string_view element = take(list, ',');
      const std::string_view name = trimmed(take(element, ';'));
      std::optional<unsigned> weight = 1000;
      while (!element.empty()) {
        std::string_view value = take(element, ';');
        if (same(trimmed(take(value, '=')), "q")) weight = weight_of(trimmed(value));
      }
      if (!name.empty() && weight) job(name, *weight);
    }
  }
  return any;
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

unsigned Request::quality_of(std::string_view type) const {
  // "text/*".
  const std::string family = std::string(type.substr(0, type.find('/') + 1)) + "*";
  const std::array<std::string_view, 3> ranges{"*/*", family, type};
  // What is said of it most exactly holds.
  std::optional<unsigned> said[3];
  const bool any = for_each_weighted(*this, "accept", [&](std::string_view name, unsigned weight) {
    for (std::size_t i = 0; i < ranges.size(); ++i)
      if (same(name, ranges[i])) said[i] = std::max(said[i].value_or(0), weight);
  });
  if (!any) return 1000;
  for (const std::size_t i : {2, 1, 0})
    if (said[i]) return *said[i];
  return 0;
}

bool Request::takes_encoding(std::string_view coding) const {
  std::optional<unsigned> own, star;
  for_each_weighted(*this, "accept-encoding", [&](std::string_view name, unsigned weight) {
    if (same(name, coding)) own = weight;
    if (name == "*") star = weight;
  });
  return own.value_or(star.value_or(0)) > 0;
}

bool Request::knows_tag(std::string_view tag) const {
  for (const Header& each : headers) {
    if (each.name != "if-none-match") continue;
    std::string_view list = each.value;
    if (trimmed(list) == "*") return true;
    // A comma may stand in a tag, so they are taken by their quotes.
    while (!list.empty()) {
      const std::size_t begin = list.find('"');
      const std::size_t end = begin == std::string_view::npos ? begin : list.find('"', begin + 1);
      if (end == std::string_view::npos) break;
      if (list.substr(begin, end + 1 - begin) == tag) return true;
      list.remove_prefix(end + 1);
    }
  }
  return false;
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

std::string http_date() {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  thread_local std::time_t last = 0;
  thread_local std::string text;
  const std::time_t now = std::time(nullptr);
  if (now == last) return text;
  std::tm parts{};
  gmtime_r(&now, &parts);
  text = fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[parts.tm_wday], parts.tm_mday,
                     kMonths[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min,
                     parts.tm_sec);
  last = now;
  return text;
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

Response sse_head(std::vector<Header> headers) {
  headers.push_back({"Cache-Control", "no-store"});
  headers.push_back({"X-Accel-Buffering", "no"});
  Response head;
  head.type = "text/event-stream";
  head.headers = std::move(headers);
  return head;
}

std::string sse_event(std::string_view name, std::string_view data, std::string_view id) {
  std::string text;
  if (!id.empty()) text += fmt::format("id: {}\n", id);
  if (!name.empty()) text += fmt::format("event: {}\n", name);
  text.append("data: ").append(data).append("\n\n");
  return text;
}

}  // namespace brig::serve
