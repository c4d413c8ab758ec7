// `brig mcp` and `brig serve`, once their options are read.
#include <brig/error.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/server_options.h"
#include "http/listen_address.h"
#include "mcp/mcp_stdio.h"
#include "os/own_leaf.h"
#include "serve/server.h"
#include "serve/service_manager.h"
#include "service/manifest_watch.h"

namespace brig::cli {

using namespace brig::serve;

namespace {

constexpr std::chrono::seconds kToEndCalls{5};

void note(const std::string& line) { std::fprintf(stderr, "brig: %s\n", printable(line).c_str()); }

void tell_defect(const std::exception& error) {
  complain(std::string("a defect of brig; please report it: ") + error.what());
}

// Returns the place where programs of a user keep what they have done.
std::string default_audit() {
  std::string directory;
  if (const char* state = std::getenv("STATE_DIRECTORY"))  // set for a service
    directory = state;
  else if (const char* user = std::getenv("XDG_STATE_HOME"); user && *user == '/')
    directory = std::string(user) + "/brig";
  else if (const char* home = std::getenv("HOME"); home && *home == '/')
    directory = std::string(home) + "/.local/state/brig";
  else
    throw_error(
        ErrorKind::config,
        "HOME is not set, so the audit log has no place; give one with --audit FILE, or use "
        "--audit none");
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  return directory + "/audit.jsonl";
}

// Raises the limit of descriptors as far as it is allowed, and returns it. Half of them are for
// cells.
unsigned most_descriptors() {
  constexpr rlim_t kEnough = 16'384;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  const rlimit more{std::max(limit.rlim_cur, std::min(limit.rlim_max, kEnough)), limit.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &more) == 0) limit = more;
  return static_cast<unsigned>(std::min<rlim_t>(limit.rlim_cur, 1 << 20));
}

// Removes the name of a socket that this process has made.
class SocketName {
 public:
  explicit SocketName(std::string path) : path_(std::move(path)) {}
  ~SocketName() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  SocketName(const SocketName&) = delete;
  SocketName& operator=(const SocketName&) = delete;

 private:
  const std::string path_;
};

ArgumentsShown shown_by(const std::string& word) {
  const auto how = arguments_shown_of(word);
  if (!how)
    throw_error(ErrorKind::config, "--audit-arguments {}: give off, redacted or full",
                in_quotes(word));
  return *how;
}

std::size_t mcp_text_of(const ServerOptions& options) {
  const auto size = parse_size(options.mcp_text);
  if (!size || *size < 1024 || *size > 1_MiB)
    throw_error(ErrorKind::config, "--mcp-text {}: give a size from 1K to 1M",
                in_quotes(options.mcp_text));
  return *size;
}

// What both commands need, in the order in which it must be made.
struct Parts {
  explicit Parts(const ServerOptions& options) {
    Builtins builtins;
    if (options.manifest.empty()) {
      // What is wrong in a file names its keys.
      const Policy policy = options.policy.policy();
      try {
        builtins = make_builtins(policy, options.sandbox, options.preload);
      } catch (const Error& error) {
        throw Error(error.kind(), options.policy.in_own_words(error.what()));
      }
      builtins.missing = options.policy.in_own_words(builtins.missing);
    } else if (options.builtins) {
      const Manifest manifest = manifest_from_toml_file(options.manifest);
      builtins = make_builtins(manifest.policy, options.sandbox,
                               preload_of(options.preload, manifest.preload));
    } else if (!options.preload.empty()) {
      throw Error(ErrorKind::config,
                  "--preload is for run_python, which a server with a manifest does not have; add "
                  "--builtins");
    } else if (!manifest_from_toml_file(options.manifest).preload.empty()) {
      note("[run_python] of the manifest has no effect without --builtins");
    }
    if (builtins.sandbox) {
      if (!builtins.missing.empty()) note("run_python is not available: " + builtins.missing);
    }
    service = std::make_unique<Service>(
        loop,
        ServiceOptions{options.manifest, options.sandbox,
                       options.audit.empty() ? default_audit() : options.audit,
                       shown_by(options.arguments), mcp_text_of(options), options.preload},
        std::move(builtins));
    if (options.manifest.empty()) return;
    watch = std::make_unique<ManifestWatch>(loop, [this, &options](const std::string& path) {
      reload(std::filesystem::absolute(options.manifest).lexically_normal() == path ? "" : path);
    });
    follow();
  }

