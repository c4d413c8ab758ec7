#include "c_api/c_config.h"

#include <brig/manifest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "json/json_line.h"
#include "json/json_text.h"
#include "policy/policy_toml.h"
#include "tool/python.h"
#include "tool/tool_formats.h"

namespace brig {
namespace {

[[noreturn]] void wrong(const std::string& what, const char* expected) {
  throw_error(ErrorKind::config, "{}: expected {}", what, expected);
}

const Json* member(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found == json.end() || found->is_null() ? nullptr : &*found;
}

std::string string_of(const Json& json, const char* name) {
  const Json* found = member(json, name);
  if (!found) return "";
  if (!found->is_string()) wrong(name, "a string");
  return found->get<std::string>();
}

bool flag_of(const Json& json, const char* name, bool otherwise) {
  const Json* found = member(json, name);
  if (!found) return otherwise;
  if (!found->is_boolean()) wrong(name, "true or false");
  return found->get<bool>();
}

void read_number(const Json& json, const char* name, unsigned& target) {
  const Json* found = member(json, name);
  if (!found) return;
  if (!found->is_number_unsigned() || *found > std::numeric_limits<unsigned>::max())
    wrong(name, "a whole number, 0 or more");
  target = found->get<unsigned>();
}

std::vector<std::string> strings_of(const Json& json, const char* name) {
  std::vector<std::string> result;
  const Json* found = member(json, name);
  if (!found) return result;
  if (!found->is_array()) wrong(name, "an array of strings");
  for (const Json& each : *found) {
    if (!each.is_string()) wrong(name, "an array of strings");
    result.push_back(each.get<std::string>());
  }
  return result;
}

const Json& list_of(const Json& json, const char* name) {
  static const Json kNone = Json::array();
  const Json* found = member(json, name);
  if (found && !found->is_array()) wrong(name, "an array");
  if (found)
    for (const Json& each : *found)
      if (!each.is_object()) wrong(name, "an array of objects");
  return found ? *found : kNone;
}

// One reader of policies, and the same words for what is wrong with them. There are no lines to
// tell.
ConfigNode node_of(const Json& json);

ConfigTable table_of(const Json& json) {
  ConfigTable table;
  for (const auto& [key, each] : json.items())
    if (!each.is_null())  // as if it were not there
      table.members.push_back({key, 0, node_of(each)});
  std::sort(table.members.begin(), table.members.end(),
            [](const ConfigMember& a, const ConfigMember& b) { return a.key < b.key; });
  return table;
}

ConfigNode node_of(const Json& json) {
  switch (json.type()) {
    case Json::value_t::string: return {json.get<std::string>()};
    case Json::value_t::boolean: return {json.get<bool>()};
    case Json::value_t::number_integer: return {json.get<std::int64_t>()};
    case Json::value_t::number_unsigned:
      if (json > std::numeric_limits<std::int64_t>::max()) return {json.get<double>()};
      return {json.get<std::int64_t>()};
    case Json::value_t::number_float: return {json.get<double>()};
    case Json::value_t::object: return {table_of(json)};
    default: break;
  }
  ConfigArray array;
  for (const Json& each : json)
    if (!each.is_null()) array.push_back(node_of(each));
  return {std::move(array)};
}

Tool tool_of(const Json& json, const Policy& policy,
             const std::shared_ptr<const PythonRuntime>& python) {
  Tool tool;
  tool.name = string_of(json, "name");
  tool.description = string_of(json, "description");
  tool.input_schema = json.value("input_schema", Json{{"type", "object"}});
  if (const Json* schema = member(json, "output_schema")) tool.output_schema = *schema;
  if (const Json* given = member(json, "annotations"); given && !given->is_object())
    wrong("annotations", "an object");
  tool.options.annotations = read_annotations(json, flag_of);
  tool.options.coerce = flag_of(json, "coerce", tool.options.coerce);
  if (const Json* given = member(json, "policy")) tool.options.policy = policy_of(*given, policy);
  tool.argv = strings_of(json, "argv");
  if (tool.argv.empty()) tool.python = python;
  return tool;
}

std::optional<Policy> own_policy(const Json& json, const Policy& base) {
  const Json* given = member(json, "policy");
  return given ? std::optional(policy_of(*given, base)) : std::nullopt;
}

}  // namespace

Json json_of(const char* text, std::size_t size, std::span<const brig_c_blob> blobs) {
  std::string fault;
  std::size_t next = 0;
  GapFiller filler;
  if (!blobs.empty())
    filler = [&](std::string& string, std::size_t expected) {
      if (next == blobs.size() || blobs[next].size != expected) return false;
      const brig_c_blob& blob = blobs[next++];
      const std::string_view bytes(blob.bytes, blob.size);
      string += blob.base64 ? base64(bytes) : bytes;
      return true;
    };
  std::optional<Json> json = json_from({text, size}, fault, filler);
  if (!json) throw Error(ErrorKind::config, json_refusal("not JSON: ", fault));
  if (!json->is_object()) throw Error(ErrorKind::config, "expected a JSON object");
  return std::move(*json);
}

Policy policy_of(const Json& json, const Policy& base) {
  if (!json.is_object()) wrong("policy", "an object");
  TomlFaults faults("policy");
  const PolicyPlace place{{"", ""}, 0, true};
  const ConfigTable table = table_of(json);
  Policy policy = read_policy(table, place, base, faults);
  faults.throw_if_any();
  return policy;
}

Config config_of(const Json& json) {
  Config config;
  if (member(json, "manifest")) {
    Manifest manifest = manifest_from_toml_file(string_of(json, "manifest"));
    config.policy = std::move(manifest.policy);
    config.tools = std::move(manifest.tools);
  }
  if (const Json* given = member(json, "policy")) config.policy = policy_of(*given, config.policy);
  if (const Json* given = member(json, "options")) {
    if (!given->is_object()) wrong("options", "an object");
    read_number(*given, "concurrency", config.options.concurrency);
    read_number(*given, "queue", config.options.queue);
    read_number(*given, "ready_min", config.options.ready_min);
    read_number(*given, "ready_max", config.options.ready_max);
  }
  std::shared_ptr<const PythonRuntime> python;
  if (const Json* given = member(json, "python")) {
    if (!given->is_object()) wrong("python", "an object");
    const std::string interpreter = string_of(*given, "interpreter");
    python = python_runtime("python " + in_quotes(interpreter), interpreter,
                            strings_of(*given, "read"), given->value("spec", Json::object()));
  }
  for (const Json& each : list_of(json, "tools"))
    config.tools.add(tool_of(each, config.policy, python));
  for (const Json& each : list_of(json, "modules"))
    config.tools.add_python(
        {string_of(each, "interpreter"), strings_of(each, "modules"), strings_of(each, "path")},
        own_policy(each, config.policy));
  for (const Json& each : list_of(json, "libraries"))
    config.tools.add_library(string_of(each, "path"), own_policy(each, config.policy));
  return config;
}

char* text_for_c(std::string_view text, std::size_t* size) noexcept {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (!copy) return nullptr;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  if (size) *size = text.size();
  return copy;
}

void tell_error(char** error, const char* kind, const char* message) noexcept {
  if (!error) return;
  *error = nullptr;
  try {
    const Json json{{"kind", kind}, {"message", message}};
    *error = text_for_c(json_line(json));
  } catch (const std::exception&) {
    // There is no memory for the message. A caller that finds none still sees the failure.
  }
}

}  // namespace brig
