// One compiled sub-schema. Private to schema*.cc.
#pragma once

#include <re2/re2.h>

#include <map>
#include <optional>

#include "json/schema.h"

namespace brig {

enum JsonType : unsigned {
  kNull = 1,
  kBoolean = 2,
  kInteger = 4,
  kNumber = 8,  // An integer is a number, too.
  kString = 16,
  kArray = 32,
  kObject = 64,
};

struct Schema::Node {
  using Ref = const Node*;

  // For the schemas `true` and `false`.
  std::optional<bool> always;
  Ref reference = nullptr;
  unsigned types = 0;                       // 0: any type.
  std::optional<std::vector<Json>> values;  // Of enum and const.

  std::map<std::string, Ref> properties;
  std::vector<std::pair<std::unique_ptr<RE2>, Ref>> pattern_properties;
  Ref additional_properties = nullptr, property_names = nullptr;
  std::vector<std::string> required;
  std::map<std::string, std::vector<std::string>> dependent_required;
  std::map<std::string, Ref> dependent_schemas;
  std::optional<std::size_t> min_properties, max_properties;

  std::vector<Ref> prefix_items;
  Ref items = nullptr, contains = nullptr;
  std::optional<std::size_t> min_contains, max_contains, min_items, max_items;
  bool unique_items = false;

  std::optional<std::size_t> min_length, max_length;
  std::unique_ptr<RE2> pattern;

  std::optional<Json> minimum, maximum, exclusive_minimum, exclusive_maximum, multiple_of;

  std::vector<Ref> all_of, any_of, one_of;
  Ref not_ = nullptr, if_ = nullptr, then_ = nullptr, else_ = nullptr;
};

// "integer" as "an integer", for messages.
const char* json_type_name(unsigned type);
// The types of a value. An integer is also a number, and 1.0 is also an integer.
unsigned json_types_of(const Json& value);
bool is_integral(const Json& value);
// The JSON Pointer of the member `key` of the value at `pointer`.
std::string below(const std::string& pointer, const std::string& key);

}  // namespace brig
