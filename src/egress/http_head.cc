#include "egress/http_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <charconv>
#include <set>
#include <utility>

#include "base/text.h"
#include "egress/http_lines.h"
#include "policy/host_rule.h"

namespace brig::egress {
namespace {

namespace http = boost::beast::http;
using boost::beast::iequals;
using Fields = http::fields;

HeadResult refuse_head(unsigned status, std::string why) {
  HeadResult result;
  result.kind = HeadResult::Kind::refused;
  result.status = status;
  result.why = std::move(why);
  return result;
}

// Each returns the reason for a refusal, or nothing.
using Refusal = std::optional<HeadResult>;

// What all Connection fields list.
using Options = std::set<std::string, boost::beast::iless>;

Options connection_options(const Fields& fields) {
  Options options;
  const auto range = fields.equal_range(http::field::connection);
  for (auto each = range.first; each != range.second; ++each)
    for (const std::string_view item : list_items({each->value().data(), each->value().size()}))
      options.emplace(item);
  return options;
}

// How long the body is.
Refusal read_framing(const Fields& fields, bool old, HttpHead& head) {
  const auto lengths = fields.count(http::field::content_length);
  const auto codings = fields.count(http::field::transfer_encoding);
  if (codings > 0 && (codings > 1 || lengths > 0 || old ||
                      !iequals(fields[http::field::transfer_encoding], "chunked")))
    return refuse_head(
        400,
        "Transfer-Encoding must be 'chunked', sent once, in HTTP/1.1 and without Content-Length");
  head.is_chunked = codings > 0;
  if (lengths > 0) {
    const auto text = fields[http::field::content_length];
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, head.body_size);
    if (lengths > 1 || text.empty() || parsed.ec != std::errc() || parsed.ptr != end)
      return refuse_head(400, "Content-Length must be one number, sent once");
  }
  head.has_body = head.is_chunked || head.body_size > 0;
  // A client of HTTP/1.0 can't know what that is.
  if (const auto expect = fields.find(http::field::expect); expect != fields.end() && !old) {
    if (fields.count(http::field::expect) > 1 || !iequals(expect->value(), "100-continue"))
      return refuse_head(417, "Expect: only 100-continue is supported");
    head.awaits_continue = head.has_body;
  }
  return std::nullopt;
}

// Of the Host field, which must be that of the target, if that is known already.
Refusal read_host(const Fields& fields, bool old, HttpHead& head) {
  const auto hosts = fields.count(http::field::host);
  if (hosts > 1) return refuse_head(400, "a request must have only one Host field");
  const bool is_known = head.form != HttpHead::Form::origin;
  if (hosts == 0) {
    if (is_known && (old || head.form == HttpHead::Form::connect)) return std::nullopt;
    return refuse_head(400, "a request must have a Host field");
  }
  const auto text = fields[http::field::host];
  // With CONNECT, clients leave out whatever port it is.
  const std::uint16_t port = head.form == HttpHead::Form::connect ? head.target.port : 80;
  const auto host = parse_target({text.data(), text.size()}, port);
  if (!host) return refuse_head(400, "the Host field must be a host, or a host and a port");
  if (is_known && *host != head.target)
    return refuse_head(400, fmt::format("the Host field names {}, but the request is for {}",
                                        host->text(), head.target.text()));
  head.target = *host;
  return std::nullopt;
}

// The request's target, which becomes a path with its query. Sets head.form, and head.target for
// the forms that name a host themselves.
Refusal read_target(std::string& target, HttpHead& head) {
  if (target.find('#') != std::string::npos)
    return refuse_head(400, "the target of a request must not have a fragment ('#')");
  if (head.method == "CONNECT") {
    head.form = HttpHead::Form::connect;
    const auto host = parse_target(target, 0);
    if (!host) return refuse_head(400, "CONNECT needs a host and a port, as in example.com:443");
    head.target = *host;
    target.clear();
    return std::nullopt;
  }
  if (target.starts_with('/')) {
    head.form = HttpHead::Form::origin;
    return std::nullopt;
  }
  head.form = HttpHead::Form::absolute;
  constexpr std::string_view kScheme = "http://";
  if (iequals(std::string_view(target).substr(0, 8), "https://"))
    return refuse_head(400, "use CONNECT to reach an https address through this proxy");
  if (!iequals(std::string_view(target).substr(0, kScheme.size()), kScheme))
    return refuse_head(400, "the target of a request must be a path, or http:// with a host");
  target.erase(0, kScheme.size());
  const std::size_t end = std::min(target.find_first_of("/?"), target.size());
  const auto host = parse_target(std::string_view(target).substr(0, end), 80);
  if (!host) return refuse_head(400, "the target must name a host after http://, without a user");
  head.target = *host;
  target.erase(0, end);
  if (!target.starts_with('/')) target.insert(0, "/");
  return std::nullopt;
}

// The fields that end at a proxy, beside those that Connection names.
bool is_for_proxy(std::string_view name) {
  constexpr std::string_view kNames[] = {"Connection", "Keep-Alive", "TE",
                                         "Trailer",    "Upgrade",    "HTTP2-Settings"};
  constexpr std::string_view kPrefix = "Proxy-";
  return iequals(name.substr(0, kPrefix.size()), kPrefix) ||
         std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view each) { return iequals(name, each); });
}

