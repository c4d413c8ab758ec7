// `brig doctor`: what this machine offers, and how to get the rest.
#include <brig/capabilities.h>
#include <brig/command.h>
#include <brig/error.h>
#include <brig/policy.h>
#include <brig/report.h>
#include <brig/runner.h>
#include <brig/seed.h>
#include <brig/version.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <memory>

#include "cli/cli.h"

namespace brig::cli {
namespace {

int show(bool json) {
  const Capabilities found = probe();
  if (json) {
    put(to_json(found, isatty(1) ? 2 : -1) + "\n");
    return found.jail ? 0 : 1;
  }
  put(fmt::format("{}\n\n", styled(fmt::format("brig {}, as {}", BRIG_VERSION,
                                               geteuid() == 0 ? "root" : "an ordinary user"),
                                   Style::bold, 1)));
  for (const Layer& layer : found.layers) {
    const Style style = layer.present ? Style::good : layer.required ? Style::bad : Style::dim;
    const char* mark = layer.present ? "yes" : layer.required ? "NO" : "no";
    put(fmt::format("  {}  {:<18} {}\n", styled(fmt::format("{:<3}", mark), style, 1), layer.name,
                    styled(layer.detail, Style::dim, 1)));
    if (!layer.present && !layer.fix.empty()) put(fmt::format("       to get it: {}\n", layer.fix));
  }
  put(fmt::format("\n{}\n", found.jail
                                ? styled("The jail, brig's default, works here.", Style::good, 1)
                                : styled("The jail, brig's default, does not work here: brig "
                                         "refuses to run until the lines marked NO are fixed.",
                                         Style::bad, 1)));
  if (!found.jail && found.landlock)
    put("The weaker floor works: brig run --isolation landlock -- ...\n");
  return found.jail ? 0 : 1;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* doctor =
      app.add_subcommand("doctor", "Shows what this machine can enforce, by trying it.");
  doctor->add_flag("--json", *json, "As JSON");
  doctor->footer(
      "Examples:\n"
      "  brig doctor\n"
      "  brig doctor --json | jq .jail\n"
      "Exit code 0 if the default isolation (jail) works here, else 1.");
  doctor->callback([json, &exit_code] { exit_code = show(*json); });
}

}  // namespace brig::cli
