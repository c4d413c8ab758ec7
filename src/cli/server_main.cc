// brig-server: `brig serve` and `brig mcp`. A program of its own, so that TLS, HTTP and metrics cost a `brig run` nothing.
#include <brig/error.h>
#include <brig/version.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "serve/listen_address.h"
#include "serve/manifest_watch.h"
#include "serve/mcp_stdio.h"
#include "serve/server.h"
#include "serve/service_manager.h"

namespace brig::cli {
namespace {

using namespace brig::serve;

struct Options {
  std::string manifest, audit;
  bool builtins = false;
  SandboxOptions sandbox;
  // of serve
  std::string listen = "127.0.0.1:7070", token_file, certificate, key, drain = "30s",
              max_body = "16M";
  GateOptions gate;
};

void note(const std::string& line) { std::fprintf(stderr, "brig: %s\n", printable(line).c_str()); }

void tell_defect(const std::exception& error) {
  complain(std::string("a defect, please report it: ") + error.what());
}

// Where a user's programs keep what they have done.
std::string default_audit() {
  std::string directory;
  if (const char* state = std::getenv("STATE_DIRECTORY"))  // a service's
    directory = state;
  else if (const char* user = std::getenv("XDG_STATE_HOME"); user && *user == '/')
    directory = std::string(user) + "/brig";
  else if (const char* home = std::getenv("HOME"); home && *home == '/')
    directory = std::string(home) + "/.local/state/brig";
  else
    throw_error(ErrorKind::config,
                "there is no HOME to keep the audit log in; say where: --audit FILE, or none: "
                "--audit none");
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  return directory + "/audit.jsonl";
}

// How many descriptors this process may have, from now on as many as it can ask for. The other half is for cells.
unsigned most_descriptors() {
  constexpr rlim_t kEnough = 16'384;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  const rlimit more{std::max(limit.rlim_cur, std::min(limit.rlim_max, kEnough)), limit.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &more) == 0) limit = more;
  return static_cast<unsigned>(std::min<rlim_t>(limit.rlim_cur, 1 << 20));
}

// What both need, in the order in which it must be made.
struct Parts {
  explicit Parts(const Options& options) {
    Builtins builtins;
    if (options.manifest.empty() || options.builtins) {
      const Policy policy =
          options.manifest.empty() ? Policy{} : manifest_from_toml_file(options.manifest).policy;
      builtins = make_builtins(policy, options.sandbox);
      if (!builtins.missing.empty()) note("there is no run_python: " + builtins.missing);
    }
    service = std::make_unique<Service>(
        loop,
        ServiceOptions{options.manifest, options.sandbox,
                       options.audit.empty() ? default_audit() : options.audit},
        std::move(builtins));
    if (!options.manifest.empty())
      watch = std::make_unique<ManifestWatch>(loop, options.manifest, [this] { reload(); });
  }

  void reload() {
    service->reload([](const std::string& fault) {
      if (fault.empty())
        note("the manifest was reloaded");
      else
        complain_lines("the manifest stays as it was:\n" + fault);
    });
  }

