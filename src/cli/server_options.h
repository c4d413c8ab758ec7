// What brig-server is started with, and its two ways to run. Only for server_*.cc.
#pragma once

#include <string>
#include <vector>

#include "cli/policy_options.h"
#include "serve/server.h"

namespace brig::cli {

struct ServerOptions {
  std::string manifest, audit, arguments = "off", mcp_text = "25K";
  PolicyOptions policy;  // of mcp
  bool builtins = false;
  std::vector<std::string> preload;  // of run_python
  SandboxOptions sandbox;
  // of serve
  std::string listen = "127.0.0.1:7070", token_file, certificate, key, drain = "30s",
              max_body = "16M";
  serve::GateOptions gate;
};

// Both return the exit code, and throw Error for what the options get wrong.
int run_mcp(const ServerOptions& options);
int run_serve(const ServerOptions& options);

}  // namespace brig::cli
