// brig-server: `brig serve` and `brig mcp`. A program of its own, so that TLS, HTTP and metrics
// cost a `brig run` nothing.
#include <brig/version.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/cli.h"
#include "cli/server_options.h"

namespace brig::cli {
namespace {

void add_common(CLI::App& app, ServerOptions& options) {
  app.add_option("--manifest,-m", options.manifest,
                 "Declares the tools; without it there are run_command and run_python")
      ->type_name("FILE");
  app.add_flag("--builtins", options.builtins,
               "run_command and run_python, beside a manifest's tools");
  app.add_option("--preload", options.preload,
                 "Import this module before calls of run_python, such as numpy (repeatable)")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  app.add_option("--concurrency", options.sandbox.concurrency,
                 "Calls at once; more wait. Default: twice the cores")
      ->type_name("N");
  app.add_option("--queue", options.sandbox.queue, "Calls that wait; more are refused (1024)")
      ->type_name("N");
  app.add_option("--audit", options.audit,
                 "Audit log, a line of JSON for each event: a file, '-' for stderr, or 'none'. "
                 "Default: brig/audit.jsonl in the state directory")
      ->type_name("FILE");
  app.add_option("--audit-arguments", options.arguments,
                 "What the audit log and the console show of a call's arguments: off, redacted "
                 "(names, types and sizes) or full (off)")
      ->type_name("WHAT");
  app.add_option("--mcp-text", options.mcp_text,
                 "Largest text in an MCP result; the rest becomes a resource (25K)")
      ->type_name("SIZE");
}

void add_serve(CLI::App& app, ServerOptions& options, int& exit_code) {
  CLI::App& serve = *app.add_subcommand("serve", "Serves tools over MCP and HTTP, with a console");
  add_common(serve, options);
  serve
      .add_option("--listen,-l", options.listen,
                  "Listen on ADDRESS:PORT or unix:PATH (127.0.0.1:7070); other addresses than "
                  "loopback need tokens")
      ->type_name("WHERE");
  serve
      .add_option("--token-file", options.token_file,
                  "File with a token, or with [[token]] tables: who may call; see docs/serve.md")
      ->type_name("FILE");
  serve.add_option("--tls-cert", options.certificate, "Certificate and its chain, PEM")
      ->type_name("FILE");
  serve.add_option("--tls-key", options.key, "Its key, PEM")->type_name("FILE");
  serve
      .add_option("--allow-host", options.gate.hosts,
                  "Host name that clients may use, beside localhost and IP addresses (repeatable)")
      ->type_name("NAME");
  serve
      .add_option("--allow-origin", options.gate.origins,
                  "Origin of web pages that may call, beside the console's: https://example.org "
                  "(repeatable)")
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
}

void add_mcp(CLI::App& app, ServerOptions& options, int& exit_code) {
  CLI::App& mcp = *app.add_subcommand("mcp", "Serves tools over MCP on stdin and stdout");
  add_common(mcp, options);
  add_policy_options(mcp, options.policy);
  mcp.footer(
      "Without a manifest there are run_command and run_python, and --policy, --read, --write, "
      "--net,\n"
      "--memory and --timeout say what they may use, as for `brig run`. A manifest has a "
      "[policy].\n"
      "Examples:\n"
      "  brig mcp\n"
      "  brig mcp --read ~/data --timeout 2m --memory 2G\n"
      "  brig mcp --write . --net host\n"
      "  brig mcp --manifest brig.toml\n"
      "  claude mcp add sandbox -- brig mcp --read ~/data");
  mcp.callback([&] { exit_code = run_mcp(options); });
}

}  // namespace
}  // namespace brig::cli

int main(int argc, char** argv) {
  using namespace brig::cli;
  CLI::App app("The server of brig.", "brig");
  app.set_version_flag("--version,-V", "brig " BRIG_VERSION);
  app.require_subcommand(1);
  set_words(app);
  ServerOptions options;
  int exit_code = 0;
  add_serve(app, options, exit_code);
  add_mcp(app, options, exit_code);
  try {
    refuse_raised_rights();
    refuse_empty_values(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    complain(wrong_words(app, argc, argv, error.what()));
    return kOwnFailure;
  } catch (const std::exception& error) {
    complain_lines(error.what());
    return kOwnFailure;
  }
  return exit_code;
}
