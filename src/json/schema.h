// Schema: a JSON Schema (2020-12), compiled once when a tool is registered, then used to check the
// arguments of every call. Nothing is fetched, nothing recurses without end, and whatever it does not
// know is refused when it is compiled: an ignored keyword would be a check that never happens.
//
// Known: type enum const; properties required additionalProperties patternProperties propertyNames
// minProperties maxProperties dependentRequired dependentSchemas; items prefixItems contains minContains
// maxContains minItems maxItems uniqueItems; minLength maxLength pattern; minimum maximum
// exclusiveMinimum exclusiveMaximum multipleOf; allOf anyOf oneOf not if then else; $ref within the
// document ("#", "#/$defs/name"), $defs and its old name definitions. Read and kept, but not a check: $schema $id $comment title
// description default examples deprecated readOnly writeOnly format contentEncoding contentMediaType.
// `pattern` is RE2's syntax: that of ECMA-262 without look-around and back-references, in linear time.
#pragma once

#include <brig/error.h>
#include <brig/json.h>

#include <memory>
#include <string>
#include <vector>

namespace brig {

// What is wrong with a value: where (a JSON Pointer, "" for the value itself), and what was expected.
struct SchemaFault {
  std::string path;
  std::string expected;
  bool operator==(const SchemaFault&) const = default;
};

// What is wrong with a schema: where in it (a JSON Pointer), and why.
struct SchemaError : Error {
  SchemaError(std::string pointer_, std::string why_);
  std::string pointer, why;
};

class Schema {
 public:
  static constexpr std::size_t kMaxBytes = 1 << 20;  // of the schema
  static constexpr unsigned kMaxDepth = 64;          // of schema and value, references counted
  static constexpr std::size_t kMaxFaults = 64;      // told
  static constexpr std::size_t kMaxSteps = 2'000'000;

  // Throws Error(config) with the place in the schema and the reason: a SchemaError, unless it is too large.
  explicit Schema(const Json& document);
  ~Schema();
  Schema(Schema&&) noexcept;
  Schema& operator=(Schema&&) noexcept;

  // All that is wrong with `value`, in its own order; empty if it is valid. A value that would take too
  // long to check is not valid.
  std::vector<SchemaFault> check(const Json& value) const;

  // Turns strings into what they plainly stand for, where the schema does not take a string: "8" and
  // "8.0" into an integer, "2.5" into a number, "true", "1", "yes" and "false", "0", "no", "" into a
  // boolean. All others stay, for check() to complain about.
  void coerce(Json& value) const;

 private:
  struct Node;
  class Compiler;
  class Checker;
  std::vector<std::unique_ptr<Node>> nodes_;  // the first is the root's
};

}  // namespace brig
