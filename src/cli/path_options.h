// The options about paths, which are the same in every sub-command that has them.
#pragma once

#include <brig/policy.h>
#include <brig/report.h>

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace brig::cli {

// Paths are relative to the current directory and become absolute; those of a policy file stay as
// they are.
struct PathOptions {
  std::vector<std::string> read, write, read_optional, write_optional, noexec, protect;

  // The first one that was given, or null.
  const char* given() const;
  void add_to(Files& files) const;
};
void add_path_options(CLI::App& app, PathOptions& options);

// Prints on stderr which names files.protect could not keep.
void tell_what_appeared(const Report& report);

}  // namespace brig::cli
