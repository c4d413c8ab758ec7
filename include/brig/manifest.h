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
// docs/manifest.md has every key. The file belongs to the operator: nothing that a tool or a model
// says changes a policy.
#pragma once

#include <brig/policy.h>
#include <brig/toolbox.h>

#include <string>
#include <string_view>
#include <vector>

namespace brig {

struct Manifest {
  // The policy for the Sandbox.
  Policy policy;
  // Commands, and libraries and modules to load. A tool with a policy of its own carries it.
  Toolbox tools;
  // [run_python] preload: modules that a server's built-in tool imports ahead.
  std::vector<std::string> preload;
};

// Parses and validates a manifest. Throws Error(config) with every mistake, one per line:
// "file:line: what is wrong", and for an unknown key the nearest known one. Of mistakes in the TOML
// syntax it names only the first, because the parser stops there. `name` stands for the file in the
// messages; relative paths of libraries start at `directory`. Runs and loads nothing.
[[nodiscard]] Manifest manifest_from_toml(std::string_view text, const std::string& name,
                                          const std::string& directory);
// The same for a file; relative paths start at its directory. Throws Error for a file that can't be
// read, or that others than its owner can write.
[[nodiscard]] Manifest manifest_from_toml_file(const std::string& path);

}  // namespace brig
