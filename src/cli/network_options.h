// --net, --allow, --deny and the limits of connections: the same in every sub-command that has
// them.
#pragma once

#include <brig/policy.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace brig::cli {

struct NetworkOptions {
  std::string net, upload, download, connection_time;
  std::vector<std::string> allow, deny;
  std::optional<std::uint32_t> connections;

  // The first one that was given, or null.
  const char* given() const;
  // Throws Error(config) for options that exclude each other.
  void apply(Policy& policy) const;
};

void add_network_options(CLI::App& app, NetworkOptions& options);

}  // namespace brig::cli
