// The options of brig-server, and its two commands. Only for server_*.cc.
#pragma once

#include <string>
#include <vector>

#include "cli/policy_options.h"
#include "serve/server.h"

namespace brig::cli {

struct ServerOptions {
  std::string manifest, audit, arguments = "off", mcp_text = "25K";
  // For `brig mcp`.
  PolicyOptions policy;
  bool builtins = false;
  // For run_python.
  std::vector<std::string> preload;
  SandboxOptions sandbox;
  // For `brig serve`.
  std::string listen = "127.0.0.1:7070", token_file, certificate, key, drain = "30s",
              max_body = "16M";
  serve::GateOptions gate;
};

// Each runs a command until it ends, and returns the exit code. Throws Error for bad options.
int run_mcp(const ServerOptions& options);
int run_serve(const ServerOptions& options);

}  // namespace brig::cli
