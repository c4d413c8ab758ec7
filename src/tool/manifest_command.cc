#include "tool/manifest_command.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "json/schema.h"
#include "json/schema_node.h"
#include "policy/policy_toml.h"
#include "tool/command_template.h"
#include "tool/toml_json.h"
#include "tool/tool_name.h"

namespace brig {
namespace {

constexpr std::array<std::string_view, 12> kKeys = {
    "name",   "description", "argv",        "parameters", "input_schema", "output_schema",
    "policy", "read_only",   "destructive", "idempotent", "open_world",   "coerce"};
constexpr std::size_t kMaxParameters = 100, kMaxWords = 1000;

class CommandReader {
 public:
  CommandReader(std::size_t line, const Policy& base, TomlFaults& faults)
      : line_(line), base_(base), reader_(faults) {}

  std::optional<Tool> read(const ConfigTable& table, std::size_t ordinal) {
    const std::size_t before = reader_.faults().count();
    const std::string* name = table.string("name");
    title_ = name != nullptr ? "command " + in_quotes(*name) + ": "
                             : fmt::format("command {}: ", ordinal);
    tool_.input_schema = {{"type", "object"},
                          {"properties", Json::object()},
                          {"required", Json::array()},
                          {"additionalProperties", false}};
    for (const TomlEntry& entry : reader_.entries(table, {"command", title_}, kKeys)) read(entry);
    for (const char* key : {"name", "argv"})
      if (!table.contains(key))
        reader_.faults().add(line_, fmt::format("{}has no {}", title_, key));
    if (argv_) check_words();
    if (reader_.faults().count() > before) return std::nullopt;
    return std::move(tool_);
  }

 private:
  void read(const TomlEntry& entry) {
    const auto flag = [&](const char* key, bool& target) {
      if (entry.key == key) target = reader_.boolean(entry).value_or(target);
    };
    flag("read_only", tool_.options.annotations.read_only);
    flag("destructive", tool_.options.annotations.destructive);
    flag("idempotent", tool_.options.annotations.idempotent);
    flag("open_world", tool_.options.annotations.open_world);
    flag("coerce", tool_.options.coerce);
    if (entry.key == "name") {
      tool_.name = reader_.string(entry, "a string").value_or("");
      if (entry.node->as_string() && !is_tool_name(tool_.name)) reader_.fault(entry, kToolNameRule);
    }
    if (entry.key == "description")
      tool_.description = reader_.string(entry, "a string").value_or("");
    if (entry.key == "argv") read_words(entry);
    if (entry.key == "parameters") read_parameters(entry);
    if (entry.key == "input_schema") read_input_schema(entry);
    if (entry.key == "output_schema") read_output_schema(entry);
    if (entry.key == "policy") {
      if (const auto* given = reader_.table(entry, "a table such as { timeout = \"2s\" }"))
        tool_.options.policy =
            read_policy(*given, {{"command.policy", title_ + "policy."}, entry.line, true}, base_,
                        reader_.faults());
    }
  }

  void read_words(const TomlEntry& entry) {
    const auto words =
        reader_.strings(entry, "an array of words such as [\"echo\", \"hello {who}\"]");
    if (!words) return;
    if (words->empty()) return reader_.fault(entry, "it has no program");
    if (words->size() > kMaxWords)
      return reader_.fault(entry, fmt::format("more than {} words", kMaxWords));
    tool_.argv = *words;
    argv_ = entry;
  }

  // Checks each word on its own, so that each fault has its line. The program is looked for when it
  // is called.
  void check_words() {
    for (std::size_t i = 0; i < tool_.argv.size(); ++i) {
      try {
        std::vector<std::string> words{tool_.argv[i]};
        if (i > 0) words.insert(words.begin(), "program");
        const CommandTemplate compiled(words, parameters_);
      } catch (const Error& error) {
        const auto& item = (*argv_->node->as_array())[i];
        reader_.faults().add(item.line, title_ + error.what());
      }
    }
  }

  // --- its parameters ---

  bool is_second_schema(const TomlEntry& entry) {
    if (schema_entry_)
      reader_.fault(entry, fmt::format("it means the same as {}; keep one", schema_entry_->key));
    else
      schema_entry_ = entry;
    return schema_entry_->node != entry.node;
  }

  void read_parameters(const TomlEntry& entry) {
    const auto* table = reader_.table(entry, "a table with a JSON Schema for each");
    if (table == nullptr || is_second_schema(entry)) return;
    if (table->members.size() > kMaxParameters)
      return reader_.fault(entry,
                           fmt::format("more than {}; a model could not use them", kMaxParameters));
    for (const TomlEntry& each : reader_.entries(*table, {"", entry.shown + "."}, {})) {
      parameters_.insert(std::string(each.key));
      read_parameter(each);
    }
    compile(entry, tool_.input_schema, "/properties");
    check_defaults(entry, "/properties");
  }

