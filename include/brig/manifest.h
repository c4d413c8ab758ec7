// Manifest: one file, brig.toml, that declares tools and what they may use.
//
//   [policy]                  # the default of every tool below
//   memory = "256M"
//   timeout = "10s"
//
//   [[command]]
//   name = "greet"
//   description = "Greets someone."
//   argv = ["echo", "hello {who}"]
//   parameters.who = { type = "string", description = "whom to greet" }
//   policy = { timeout = "2s" }   # only what differs from [policy]
//
//   [[library]]
//   path = "./libgeo.so"      # relative to the manifest's directory
//
// docs/manifest.md has every key. The file is the operator's: nothing that a tool or a model says
// changes a policy.
#pragma once

#include <brig/policy.h>
#include <brig/toolbox.h>

#include <string>
#include <string_view>
#include <vector>

namespace brig {

struct Manifest {
  Policy policy;  // for Sandbox
  Toolbox
      tools;  // commands, and libraries to load; those with a policy of their own have it with them
  std::vector<std::string> preload;  // of [run_python]: what a server's built-in tool imports ahead
};

// Throws Error(config) that tells all that is wrong, one per line: "file:line: what is wrong", with the
// nearest known key for an unknown one. (Of what is not TOML, the first: there the parser stops.) `name`
// stands in the messages; `directory` is where relative paths of libraries begin. Nothing is run or loaded.
Manifest manifest_from_toml(std::string_view text, const std::string& name,
                            const std::string& directory);
Manifest manifest_from_toml_file(const std::string& path);

}  // namespace brig
