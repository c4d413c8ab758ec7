#include "serve/gate.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/text.h"
#include "service/problem.h"

namespace brig::serve {
namespace {

// Without the port.
std::string_view name_of(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, std::min(host.find(']') + 1, host.size()));
  return host.substr(0, std::min(host.find(':'), host.size()));
}

bool is_address(const std::string& name) {
  unsigned char bytes[16];
  if (name.size() > 2 && name.front() == '[' && name.back() == ']')
    return inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), bytes) == 1;
  return inet_pton(AF_INET, name.c_str(), bytes) == 1;
}

// What a page may read of an answer, and send with a request, in addition to what every page may.
constexpr const char* kReadable =
    "Brig-Call-Id, Date, ETag, Location, Mcp-Session-Id, Mcp-Protocol-Version, Retry-After, "
    "traceparent, "
    "WWW-Authenticate";
constexpr std::string_view kSendable[] = {"accept",        "authorization", "content-type",
                                          "last-event-id", "traceparent",   "tracestate"};

// The names, of those that a browser lists, that a page may send.
std::string sendable_of(std::string_view names) {
  std::string allowed;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    const std::string name = lower_case(trimmed(names.substr(0, end)));
    names.remove_prefix(std::min(end + 1, names.size()));
    const bool is_name =
        !name.empty() &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == std::string::npos;
    if (is_name && (name.starts_with("mcp-") || std::ranges::count(kSendable, name) > 0))
      allowed += (allowed.empty() ? "" : ", ") + name;
  }
  return allowed;
}

}  // namespace

bool is_origin(std::string_view text) {
  const std::string origin = lower_case(text);
  const std::size_t begin = origin.find("://");
  if (begin == std::string::npos || begin == 0) return false;
  const std::string_view scheme = std::string_view(origin).substr(0, begin),
                         host = std::string_view(origin).substr(begin + 3);
  return scheme.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") == std::string::npos &&
         !host.empty() &&
         host.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-_:[]") == std::string::npos;
}

Gate::Gate(GateOptions options, Tokens& tokens) : options_(std::move(options)), tokens_(tokens) {
  for (std::string& name : options_.hosts) name = lower_case(name);
  for (std::string& name : options_.origins) name = lower_case(name);
}

// A page that made its own name point here uses that name as Host. No name can look like an
// address.
bool Gate::is_host(std::string_view host) const {
  const std::string_view port = host.substr(name_of(host).size());
  if (!port.empty() &&
      (port[0] != ':' || port.find_first_not_of("0123456789", 1) != std::string::npos))
    return false;
  const std::string name = lower_case(name_of(host));
  return name == "localhost" || name.ends_with(".localhost") || is_address(name) ||
         std::find(options_.hosts.begin(), options_.hosts.end(), name) != options_.hosts.end();
}

// For a page of an origin that the operator has named. The answer is for that origin alone.
void Gate::allow_page(Exchange& exchange, const std::string& origin) const {
  exchange.headers.push_back({"Access-Control-Allow-Origin", origin});
  exchange.headers.push_back({"Access-Control-Expose-Headers", kReadable});
}

bool Gate::admit(Exchange& exchange) const {
  const Request& request = exchange.request;
  if (!options_.origins.empty()) exchange.headers.push_back({"Vary", "Origin"});
  const std::string* host = request.header("host");
  if (host && !host->empty() && !is_host(*host)) {
    exchange.respond(problem(403, "host-not-allowed",
                             "Host " + in_quotes(*host) +
                                 " is not allowed. Start the server with --allow-host " +
                                 printable(name_of(*host)) + "."));
    return false;
  }
  if (request.count("origin") > 1) {
    exchange.respond(
        problem(403, "origin-not-allowed", "a request must have at most one Origin header"));
    return false;
  }
  const std::string* origin = request.header("origin");
  if (!origin) return true;
  const std::string own =
      (request.secure ? "https://" : "http://") + (host ? lower_case(*host) : std::string());
  if (std::ranges::count(options_.origins, lower_case(*origin)) > 0) {
    allow_page(exchange, *origin);
    const std::string* asked = request.header("access-control-request-headers");
    if (request.method != "OPTIONS" || !request.header("access-control-request-method"))
      return true;
    // This request has no token, and the answer says nothing else.
    Response response{204,
                      "",
                      "",
                      {{"Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE"},
                       {"Access-Control-Max-Age", "600"}}};
    if (const std::string sendable = sendable_of(asked ? *asked : ""); !sendable.empty())
      response.headers.push_back({"Access-Control-Allow-Headers", sendable});
    exchange.respond(std::move(response));
    return false;
  }
  if (lower_case(*origin) == own) return true;
  exchange.respond(problem(403, "origin-not-allowed",
                           "Origin " + in_quotes(*origin) +
                               " is not allowed. Start the server with --allow-origin " +
                               printable(*origin) + "."));
  return false;
}

CallerPtr Gate::identify(Exchange& exchange) const {
  const Request& request = exchange.request;
  CallerPtr caller =
      request.count("authorization") > 1 ? nullptr : tokens_.find(request.header("authorization"));
  if (!caller) {
    Response response = problem(401, "token-needed",
                                request.header("authorization")
                                    ? "the token is not valid for this server"
                                    : "a token is required: send 'Authorization: Bearer TOKEN'");
    response.headers.push_back({"WWW-Authenticate", "Bearer realm=\"brig\""});
    exchange.respond(std::move(response));
  }
  return caller;
}

}  // namespace brig::serve
