// Compiles the text of a schema into nodes, and refuses everything that it does not understand.
#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/text.h"
#include "json/schema_node.h"

namespace brig {

SchemaError::SchemaError(std::string pointer_, std::string why_)
    : Error(ErrorKind::config,
            fmt::format("schema: {}: {}", pointer_.empty() ? "/" : in_quotes(pointer_), why_)),
      pointer(std::move(pointer_)),
      why(std::move(why_)) {}

class Schema::Compiler {
 public:
  Compiler(const Json& document, std::vector<std::unique_ptr<Node>>& nodes)
      : document_(document), nodes_(nodes) {}

  void compile() {
    node_at("", 0);
    // A reference to a place that is compiled later.
    while (!pending_.empty()) {
      const auto [node, pointer] = pending_.back();
      pending_.pop_back();
      node->reference = node_at(pointer, 0);
    }
    for (const Named& each : named_) {
      const auto found = anchors_.find(each.name);
      if (found == anchors_.end())
        refuse(each.pointer, fmt::format("no schema has the $anchor {}", in_quotes(each.name)));
      each.node->reference = node_at(found->second, 0);
    }
    refuse_endless_references();
  }

 private:
  [[noreturn]] void refuse(const std::string& pointer, const std::string& why) const {
    throw SchemaError(pointer, why);
  }

  // Returns the node of the sub-schema at `pointer`: one node each, however many references there
  // are.
  Node* node_at(const std::string& pointer, unsigned depth) {
    if (const auto known = known_.find(pointer); known != known_.end()) return known->second;
    if (depth > kMaxDepth) refuse(pointer, fmt::format("nested deeper than {}", kMaxDepth));
    const Json* schema = nullptr;
    try {
      schema = &document_.at(Json::json_pointer(pointer));
    } catch (const Json::exception&) {
      refuse(pointer, "a $ref points here, but there is no schema here");
    }
    nodes_.push_back(std::make_unique<Node>());
    Node* node = nodes_.back().get();
    known_[pointer] = node;
    if (schema->is_boolean())
      node->always = schema->get<bool>();
    else if (schema->is_object())
      for (const auto& [key, value] : schema->items()) keyword(*node, pointer, key, value, depth);
    else
      refuse(pointer, "a schema must be an object, true or false");
    return node;
  }

  std::size_t count(const std::string& pointer, const Json& value) const {
    if (!is_integral(value) || value < 0) refuse(pointer, "must be a whole number, not negative");
    if (!value.is_number_float()) return value.get<std::size_t>();
    // 3.0, or more than any value can have.
    const double number = value.get<double>();
    return number < 0x1p63 ? static_cast<std::size_t>(number) : SIZE_MAX;
  }

  Json number(const std::string& pointer, const Json& value) const {
    if (!value.is_number()) refuse(pointer, "must be a number");
    return value;
  }

  std::vector<std::string> names(const std::string& pointer, const Json& value) const {
    if (!value.is_array()) refuse(pointer, "must be an array of strings");
    std::vector<std::string> result;
    for (const Json& each : value) {
      if (!each.is_string()) refuse(pointer, "must be an array of strings");
      result.push_back(each.get<std::string>());
    }
    return result;
  }

  std::unique_ptr<RE2> expression(const std::string& pointer, const Json& value) const {
    if (!value.is_string()) refuse(pointer, "must be a string");
    return expression(pointer, value.get<std::string>());
  }
  std::unique_ptr<RE2> expression(const std::string& pointer, const std::string& text) const {
    RE2::Options options(RE2::Quiet);
    options.set_max_mem(1 << 20);
    auto result = std::make_unique<RE2>(text, options);
    if (!result->ok())
      refuse(pointer, fmt::format("{} is not an expression that RE2 knows: {}", in_quotes(text),
                                  result->error()));
    return result;
  }