  // `file`: the file that has changed, unless it is the manifest.
  void reload(const std::string& file = "") {
    service->reload([this, file](const std::string& fault) {
      follow();
      if (file.empty() && fault.empty())
        note("the manifest was reloaded");
      else if (fault.empty())
        note("the tools were reloaded: " + in_quotes(file) + " has changed");
      else if (file.empty())
        complain_lines("the manifest stays as it was:\n" + fault);
      else
        complain_lines("the tools stay as they were; " + in_quotes(file) +
                       " has changed, but the tools can't be loaded:\n" + fault);
    });
  }

  void follow() {
    const std::string fault = watch->watch(service->sources(), service->loaded());
    if (!fault.empty() && !told_unwatched)
      note("brig can't watch for changes (send SIGHUP to reload): " + fault);
    told_unwatched = !fault.empty();
  }

  Loop loop;
  std::unique_ptr<Service> service;
  std::unique_ptr<ManifestWatch> watch;
  bool told_unwatched = false;
};

Tokens tokens_of(const ServerOptions& options) {
  if (options.token_file.empty()) return {};
  const char* credentials = std::getenv("CREDENTIALS_DIRECTORY");
  try {
    return Tokens::from_file(options.token_file);
  } catch (const Error& error) {
    if (!credentials || options.token_file.rfind(std::string(credentials) + "/", 0) != 0) throw;
    throw Error(error.kind(),
                std::string(error.what()) +
                    "; it is systemd's copy of the file that LoadCredential= in the unit names "
                    "(/etc/brig/tokens.toml, as brig ships it)");
  }
}

void check_origins(const ServerOptions& options) {
  for (const std::string& origin : options.gate.origins)
    if (!is_origin(origin))
      throw_error(
          ErrorKind::config,
          "--allow-origin {}: give an origin as browsers send it, such as https://example.org or "
          "http://localhost:3000; without a path or '*'",
          in_quotes(origin));
}

HttpLimits limits_of(const ServerOptions& options) {
  HttpLimits limits;
  const auto body = parse_size(options.max_body);
  if (!body || *body < 1024 || *body > 1_GiB)
    throw_error(ErrorKind::config, "--max-body {}: give a size from 1K to 1G",
                in_quotes(options.max_body));
  // Refusing callers in turn, and sending strangers away, works only while there are descriptors to
  // accept other connections with.
  limits.connections = std::min<unsigned>(limits.connections, most_descriptors() / 2);
  limits.body = *body;
  limits.bodies = std::max<std::size_t>(limits.bodies, 4 * limits.body);
  return limits;
}

std::chrono::milliseconds drain_time_of(const ServerOptions& options) {
  const auto time = parse_duration(options.drain);
  if (!time)
    throw_error(ErrorKind::config, "--drain {}: give a time such as 30s", in_quotes(options.drain));
  return *time;
}

// Where the server listens: on inherited sockets, or on one of its own.
struct Listening {
  Listening(const ServerOptions& options, const Tokens& tokens, bool secure)
      : sockets(inherited_sockets()) {
    addresses.reserve(sockets.size() + 1);
    for (const UniqueFd& socket : sockets) addresses.push_back(address_of(socket));
    if (sockets.empty()) addresses.push_back(parse_listen_address(options.listen));
    for (const ListenAddress& address : addresses)
      if (!address.is_local() && !tokens.required())
        throw_error(ErrorKind::config,
                    "--listen {}: every program that can reach that address could call tools. Give "
                    "--token-file FILE, or listen on 127.0.0.1 or a Unix socket",
                    address.url(secure));
    if (!sockets.empty()) return;
    sockets.push_back(listen_on(addresses[0]));
    own_socket.emplace(addresses[0].unix_path);
  }

