// Schema: a JSON Schema (2020-12), compiled once when a tool is registered and then used to check
// the arguments of every call. It fetches nothing and does not recurse without end. It refuses a
// schema with a keyword that it does not know: an ignored keyword would be a check that never
// happens.
//
// Checked: type enum const; properties required additionalProperties patternProperties
// propertyNames minProperties maxProperties dependentRequired dependentSchemas; items prefixItems
// contains minContains maxContains minItems maxItems uniqueItems; minLength maxLength pattern;
// minimum maximum exclusiveMinimum exclusiveMaximum multipleOf; allOf anyOf oneOf not if then else;
// $ref within the document ("#", "#/$defs/name"), $defs and its old name definitions.
// Kept, but not checked: $schema $id $comment title description default examples deprecated
// readOnly writeOnly format contentEncoding contentMediaType.
// `pattern` has RE2's syntax: that of ECMA-262 without look-around and back-references, in linear
// time.
#pragma once

#include <brig/error.h>
#include <brig/json.h>

#include <memory>
#include <string>
#include <vector>

namespace brig {

// What is wrong with a value: where (a JSON Pointer, "" for the value itself), and what the schema
// expected there.
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
  static constexpr std::size_t kMaxBytes = 1 << 20;  // Of the schema's text.
  static constexpr unsigned kMaxDepth = 64;          // Of schema and value; references count.
  static constexpr std::size_t kMaxFaults = 64;      // More faults are not reported.
  static constexpr std::size_t kMaxSteps = 2'000'000;

  // Throws Error(config) with the place in the schema and the reason: a SchemaError, or a plain
  // Error if the schema is too large.
  explicit Schema(const Json& document);
  ~Schema();
  Schema(Schema&&) noexcept;
  Schema& operator=(Schema&&) noexcept;

  // Returns every fault of `value`, in the value's own order. Empty: the value is valid. A value
  // that would take too long to check is not valid.
  std::vector<SchemaFault> check(const Json& value) const;

  // Turns strings into what they plainly stand for, where the schema does not accept a string: "8"
  // and "8.0" into an integer, "2.5" into a number, "true", "1", "yes" and "false", "0", "no", ""
  // into a boolean. All other values stay as they are; check() then finds their faults.
  void coerce(Json& value) const;

 private:
  struct Node;
  class Compiler;
  class Checker;
  // The first node is the root.
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace brig
