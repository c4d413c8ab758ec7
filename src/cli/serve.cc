// `brig serve` and `brig mcp`: hands over to brig-server.
#include <unistd.h>

#include <CLI/App.hpp>
#include <filesystem>

#include "base/error.h"
#include "cli/cli.h"

namespace brig::cli {

void add_server(CLI::App& app) {
  for (const auto& [name, what] :
       {std::pair("serve", "Serves tools over MCP and HTTP, with a console"),
        std::pair("mcp", "Serves tools over MCP on stdin and stdout")})
    app.add_subcommand(name, what);
}

bool is_of_server(std::string_view word) { return word == "serve" || word == "mcp"; }

void run_server(char** argv) {
  std::error_code error;
  const std::filesystem::path own =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  // Installed, and in the build tree.
  for (const auto& path : {own / "../libexec/brig/brig-server", own / "brig-server"}) {
    argv[0] = const_cast<char*>("brig");
    execv(path.c_str(), argv);
    if (errno != ENOENT) throw_sys("running '{}'", path.native());
  }
  throw_error(
      ErrorKind::config,
      "brig-server is missing: it is neither in ../libexec/brig nor beside this program ({}); "
      "install all of brig",
      own.native());
}

}  // namespace brig::cli