  std::vector<Node::Ref> list(const std::string& pointer, const Json& value, unsigned depth) {
    if (!value.is_array() || value.empty()) refuse(pointer, "must be an array of schemas");
    std::vector<Node::Ref> result;
    for (std::size_t i = 0; i < value.size(); ++i)
      result.push_back(node_at(pointer + "/" + std::to_string(i), depth + 1));
    return result;
  }

  const Json& object(const std::string& pointer, const Json& value) const {
    if (!value.is_object()) refuse(pointer, "must be an object");
    return value;
  }

  unsigned type(const std::string& pointer, const Json& value) const {
    static const std::map<std::string, unsigned> known{
        {"null", kNull},     {"boolean", kBoolean}, {"integer", kInteger}, {"number", kNumber},
        {"string", kString}, {"array", kArray},     {"object", kObject}};
    unsigned types = 0;
    for (const Json& each : value.is_array() ? value : Json::array({value})) {
      const auto found = each.is_string() ? known.find(each.get<std::string>()) : known.end();
      if (found == known.end())
        refuse(pointer, fmt::format("{} is not a type", in_quotes(each.dump())));
      types |= found->second;
    }
    if (types == 0) refuse(pointer, "names no type");
    return types;
  }

  void reference(Node& node, const std::string& pointer, const Json& value) {
    const std::string target = value.is_string() ? value.get<std::string>() : "";
    if (target.size() > 1 && target[0] == '#' && target[1] != '/') {
      named_.push_back({&node, pointer, target.substr(1)});
      return;
    }
    if (target != "#" && !target.starts_with("#/"))
      refuse(pointer, fmt::format("{}: only references within the schema are followed (\"#\", "
                                  "\"#/$defs/name\", \"#anchor\"); nothing is fetched",
                                  in_quotes(target)));
    pending_.emplace_back(&node, unescaped(pointer, target.substr(1)));
  }

  void anchor(const std::string& pointer, const Json& value) {
    const std::string at = pointer.substr(0, pointer.rfind('/'));
    if (!value.is_string() || value.get_ref<const std::string&>().empty())
      refuse(pointer, "must be a name");
    if (!anchors_.emplace(value.get<std::string>(), at).second)
      refuse(pointer, "another schema has that $anchor");
  }

  // Decodes %XX, as in a URI.
  std::string unescaped(const std::string& pointer, const std::string& text) const {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        result += text[i];
        continue;
      }
      const std::string digits = text.substr(i + 1, 2);
      char* end = nullptr;
      const long byte = std::strtol(digits.c_str(), &end, 16);
      if (digits.size() != 2 || end != digits.c_str() + 2) refuse(pointer, "a wrong % escape");
      result += static_cast<char>(byte);
      i += 2;
    }
    return result;
  }

  using Keyword = std::function<void(Compiler&, Node&, const std::string& at, const Json& value,
                                     unsigned depth)>;
  static const std::map<std::string, Keyword>& keywords();

  void keyword(Node& node, const std::string& pointer, const std::string& key, const Json& value,
               unsigned depth) {
    static constexpr std::string_view kNotes[] = {
        "$schema",         "$id",        "$comment", "title",     "description", "default",
        "examples",        "deprecated", "readOnly", "writeOnly", "format",      "contentEncoding",
        "contentMediaType"};
    const std::string at = below(pointer, key);
    if (key == "$id" && !pointer.empty())
      refuse(at, "an $id below the root would change what references mean; it is not supported");
    if (std::find(std::begin(kNotes), std::end(kNotes), key) != std::end(kNotes)) return;
    // Notes of other programs, which check nothing.
    if (key.starts_with("x-")) return;
    const auto found = keywords().find(key);
    if (found != keywords().end()) return found->second(*this, node, at, value, depth);
    std::vector<std::string_view> candidates;
    for (const auto& [name, ignored] : keywords()) candidates.push_back(name);
    candidates.insert(candidates.end(), std::begin(kNotes), std::end(kNotes));
    const auto meant = nearest(key, candidates);
    refuse(at, meant ? fmt::format("not a keyword that is supported; did you mean '{}'?", *meant)
                     : "not a keyword that is supported");
  }

  // A chain of references that only leads back to itself describes nothing.
  void refuse_endless_references() const {
    for (const auto& [pointer, node] : known_) {
      const Node* at = node;
      for (std::size_t i = 0; at->reference; at = at->reference)
        if (++i > nodes_.size()) refuse(pointer, "a $ref that leads back to itself");
    }
  }

  const Json& document_;
  std::vector<std::unique_ptr<Node>>& nodes_;
  std::map<std::string, Node*> known_;
  std::vector<std::pair<Node*, std::string>> pending_;
  struct Named {
    Node* node;
    std::string pointer, name;
  };
  std::vector<Named> named_;                    // references by name
  std::map<std::string, std::string> anchors_;  // and where these are
};