  Loop loop;
  std::unique_ptr<Service> service;
  std::unique_ptr<ManifestWatch> watch;
};

void add_common(CLI::App& app, Options& options) {
  app.add_option("--manifest,-m", options.manifest,
                 "Declares the tools; without it there are run_command and run_python")
      ->type_name("FILE");
  app.add_flag("--builtins", options.builtins,
               "run_command and run_python, beside a manifest's tools");
  app.add_option("--concurrency", options.sandbox.concurrency,
                 "Calls at once; more wait. Default: twice the cores")
      ->type_name("N");
  app.add_option("--queue", options.sandbox.queue, "Calls that wait; more are refused (1024)")
      ->type_name("N");
  app.add_option("--audit", options.audit,
                 "Where every call is noted, a line of JSON each: a file, '-' for stderr, or "
                 "'none'. Default: "
                 "brig/audit.jsonl in the state directory")
      ->type_name("FILE");
}

int run_mcp(const Options& options) {
  Parts parts(options);
  Mcp mcp(parts.loop, *parts.service);
  Tokens everybody;
  signal(SIGPIPE, SIG_IGN);
  const auto stop = [&] {
    parts.service->cancel_all();
    parts.loop.stop();
  };
  parts.loop.on_signal({SIGTERM, SIGINT, SIGHUP}, [&](int which) {
    if (which == SIGHUP && parts.service->has_manifest()) return parts.reload();
    stop();
  });
  McpStdio stdio(mcp, everybody.find(nullptr), STDIN_FILENO, STDOUT_FILENO, stop);
  parts.loop.run(tell_defect);
  return 0;
}

int run_serve(const Options& options) {
  Parts parts(options);
  Tokens tokens = options.token_file.empty() ? Tokens() : Tokens::from_file(options.token_file);
  if (options.certificate.empty() != options.key.empty())
    throw Error(ErrorKind::config, "--tls-cert and --tls-key belong together");
  const TlsFiles tls{options.certificate, options.key};
  const bool secure = !options.certificate.empty();
  HttpLimits limits;
  const auto body = parse_size(options.max_body);
  const auto drain_time = parse_duration(options.drain);
  if (!body || *body < 1024 || *body > 1_GiB)
    throw_error(ErrorKind::config, "--max-body {}: 1K to 1G", in_quotes(options.max_body));
  if (!drain_time)
    throw_error(ErrorKind::config, "--drain {}: a time such as 30s", in_quotes(options.drain));
  // Callers are refused in turn, and strangers sent away, only while there are descriptors to accept others with.
  limits.connections = std::min<unsigned>(limits.connections, most_descriptors() / 2);
  limits.body = *body;
  limits.bodies = std::max<std::size_t>(limits.bodies, 4 * limits.body);

  std::vector<UniqueFd> sockets = inherited_sockets();
  std::vector<ListenAddress> addresses;
  addresses.reserve(sockets.size() + 1);
  for (const UniqueFd& socket : sockets) addresses.push_back(address_of(socket));
  if (sockets.empty()) addresses.push_back(parse_listen_address(options.listen));
  for (const ListenAddress& address : addresses)
    if (!address.is_local() && !tokens.required())
      throw_error(ErrorKind::config,
                  "--listen {}: whoever can reach that address could call tools. Give "
                  "--token-file FILE, or listen on 127.0.0.1 or a Unix socket",
                  address.url(secure));
  std::string own_socket;  // to be removed at the end
  if (sockets.empty()) {
    sockets.push_back(listen_on(addresses[0]));
    own_socket = addresses[0].unix_path;
  }

  Server server(parts.loop, *parts.service, tokens, options.gate, limits);
  for (UniqueFd& socket : sockets) server.http().listen(std::move(socket), secure ? &tls : nullptr);
  signal(SIGPIPE, SIG_IGN);

  Loop::Timer patience;
  bool stopping = false;
  parts.loop.on_signal({SIGTERM, SIGINT, SIGHUP}, [&](int which) {
    if (which == SIGHUP) {
      if (!options.token_file.empty()) try {
          server.replace_tokens(Tokens::from_file(options.token_file));
        } catch (const Error& error) {
          note(std::string("the tokens stay as they were: ") + error.what());
        }
      if (!parts.service->audit().reopen()) note("the audit log could not be opened anew");
      if (parts.service->has_manifest()) parts.reload();
      return;
    }
    if (std::exchange(stopping, true)) {
      parts.service->cancel_all();
      return parts.loop.stop();
    }
    notify_manager("STOPPING=1");
    note("stopping: calls that run may end; again: at once");
    server.http().drain();
    parts.service->drain([&] {
      // What they answered may still be on its way.
      patience = parts.loop.after(std::chrono::milliseconds(100), [&] { parts.loop.stop(); });
    });
    if (!patience)
      patience = parts.loop.after(*drain_time, [&] {
        parts.service->cancel_all();
        parts.loop.stop();
      });
  });

  for (const ListenAddress& address : addresses) {
    note("listening on " + address.url(secure));
    if (isatty(STDERR_FILENO) && address.unix_path.empty())
      note("MCP at " + address.url(secure) + "/mcp, console at " + address.url(secure) + "/");
  }
  notify_manager("READY=1");
  parts.loop.run(tell_defect);
  if (!own_socket.empty()) unlink(own_socket.c_str());
  return 0;
}

}  // namespace
}  // namespace brig::cli

int main(int argc, char** argv) {
  using namespace brig::cli;
  CLI::App app("The server of brig.", "brig");
  app.set_version_flag("--version,-V", "brig " BRIG_VERSION);
  app.require_subcommand(1);
  Options options;
  int exit_code = 0;
  CLI::App& serve = *app.add_subcommand("serve", "Serves tools over MCP and HTTP, with a console");
  add_common(serve, options);
  serve
      .add_option("--listen,-l", options.listen,
                  "Where: ADDRESS:PORT or unix:PATH (127.0.0.1:7070); other addresses than "
                  "loopback need tokens")
      ->type_name("WHERE");
  serve
      .add_option("--token-file", options.token_file,
                  "Who may call: a token, or [[token]] tables; see docs/serve.md")
      ->type_name("FILE");
  serve.add_option("--tls-cert", options.certificate, "Certificate and its chain, PEM")
      ->type_name("FILE");
  serve.add_option("--tls-key", options.key, "Its key, PEM")->type_name("FILE");
  serve
      .add_option("--allow-host", options.gate.hosts,
                  "A name by which clients may ask, beside localhost and IP addresses")
      ->type_name("NAME");
  serve
      .add_option("--allow-origin", options.gate.origins,
                  "Pages that may ask, beside the console: https://example.org")
      ->type_name("ORIGIN");
  serve.add_option("--max-body", options.max_body, "The largest request body (16M)")
      ->type_name("SIZE");
  serve.add_option("--drain", options.drain, "How long calls may go on after SIGTERM (30s)")
      ->type_name("TIME");
  serve.footer(
      "Examples:\n"
      "  brig serve\n"
      "  brig serve --manifest brig.toml --listen unix:/run/user/1000/brig.sock\n"
      "  brig serve --listen 0.0.0.0:7070 --token-file tokens.toml --tls-cert c.pem --tls-key "
      "k.pem\n"
      "SIGHUP reads manifest and tokens again, SIGTERM lets calls end, a second one ends them.");
  serve.callback([&] { exit_code = run_serve(options); });
  CLI::App& mcp = *app.add_subcommand("mcp", "Serves tools over MCP on stdin and stdout");
  add_common(mcp, options);
  mcp.footer(
      "Examples:\n"
      "  brig mcp\n"
      "  brig mcp --manifest brig.toml\n"
      "  claude mcp add sandbox -- brig mcp");
  mcp.callback([&] { exit_code = run_mcp(options); });
  try {
    refuse_raised_rights();
    refuse_empty_values(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    complain(std::string(error.what()) + "; see `brig serve --help` and `brig mcp --help`");
    return kOwnFailure;
  } catch (const std::exception& error) {
    complain_lines(error.what());
    return kOwnFailure;
  }
  return exit_code;
}
