#include "egress/settings.h"

#include <fmt/format.h>

#include <algorithm>

namespace brig::egress {
namespace {

// What proxies usually listen on. If a rule names that port, the next free one is taken.
constexpr std::uint16_t kProxyPort = 3128;

}  // namespace

Settings::Settings(const Policy& policy)
    : rules(policy.network.allow, policy.network.deny), limits(policy.limits) {
  proxy_port = kProxyPort;
  const auto is_named = [&](std::uint16_t port) {
    return std::binary_search(rules.ports().begin(), rules.ports().end(), port);
  };
  while (is_named(proxy_port)) ++proxy_port;
  ports = rules.ports();
  for (const std::uint16_t port : std::initializer_list<std::uint16_t>{53, 80, 443})
    if (!is_named(port)) ports.push_back(port);
  ports.insert(ports.begin(), proxy_port);
}

std::map<std::string, std::string> proxy_variables(const Settings& settings) {
  const std::string proxy = fmt::format("http://127.0.0.1:{}", settings.proxy_port);
  std::map<std::string, std::string> variables;
  // curl reads http_proxy in small letters only, other programs in large ones.
  for (const char* name : {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"})
    variables[name] = proxy;
  for (const char* name : {"no_proxy", "NO_PROXY"}) variables[name] = "localhost,127.0.0.1,::1";
  // From version 22.21 on, Node takes the proxy's variables if this asks for it.
  variables["NODE_USE_ENV_PROXY"] = "1";
  return variables;
}

}  // namespace brig::egress