// This function is long because it is one table of all keywords.
const std::map<std::string, Schema::Compiler::Keyword>& Schema::Compiler::keywords() {
  using C = Compiler;
  using At = const std::string&;
  using Value = const Json&;
  const Keyword definitions = [](C& c, Node&, At at, Value v, unsigned depth) {
    for (const auto& [name, ignored] : c.object(at, v).items())
      c.node_at(below(at, name), depth + 1);
  };
  static const std::map<std::string, Keyword> table{
      {"$ref", [](C& c, Node& n, At at, Value v, unsigned) { c.reference(n, at, v); }},
      {"$anchor", [](C& c, Node&, At at, Value v, unsigned) { c.anchor(at, v); }},
      // All are compiled, whether they are used or not, so that none hides a mistake.
      {"$defs", definitions},
      {"definitions", definitions},  // its name before 2019-09
      {"type", [](C& c, Node& n, At at, Value v, unsigned) { n.types = c.type(at, v); }},
      {"enum",
       [](C& c, Node& n, At at, Value v, unsigned) {
         if (!v.is_array() || v.empty()) c.refuse(at, "must be an array of values");
         n.values = v.get<std::vector<Json>>();
       }},
      {"const", [](C&, Node& n, At, Value v, unsigned) { n.values = std::vector<Json>{v}; }},
      {"properties",
       [](C& c, Node& n, At at, Value v, unsigned depth) {
         for (const auto& [name, ignored] : c.object(at, v).items())
           n.properties[name] = c.node_at(below(at, name), depth + 1);
       }},
      {"patternProperties",
       [](C& c, Node& n, At at, Value v, unsigned depth) {
         for (const auto& [text, ignored] : c.object(at, v).items())
           n.pattern_properties.emplace_back(c.expression(at, text),
                                             c.node_at(below(at, text), depth + 1));
       }},
      {"additionalProperties",
       [](C& c, Node& n, At at, Value, unsigned depth) {
         n.additional_properties = c.node_at(at, depth + 1);
       }},
      {"propertyNames", [](C& c, Node& n, At at, Value,
                           unsigned depth) { n.property_names = c.node_at(at, depth + 1); }},
      {"required", [](C& c, Node& n, At at, Value v, unsigned) { n.required = c.names(at, v); }},
      {"dependentRequired",
       [](C& c, Node& n, At at, Value v, unsigned) {
         for (const auto& [name, others] : c.object(at, v).items())
           n.dependent_required[name] = c.names(at, others);
       }},
      {"dependentSchemas",
       [](C& c, Node& n, At at, Value v, unsigned depth) {
         for (const auto& [name, ignored] : c.object(at, v).items())
           n.dependent_schemas[name] = c.node_at(below(at, name), depth + 1);
       }},
      {"minProperties",
       [](C& c, Node& n, At at, Value v, unsigned) { n.min_properties = c.count(at, v); }},
      {"maxProperties",
       [](C& c, Node& n, At at, Value v, unsigned) { n.max_properties = c.count(at, v); }},
      {"items",
       [](C& c, Node& n, At at, Value v, unsigned depth) {
         if (v.is_array()) c.refuse(at, "a list of schemas is called prefixItems since 2020-12");
         n.items = c.node_at(at, depth + 1);
       }},
      {"prefixItems", [](C& c, Node& n, At at, Value v,
                         unsigned depth) { n.prefix_items = c.list(at, v, depth); }},
      {"contains",
       [](C& c, Node& n, At at, Value, unsigned depth) { n.contains = c.node_at(at, depth + 1); }},
      {"minContains",
       [](C& c, Node& n, At at, Value v, unsigned) { n.min_contains = c.count(at, v); }},
      {"maxContains",
       [](C& c, Node& n, At at, Value v, unsigned) { n.max_contains = c.count(at, v); }},
      {"minItems", [](C& c, Node& n, At at, Value v, unsigned) { n.min_items = c.count(at, v); }},
      {"maxItems", [](C& c, Node& n, At at, Value v, unsigned) { n.max_items = c.count(at, v); }},
      {"uniqueItems",
       [](C& c, Node& n, At at, Value v, unsigned) {
         if (!v.is_boolean()) c.refuse(at, "must be true or false");
         n.unique_items = v.get<bool>();
       }},
      {"minLength", [](C& c, Node& n, At at, Value v, unsigned) { n.min_length = c.count(at, v); }},
      {"maxLength", [](C& c, Node& n, At at, Value v, unsigned) { n.max_length = c.count(at, v); }},
      {"pattern", [](C& c, Node& n, At at, Value v, unsigned) { n.pattern = c.expression(at, v); }},
      {"minimum", [](C& c, Node& n, At at, Value v, unsigned) { n.minimum = c.number(at, v); }},
      {"maximum", [](C& c, Node& n, At at, Value v, unsigned) { n.maximum = c.number(at, v); }},
      {"exclusiveMinimum",
       [](C& c, Node& n, At at, Value v, unsigned) { n.exclusive_minimum = c.number(at, v); }},
      {"exclusiveMaximum",
       [](C& c, Node& n, At at, Value v, unsigned) { n.exclusive_maximum = c.number(at, v); }},
      {"multipleOf",
       [](C& c, Node& n, At at, Value v, unsigned) {
         n.multiple_of = c.number(at, v);
         if (v <= 0) c.refuse(at, "must be above 0");
       }},
      {"allOf",
       [](C& c, Node& n, At at, Value v, unsigned depth) { n.all_of = c.list(at, v, depth); }},
      {"anyOf",
       [](C& c, Node& n, At at, Value v, unsigned depth) { n.any_of = c.list(at, v, depth); }},
      {"oneOf",
       [](C& c, Node& n, At at, Value v, unsigned depth) { n.one_of = c.list(at, v, depth); }},
      {"not",
       [](C& c, Node& n, At at, Value, unsigned depth) { n.not_ = c.node_at(at, depth + 1); }},
      {"if", [](C& c, Node& n, At at, Value, unsigned depth) { n.if_ = c.node_at(at, depth + 1); }},
      {"then",
       [](C& c, Node& n, At at, Value, unsigned depth) { n.then_ = c.node_at(at, depth + 1); }},
      {"else",
       [](C& c, Node& n, At at, Value, unsigned depth) { n.else_ = c.node_at(at, depth + 1); }},
  };
  return table;
}

Schema::Schema(const Json& document) {
  std::size_t size = 0;
  try {
    size = document.dump().size();
  } catch (const Json::exception&) {
    throw Error(ErrorKind::config, "schema: a string in it is not UTF-8");
  }
  if (size > kMaxBytes)
    throw_error(ErrorKind::config, "schema: {} long, more than {}", format_size(size),
                format_size(kMaxBytes));
  Compiler(document, nodes_).compile();
}

Schema::~Schema() = default;
Schema::Schema(Schema&&) noexcept = default;
Schema& Schema::operator=(Schema&&) noexcept = default;

}  // namespace brig
