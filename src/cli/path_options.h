// Options about paths, the same in every sub-command that has them.
#pragma once

#include <brig/policy.h>
#include <brig/report.h>

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace brig::cli {

// Paths are relative to the current directory, and become absolute; the policy's own stay.
struct PathOptions {
  std::vector<std::string> read, write, read_optional, write_optional, noexec, protect;

  // The first one that was given, or null.
  const char* given() const;
  void add_to(Files& files) const;
};
void add_path_options(CLI::App& app, PathOptions& options);

// What files.protect could not keep, on stderr.
void tell_what_appeared(const Report& report);

}  // namespace brig::cli