std::string host_field(const Target& target) {
  const std::string text = target.text();
  return target.port == 80 ? text.substr(0, text.rfind(':')) : text;
}

// `target` is a path with its query.
std::string write_forwarded(const Fields& fields, const Options& options, bool old,
                            std::string_view target, const HttpHead& head) {
  std::string text = fmt::format("{} {} HTTP/1.{}\r\nHost: {}\r\n", head.method, target,
                                 old ? 0 : 1, host_field(head.target));
  for (const auto& field : fields) {
    const std::string_view name(field.name_string().data(), field.name_string().size());
    // The host and the framing are written from what was understood of them.
    if (iequals(name, "Host") || iequals(name, "Content-Length") ||
        iequals(name, "Transfer-Encoding") || is_for_proxy(name) ||
        options.count(std::string(name)) > 0 || (old && iequals(name, "Expect")))
      continue;
    text += fmt::format("{}: {}\r\n", name,
                        std::string_view(field.value().data(), field.value().size()));
  }
  if (head.is_chunked)
    text += "Transfer-Encoding: chunked\r\n";
  else if (fields.count(http::field::content_length) > 0)
    text += fmt::format("Content-Length: {}\r\n", head.body_size);
  text += head.upgrades ? "Connection: Upgrade\r\nUpgrade: websocket\r\n" : "Connection: close\r\n";
  return text + "\r\n";
}

Refusal check_connection(const Options& options) {
  for (const char* name : {"Host", "Content-Length", "Transfer-Encoding"})
    if (options.count(name) > 0)
      return refuse_head(400, fmt::format("the Connection field must not name {}", name));
  return std::nullopt;
}

bool asks_for_websocket(const Fields& fields, const Options& options, bool old,
                        const HttpHead& head) {
  return !old && head.method == "GET" && !head.has_body && options.count("upgrade") > 0 &&
         fields.count(http::field::upgrade) == 1 &&
         iequals(fields[http::field::upgrade], "websocket");
}

// A head whose lines have been checked.
HeadResult read_fields(std::string_view bytes) {
  http::request_parser<http::empty_body> parser;
  parser.header_limit(2 * kMaxHead);
  parser.body_limit(boost::none);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if ((error && error != http::error::need_more) || !parser.is_header_done())
    return refuse_head(400, "the request is not valid HTTP: " + error.message());
  const auto& request = parser.get();
  const bool old = request.version() < 11;
  HeadResult result;
  result.kind = HeadResult::Kind::head;
  HttpHead& head = result.head;
  head.method = std::string(request.method_string());
  if (iequals(head.method, "TRACE")) return refuse_head(405, "TRACE is not allowed");
  std::string target(request.target());
  if (auto refusal = read_target(target, head)) return *refusal;
  if (auto refusal = read_host(request, old, head)) return *refusal;
  if (auto refusal = read_framing(request, old, head)) return *refusal;
  const Options options = connection_options(request);
  if (auto refusal = check_connection(options)) return *refusal;
  if (head.form == HttpHead::Form::connect) {
    if (head.has_body) return refuse_head(400, "CONNECT has no body");
    return result;
  }
  head.path = target.substr(0, target.find('?'));
  head.upgrades = asks_for_websocket(request, options, old, head);
  head.forwarded = write_forwarded(request, options, old, target, head);
  return result;
}

}  // namespace

std::string Target::text() const {
  if (!address) return fmt::format("{}:{}", name, port);
  if (address->is_ipv4()) return fmt::format("{}:{}", address->text(), port);
  return fmt::format("[{}]:{}", address->text(), port);
}

std::optional<Target> parse_target(std::string_view text, std::uint16_t port) {
  Target target;
  target.port = port;
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == std::string_view::npos) return std::nullopt;
  const std::size_t colon = std::min(text.find(':', bracket), text.size());
  const std::string_view host = text.substr(0, colon);
  if (colon < text.size()) {
    const std::string_view digits = text.substr(colon + 1);
    const char* const end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, target.port);
    if (digits.empty() || digits[0] == '0' || parsed.ec != std::errc() || parsed.ptr != end)
      return std::nullopt;
  }
  if (target.port == 0) return std::nullopt;
  target.address = Address::parse(host);
  if (target.address) return target;
  const auto name = normal_host_name(host);
  if (!name) return std::nullopt;
  target.name = *name;
  return target;
}

HeadResult read_head(std::string_view bytes) {
  const HeadLines lines = find_head(bytes.substr(0, kMaxHead));
  if (!lines.fault.empty()) return refuse_head(400, lines.fault);
  if (lines.end == 0)
    return bytes.size() < kMaxHead
               ? HeadResult{}
               : refuse_head(431, "the request line and the fields are longer than " +
                                      format_size(kMaxHead));
  const std::string_view head = bytes.substr(lines.begin, lines.end - lines.begin);
  if (const LineFault fault = check_lines(head); fault.status != 0)
    return refuse_head(fault.status, fault.why);
  HeadResult result = read_fields(head);
  if (result.kind == HeadResult::Kind::head) result.size = lines.end;
  return result;
}

std::string plain_answer(unsigned status, std::string_view sentence) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(status));
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}\n",
      status, std::string_view(reason.data(), reason.size()), sentence.size() + 1, sentence);
}

}  // namespace brig::egress
