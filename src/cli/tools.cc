// `brig tools`: what a manifest declares, for people and for programs.
#include "tool/tool_formats.h"

#include <brig/brig.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/text.h"
#include "cli/cli.h"
#include "tool/manifest_here.h"

namespace brig::cli {
namespace {

using Tools = std::vector<std::shared_ptr<const Tool>>;

struct ToolsOptions {
  std::string manifest, query, format = "table";
};

// "who [times]": optional parameters are in brackets.
std::string parameters_of(const Tool& tool) {
  const Json required = tool.input_schema.value("required", Json::array());
  const Json properties = tool.input_schema.value("properties", Json::object());
  std::string first, rest;
  for (const auto& [name, ignored] : properties.items()) {
    const bool needed = std::find(required.begin(), required.end(), name) != required.end();
    std::string& text = needed ? first : rest;
    text += needed ? printable(name) + " " : "[" + printable(name) + "] ";
  }
  first += rest;
  if (!first.empty()) first.pop_back();
  return first;
}

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, width_of(text)), ' ');
}

void print_table(const Tools& tools) {
  struct Row {
    std::string name, parameters, description;
  };
  std::vector<Row> rows{{"NAME", "PARAMETERS", "DESCRIPTION"}};
  for (const auto& tool : tools)
    rows.push_back({tool->name, parameters_of(*tool),
                    printable(tool->description.substr(0, tool->description.find('\n')))});
  std::size_t names = 0, parameters = 0;
  for (const Row& row : rows) {
    names = std::max(names, width_of(row.name));
    parameters = std::max(parameters, width_of(row.parameters));
  }
  for (const Row& row : rows) {
    const bool head = &row == &rows.front();
    std::string line = styled(padded(row.name, names), head ? Style::dim : Style::bold, 1) + "  " +
                       styled(padded(row.parameters, parameters), Style::dim, 1) + "  " +
                       (head ? styled(row.description, Style::dim, 1) : row.description);
    line.erase(line.find_last_not_of(' ') + 1);
    put(line + "\n");
  }
}

int list(const ToolsOptions& options) {
  const Manifest manifest = manifest_of(options.manifest);
  Tools tools = manifest.tools.list(options.query);
  // Shells ask for this at every TAB: no user has agreed yet that code may run.
  if (options.format == "names") {
    for (const auto& tool : tools) put(tool->name + "\n");
    return 0;
  }
  if (has_loaded(manifest)) {
    // The tools of a library or a module are known once it is loaded, in the jail.
    const Sandbox box(loaded_of(manifest), manifest.policy, {.concurrency = 1, .ready_max = 1});
    for (const auto& tool : box.list_tools(options.query)) tools.push_back(tool);
    std::sort(tools.begin(), tools.end(),
              [](const auto& a, const auto& b) { return a->name < b->name; });
  }
  if (options.format == "table") {
    if (tools.empty())
      complain(options.query.empty()
                   ? fmt::format("{} declares no tools",
                                 options.manifest.empty() ? kManifestName : options.manifest)
                   : fmt::format("no tool has '{}' in its name or description", options.query));
    else
      print_table(tools);
  } else {
    Json all = Json::array();
    for (const auto& tool : tools)
      all.push_back(options.format == "json"     ? tool_as_json(*tool)
                    : options.format == "openai" ? tool_as_chat_completions(*tool)
                    : options.format == "mcp"    ? tool_as_mcp(*tool)
                                                 : tool_as_responses(*tool));
    if (options.format == "mcp") all = {{"tools", std::move(all)}};
    put((isatty(1) ? printable_json(all.dump(2)) : all.dump()) + "\n");
  }
  return 0;
}

}  // namespace

Manifest manifest_of(const std::string& path) {
  return path.empty() ? manifest_found_here() : manifest_from_toml_file(path);
}

bool has_loaded(const Manifest& manifest) {
  return !manifest.tools.libraries().empty() || !manifest.tools.python_modules().empty();
}

Toolbox loaded_of(const Manifest& manifest) {
  Toolbox tools;
  for (const Toolbox::Library& library : manifest.tools.libraries())
    tools.add_library(library.path, library.policy);
  for (const Toolbox::PythonModules& modules : manifest.tools.python_modules())
    tools.add_python(modules.python, modules.policy);
  return tools;
}

void add_tools(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ToolsOptions>();
  CLI::App* tools = app.add_subcommand("tools", "Lists the tools that a manifest declares.");
  tools->add_option("--manifest", options->manifest, "Manifest [brig.toml]")->type_name("FILE");
  tools
      ->add_option("--query", options->query,
                   "List only tools with TEXT in their name or description")
      ->type_name("TEXT");
  tools
      ->add_option(
          "--format", options->format,
          "table, json, openai (Chat Completions), openai-responses, mcp, or names (of the "
          "manifest's own tools; loads no library or module) [table]")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json", "openai", "openai-responses", "mcp", "names"}));
  tools->footer(
      "Examples:\n"
      "  brig tools\n"
      "  brig tools --manifest tools/brig.toml --query file\n"
      "  brig tools --format openai   # as the \"tools\" of a request to a model\n"
      "Exit code 0, or 125 if the manifest has errors: each is printed with its line.");
  tools->callback([options, &exit_code] { exit_code = list(*options); });
}

}  // namespace brig::cli