  void read_parameter(const TomlEntry& entry) {
    if (entry.key.empty()) return reader_.fault(entry, "has no name");
    const auto* table = reader_.table(entry, "a JSON Schema such as { type = \"string\" }");
    if (table == nullptr) return;
    std::optional<Json> schema = json_from_toml(reader_, entry);
    if (!schema) return;
    bool required = !schema->contains("default");
    if (const ConfigMember* found = table->find("optional")) {
      const TomlEntry optional{"optional", entry.shown + ".optional", &found->node, found->line};
      const bool value = reader_.boolean(optional).value_or(false);
      if (!value && !required && found->node.as_boolean())
        reader_.fault(optional, "a parameter with a default is optional");
      required = required && !value;
      schema->erase("optional");
    }
    const std::string name(entry.key);
    if (required) tool_.input_schema["required"].push_back(name);
    tool_.input_schema["properties"][name] = std::move(*schema);
  }

  void read_input_schema(const TomlEntry& entry) {
    if (reader_.table(entry, "a JSON Schema as a table") == nullptr || is_second_schema(entry))
      return;
    std::optional<Json> schema = json_from_toml(reader_, entry);
    if (!schema) return;
    if (const auto found = schema->find("properties"); found != schema->end() && found->is_object())
      for (const auto& [name, ignored] : found->items()) parameters_.insert(name);
    if (schema->value("type", Json()) != "object")
      reader_.fault(entry, "must have type = \"object\"");
    tool_.input_schema = std::move(*schema);
    compile(entry, tool_.input_schema, "");
    check_defaults(entry, "");
  }

  void read_output_schema(const TomlEntry& entry) {
    if (reader_.table(entry, "a JSON Schema as a table") == nullptr) return;
    std::optional<Json> schema = json_from_toml(reader_, entry);
    if (!schema) return;
    compile(entry, *schema, "");
    const Json type = schema->value("type", Json("string"));
    const bool text = type.is_array() ? std::find(type.begin(), type.end(), "string") != type.end()
                                      : type == "string";
    if (!text) reader_.fault(entry, "a command's output is text: its type must be \"string\"");
    tool_.output_schema = std::move(*schema);
  }

  // Finds all mistakes in a schema: it takes what it has reported out of a copy until the rest is
  // right. `top` is the part of the schema that `entry` holds.
  void compile(const TomlEntry& entry, Json schema, const std::string& top) {
    for (std::size_t i = 0; i < Schema::kMaxFaults; ++i) {
      try {
        const Schema compiled(schema);
        return;
      } catch (const SchemaError& error) {
        tell(entry, error, top);
        if (!without(schema, error.pointer)) return;
      } catch (const Error& error) {
        return reader_.fault(entry, error.what());
      }
    }
  }

  void tell(const TomlEntry& entry, const SchemaError& error, const std::string& top) {
    const bool inside = error.pointer.starts_with(top);
    const std::string pointer = inside ? error.pointer.substr(top.size()) : "";
    const std::vector<std::string> parts = parts_of(pointer);
    std::string shown = entry.shown;
    for (const std::string& part : parts) {
      const std::string quoted = in_quotes(part);
      shown += "." + quoted.substr(1, quoted.size() - 2);
    }
    std::string why = error.why;
    constexpr std::array<std::string_view, 1> kOwn = {"optional"};
    if (!top.empty() && parts.size() == 2 && nearest(parts[1], kOwn))
      why = "did you mean 'optional'?";
    reader_.faults().add(line_of(entry, pointer), shown + ": " + why);
  }

  // False if nothing could be taken out.
  static bool without(Json& schema, const std::string& pointer) {
    const std::size_t slash = pointer.rfind('/');
    if (slash == std::string::npos) return false;
    try {
      Json& around = schema.at(Json::json_pointer(pointer.substr(0, slash)));
      if (around.is_object()) return around.erase(parts_of(pointer).back()) == 1;
      Json& item = schema.at(Json::json_pointer(pointer));
      if (item.is_boolean()) return false;
      // A schema that is never wrong. The other items keep their places.
      item = true;
      return true;
    } catch (const Json::exception&) {
      return false;
    }
  }

  void check_defaults(const TomlEntry& entry, const std::string& top) {
    std::optional<Schema> schema;
    try {
      schema.emplace(tool_.input_schema);
    } catch (const Error&) {
      // Already reported.
      return;
    }
    const auto properties = tool_.input_schema.find("properties");
    if (properties == tool_.input_schema.end()) return;
    for (const auto& [name, each] : properties->items()) {
      if (!each.is_object() || !each.contains("default")) continue;
      const std::string path = below("", name);
      for (const SchemaFault& fault : schema->check(Json{{name, each["default"]}})) {
        if (fault.path != path && !fault.path.starts_with(path + "/")) continue;
        const std::string pointer = below(below("/properties", name), "default").substr(top.size());
        reader_.faults().add(line_of(entry, pointer),
                             fmt::format("{}parameter {}: its default does not fit: expected {}",
                                         title_, in_quotes(name), fault.expected));
        break;
      }
    }
  }

  const std::size_t line_;
  const Policy& base_;
  TomlReader reader_;
  // "command 'greet': ".
  std::string title_;
  Tool tool_;
  std::optional<TomlEntry> argv_, schema_entry_;
  std::set<std::string> parameters_;
};

}  // namespace

std::optional<Tool> read_command(const ConfigTable& table, std::size_t line, std::size_t ordinal,
                                 const Policy& base, TomlFaults& faults) {
  return CommandReader(line, base, faults).read(table, ordinal);
}

}  // namespace brig
