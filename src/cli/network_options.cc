#include "cli/network_options.h"

#include <CLI/App.hpp>

#include "base/error.h"
#include "cli/policy_options.h"

namespace brig::cli {

const char* NetworkOptions::given() const {
  if (!net.empty()) return "--net";
  if (!allow.empty()) return "--allow";
  if (!deny.empty()) return "--deny";
  if (connections) return "--connections";
  if (!upload.empty()) return "--upload";
  if (!download.empty()) return "--download";
  return connection_time.empty() ? nullptr : "--connection-time";
}

void NetworkOptions::apply(Policy& policy) const {
  if (!net.empty() && !(allow.empty() && deny.empty()))
    throw_error(ErrorKind::config,
                "--net {} and {} exclude each other: --allow gives the hosts that it lists and the "
                "cell's own loopback; leave --net out",
                net, allow.empty() ? "--deny" : "--allow");
  for (const Network::Mode each : {Network::none, Network::loopback, Network::host})
    if (net == to_string(each)) policy.network = each;
  if (!(allow.empty() && deny.empty()) && policy.network.mode != Network::proxy) {
    if (allow.empty())
      throw_error(ErrorKind::config, "--deny {}: there is nothing that it takes away; add --allow",
                  deny[0]);
    policy.network = Network::proxy;
  }
  auto& network = policy.network;
  network.allow.insert(network.allow.end(), allow.begin(), allow.end());
  network.deny.insert(network.deny.end(), deny.begin(), deny.end());
  Limits& limits = policy.limits;
  if (connections) limits.connections = *connections;
  if (!upload.empty()) set_size("--upload", upload, limits.upload.emplace());
  if (!download.empty()) set_size("--download", download, limits.download.emplace());
  if (!connection_time.empty())
    limits.connection_time = duration_of("--connection-time", connection_time);
}

void add_network_options(CLI::App& app, NetworkOptions& options) {
  app.add_option("--net", options.net, "none, loopback or host [none]")
      ->type_name("MODE")
      ->check(CLI::IsMember({"none", "loopback", "host"}));
  const auto list = [&](const char* name, std::vector<std::string>& target, const char* help) {
    app.add_option(name, target, help)->type_name("HOST[:PORT]")->expected(1)->take_all();
  };
  list("--allow", options.allow,
       "Let it reach HOST, *.DOMAIN or ADDRESS/BITS, and nothing else [port 443] (repeatable)");
  list("--deny", options.deny, "Except HOST; wins over --allow [all ports] (repeatable)");
  app.add_option("--connections", options.connections, "Connections open at once [64]")
      ->type_name("N");
  app.add_option("--upload", options.upload, "Bytes that it may send to allowed hosts")
      ->type_name("SIZE");
  app.add_option("--download", options.download, "Bytes that it may receive from them")
      ->type_name("SIZE");
  app.add_option("--connection-time", options.connection_time, "How long one connection may last")
      ->type_name("TIME");
}

}  // namespace brig::cli
