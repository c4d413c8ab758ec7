// `brig presets`: what each preset adds to a policy, and what of it is on this machine.
#include <brig/json.h>
#include <brig/preset.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "policy/presets.h"

namespace brig::cli {
namespace {

// What it lets a cell read on this machine.
std::vector<std::string> found_here(const Preset& preset) {
  Policy policy;
  policy.preset = {preset.name};
  return with_presets(policy).files.read;
}

Json json_of(const Preset& preset) {
  return {{"name", preset.name},        {"what", preset.what},
          {"read", preset.read},        {"caches", preset.caches},
          {"here", found_here(preset)}, {"passthrough", preset.passthrough},
          {"set", preset.set},          {"offline", preset.offline},
          {"shared", preset.shared},    {"limits", preset.limits}};
}

void put_words(const char* title, const std::vector<std::string>& words) {
  if (!words.empty()) put(fmt::format("  {:<12} {}\n", title, fmt::join(words, " ")));
}

std::vector<std::string> words_of(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> words;
  words.reserve(variables.size());
  for (const auto& [name, value] : variables) words.push_back(name + "=" + value);
  return words;
}

void put_preset(const Preset& preset) {
  put(fmt::format("{}  {}\n", styled(preset.name, Style::bold, 1), preset.what));
  put_words("reads", preset.read);
  put_words("caches", preset.caches);
  put_words("found here", found_here(preset));
  put_words("passes on", preset.passthrough);
  put_words("sets", words_of(preset.set));
  put_words("offline", words_of(preset.offline));
  put_words(":shared", words_of(preset.shared));
  put_words("try with", preset.limits.empty() ? std::vector<std::string>{}
                                              : std::vector<std::string>{preset.limits});
}

int show_presets(const std::vector<std::string>& names, bool json) {
  for (const std::string& name : names)
    if (const auto fault = preset_fault(name))
      throw_error(ErrorKind::config, "presets: {}: {}", in_quotes(name), *fault);
  const auto wanted = [&](const Preset& preset) {
    return names.empty() || std::find(names.begin(), names.end(), preset.name) != names.end();
  };
  Json list = Json::array();
  for (const Preset& preset : presets()) {
    if (!wanted(preset)) continue;
    if (json)
      list.push_back(json_of(preset));
    else
      put_preset(preset);
  }
  if (json) put(list.dump(isatty(1) ? 2 : -1, ' ', false, Json::error_handler_t::replace) + "\n");
  return 0;
}

}  // namespace

void add_presets(CLI::App& app, int& exit_code) {
  struct Options {
    std::vector<std::string> names;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("presets", "Lists presets: what toolchains need in a cell, by name.");
  command->add_option("NAME", options->names, "Show only these presets");
  command->add_flag("--json", options->json, "As JSON");
  command->footer(
      "A preset lets the cell read files of yours, if they exist, and sets variables; those of\n"
      "`offline` are set unless the network is host. NAME:shared keeps a cache ({cache}) that\n"
      "every cell with this preset can write.\n"
      "Examples:\n"
      "  brig presets\n"
      "  brig presets rust --json\n"
      "  brig run --preset node --write . --cwd . -- npm ci");
  command->callback(
      [options, &exit_code] { exit_code = show_presets(options->names, options->json); });
}

}  // namespace brig::cli
