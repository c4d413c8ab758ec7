#include "mcp/mcp_tool.h"

#include <brig/preset.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "policy/listed_path.h"
#include "service/builtin.h"
#include "tool/tool_formats.h"

namespace brig::serve {
namespace {

// The older era does not allow true and false as schemas.
void no_booleans(Json& schema) {
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return;
  for (Json& each : *properties)
    if (each.is_boolean()) each = each.get<bool>() ? Json::object() : Json{{"not", Json::object()}};
}

Json wrapped_schema(Json schema) {
  Json whole{{"type", "object"}, {"required", {"result"}}};
  // Definitions that it refers to by "#/$defs/..." must be at the top.
  for (const char* key : {"$defs", "definitions", "$schema"})
    if (const auto found = schema.is_object() ? schema.find(key) : schema.end();
        schema.is_object() && found != schema.end()) {
      whole[key] = std::move(*found);
      schema.erase(key);
    }
  whole["properties"]["result"] = std::move(schema);
  return whole;
}

// What a cell under that policy can reach outside. (The floor `process` restricts no files.)
bool can_write(const Policy& policy) {
  const Files files = with_presets(policy).files;
  return !files.write.empty() || !files.write_optional.empty() ||
         policy.isolation == Isolation::process;
}
bool can_connect(const Policy& policy) {
  return policy.network == Network::host || policy.network.mode == Network::proxy;
}

// `own`: the tool's own hints. A built-in tool does whatever its caller says, so it has MCP's
// defaults.
Json hints_of(const ToolAnnotations& own, const Policy& policy) {
  const bool changes = can_write(policy) || can_connect(policy);
  return {{"readOnlyHint", own.read_only || !changes},
          {"destructiveHint", own.destructive && changes},
          {"idempotentHint", own.idempotent || !changes},
          {"openWorldHint", own.open_world && can_connect(policy)}};
}

constexpr std::size_t kMostPaths = 3;

// The paths as the tool finds them: at their places in the cell.
std::string paths_of(const std::vector<std::string>& listed,
                     const std::vector<std::string>& optional) {
  std::vector<std::string> paths;
  paths.reserve(listed.size() + optional.size());
  for (const std::string& each : listed) paths.push_back(in_quotes(listed_path(each).at));
  for (const std::string& each : optional)
    paths.push_back(in_quotes(listed_path(each).at) + " if it exists");
  std::string text;
  for (std::size_t i = 0; i < std::min(paths.size(), kMostPaths); ++i)
    text += (i ? ", " : "") + paths[i];
  if (paths.size() > kMostPaths) text += fmt::format(" and {} more", paths.size() - kMostPaths);
  return text;
}

std::string builtin_description(const std::string& name) {
  return name == kRunCommand
             ? "Runs a command in a fresh, isolated cell. Give either argv (a list of words) or "
               "command (a line for /bin/sh). Files that it leaves in its workspace come back as "
               "resources, images as images."
             : "Runs Python code in a fresh, isolated interpreter. Returns what was printed and "
               "displayed, and the value of the last expression. Files that it leaves in its "
               "workspace come back as resources, images as images.";
}

}  // namespace

bool is_object_schema(const Json& schema) {
  return schema.is_object() && schema.value("type", Json()) == "object";
}

std::string hosts_of(const Network& network) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < network.allow.size() && i < kMost; ++i)
    text += (i ? ", " : "") + network.allow[i];
  if (network.allow.size() > kMost)
    text += fmt::format(" and {} more", network.allow.size() - kMost);
  return text;
}

std::string limits_sentence(const Policy& policy) {
  std::string text =
      fmt::format("Limits: {}, {} of memory, ", format_duration(policy.limits.timeout),
                  format_size(policy.limits.memory));
  switch (policy.network.mode) {
    case Network::none: text += "no network"; break;
    case Network::loopback: text += "no network but the cell's own loopback"; break;
    case Network::proxy: text += "of the network only " + hosts_of(policy.network); break;
    case Network::host: text += "the host's network"; break;
  }
  if (policy.isolation == Isolation::process) return text + "; files are not restricted.";
  const Files files = with_presets(policy).files;
  if (!files.read.empty() || !files.read_optional.empty())
    text += "; may read " + paths_of(files.read, files.read_optional);
  text += files.write.empty() && files.write_optional.empty()
              ? "; can write nothing that lasts"
              : "; may change " + paths_of(files.write, files.write_optional);
  return text + ".";
}

Json mcp_tool(const Tool& tool, const Policy& policy, bool modern, bool builtin) {
  Json form = tool_as_mcp(tool);
  const std::string what = builtin                    ? builtin_description(tool.name)
                           : tool.description.empty() ? fmt::format("The tool {}.", tool.name)
                                                      : tool.description;
  // A model that knows the limits does not try what can't work. The author's text may be long, or
  // end without a period.
  form["description"] = what + (builtin ? " " : "\n") + limits_sentence(policy);
  form["annotations"] = hints_of(builtin ? ToolAnnotations{} : tool.options.annotations, policy);
  if (modern) return form;
  no_booleans(form["inputSchema"]);
  if (auto output = form.find("outputSchema"); output != form.end()) {
    if (!is_object_schema(*output)) *output = wrapped_schema(std::move(*output));
    no_booleans(*output);
  }
  return form;
}

}  // namespace brig::serve