  std::vector<UniqueFd> sockets;
  std::vector<ListenAddress> addresses;
  // Its name is removed at the end, however that comes.
  std::optional<SocketName> own_socket;
};

// Does what signals ask of a server. Is destroyed before the server.
struct Signals {
  void on_signal(int which) {
    if (which == SIGHUP) return reload();
    if (++asked == 2) return end_calls();
    if (asked > 2) return parts.loop.stop();
    notify_manager("STOPPING=1");
    note("stopping: waiting for running calls; signal again to end them at once");
    server.http().drain();
    parts.service->drain([this] {
      // The last answers may still be on their way.
      last = parts.loop.after(std::chrono::milliseconds(100), [this] { parts.loop.stop(); });
    });
    if (!last) patience = parts.loop.after(drain_time, [this] { end_calls(); });
  }

  void reload() {
    if (!options.token_file.empty()) try {
        server.replace_tokens(tokens_of(options));
      } catch (const Error& error) {
        note(std::string("the tokens stay as they were: ") + error.what());
      }
    if (!parts.service->audit().reopen()) note("the audit log could not be opened again");
    if (parts.service->has_manifest()) parts.reload();
  }

  // Calls that are ended are still noted in the audit log and answered. A cell that can't be ended
  // must not delay the exit.
  void end_calls() {
    parts.service->cancel_all();
    if (!last) last = parts.loop.after(kToEndCalls, [this] { parts.loop.stop(); });
  }

  const ServerOptions& options;
  Parts& parts;
  Server& server;
  const std::chrono::milliseconds drain_time;
  Loop::Timer patience = {}, last = {};
  // How often it was asked to stop.
  int asked = 0;
};

void tell_listening(const std::vector<ListenAddress>& addresses, bool secure) {
  for (const ListenAddress& address : addresses) {
    note("listening on " + address.url(secure));
    if (isatty(STDERR_FILENO) && address.unix_path.empty())
      note("MCP at " + address.url(secure) + "/mcp, console at " + address.url(secure) + "/");
  }
}

}  // namespace

int run_mcp(const ServerOptions& options) {
  if (const char* option = options.policy.given(); option && !options.manifest.empty())
    throw_error(ErrorKind::config,
                "{} and --manifest can't be combined: what a manifest's tools may use stands in "
                "its [policy] ({}); write it there",
                option, in_quotes(options.manifest));
  Parts parts(options);
  Jobs jobs(parts.loop, *parts.service);
  Mcp mcp(parts.loop, *parts.service, jobs);
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

int run_serve(const ServerOptions& options) {
  if (has_manager()) move_into_own_leaf();
  check_origins(options);
  Parts parts(options);
  Tokens tokens = tokens_of(options);
  if (options.certificate.empty() != options.key.empty())
    throw Error(ErrorKind::config, "give both --tls-cert and --tls-key, or neither");
  const TlsFiles tls{options.certificate, options.key};
  const bool secure = !options.certificate.empty();
  const HttpLimits limits = limits_of(options);
  const std::chrono::milliseconds drain_time = drain_time_of(options);
  Listening listening(options, tokens, secure);
  Server server(parts.loop, *parts.service, tokens, options.gate, limits);
  for (UniqueFd& socket : listening.sockets)
    server.http().listen(std::move(socket), secure ? &tls : nullptr);
  signal(SIGPIPE, SIG_IGN);
  Signals signals{options, parts, server, drain_time};
  parts.loop.on_signal({SIGTERM, SIGINT, SIGHUP}, [&](int which) { signals.on_signal(which); });
  tell_listening(listening.addresses, secure);
  notify_manager("READY=1");
  parts.loop.run(tell_defect);
  return 0;
}

}  // namespace brig::cli
