// What the way out of one policy's cells needs to know. Immutable; shared by all of them.
#pragma once

#include <brig/policy.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "egress/rules.h"

namespace brig::egress {

struct Settings {
  // Throws Error(config). The policy's network is Network::proxy.
  explicit Settings(const Policy& policy);

  Rules rules;
  Limits limits;
  // On which brig's proxy listens in the cell, at 127.0.0.1.
  std::uint16_t proxy_port;
  // Of the listeners in a cell, in the order in which its init makes them: the proxy's, those of
  // the rules, and those on which a refusal can be explained (80 and 443) and the DNS asked (53).
  std::vector<std::uint16_t> ports;
};

// The variables by which programs find the proxy: http_proxy and its kin.
std::map<std::string, std::string> proxy_variables(const Settings& settings);

}  // namespace brig::egress
