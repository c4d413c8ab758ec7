// Checking and coercing values with compiled schemas.
#include "json/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "json/schema_node.h"
#include "json/schema_place.h"

namespace brig {

const char* json_type_name(unsigned type) {
  switch (type) {
    case kNull: return "null";
    case kBoolean: return "a boolean";
    case kInteger: return "an integer";
    case kNumber: return "a number";
    case kString: return "a string";
    case kArray: return "an array";
    case kObject: return "an object";
    default: return "nothing known";
  }
}

std::string below(const std::string& pointer, const std::string& key) {
  std::string text = pointer + "/";
  for (const char c : key) text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return text;
}

bool is_integral(const Json& value) {
  if (value.is_number_integer()) return true;
  if (!value.is_number_float()) return false;
  const double number = value.get<double>();
  return std::isfinite(number) && number == std::trunc(number);
}

unsigned json_types_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null: return kNull;
    case Json::value_t::boolean: return kBoolean;
    case Json::value_t::string: return kString;
    case Json::value_t::array: return kArray;
    case Json::value_t::object: return kObject;
    default: break;
  }
  if (value.is_number()) return is_integral(value) ? kNumber | kInteger : kNumber;
  // Binary and discarded values are not JSON.
  return 0;
}

namespace {

std::string names_of(unsigned types) {
  std::string text;
  for (unsigned type = kNull; type <= kObject; type <<= 1)
    if (types & type) text += (text.empty() ? "" : " or ") + std::string(json_type_name(type));
  return text;
}

// The one type to name a value by: an integer is "an integer" and not "a number".
unsigned plain_type(const Json& value) {
  const unsigned types = json_types_of(value);
  return types & kInteger ? kInteger : types;
}

std::size_t code_points(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

bool is_multiple(const Json& value, const Json& of) {
  if (value.is_number_integer() && of.is_number_integer()) {
    if (value.is_number_unsigned() && of.is_number_unsigned())
      return value.get<std::uint64_t>() % of.get<std::uint64_t>() == 0;
    if (of.get<std::int64_t>() != -1)
      return value.get<std::int64_t>() % of.get<std::int64_t>() == 0;
    return true;
  }
  const double quotient = value.get<double>() / of.get<double>();
  // Decimal fractions are not exact in binary: for everyone but a computer, 0.0075 is a multiple of
  // 0.0001.
  return std::isfinite(quotient) &&
         std::abs(quotient - std::round(quotient)) <= 1e-9 * std::max(1.0, std::abs(quotient)) &&
         (std::abs(quotient) < 1e15 || std::fmod(value.get<double>(), of.get<double>()) == 0);
}

// Recurses no deeper than the limit itself.
bool deeper_than(const Json& value, unsigned limit) {
  if (!value.is_structured()) return false;
  if (limit == 0) return true;
  return std::any_of(value.begin(), value.end(),
                     [&](const Json& each) { return deeper_than(each, limit - 1); });
}

std::string listed(const std::vector<Json>& values) {
  std::string text;
  for (const Json& value : values) {
    if (text.size() > 200) return text + ", ...";
    text += (text.empty() ? "" : ", ") +
            value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80);
  }
  return text;
}

}  // namespace

class Schema::Checker {
 public:
  std::vector<SchemaFault> faults;

  // Whether `value` is valid. Unless `quiet`, adds to `faults` what is wrong.
  bool check(const Node& node, const Json& value, const SchemaPlace& path, unsigned depth,
             bool quiet) {
    if (exhausted_) return false;
    if (++steps_ > kMaxSteps || depth > 4 * kMaxDepth) {
      exhausted_ = true;
      faults = {{path.pointer(), "a value that takes less work to check"}};
      return false;
    }
    if (node.always) return *node.always || fault(quiet, path, "nothing: no value is allowed here");
    bool ok = !node.reference || check(*node.reference, value, path, depth + 1, quiet);
    if (node.types && !(json_types_of(value) & node.types))
      // The rest of the schema is about values of another type.
      return fault(
          quiet, path,
          fmt::format("{}, not {}", names_of(node.types), json_type_name(plain_type(value))));
    if (node.values &&
        std::find(node.values->begin(), node.values->end(), value) == node.values->end())
      ok = fault(quiet, path, (node.values->size() == 1 ? "" : "one of ") + listed(*node.values));
    if (value.is_object()) ok &= object(node, value, path, depth, quiet);
    if (value.is_array()) ok &= array(node, value, path, depth, quiet);
    if (value.is_string()) ok &= string(node, value.get_ref<const std::string&>(), path, quiet);
    if (value.is_number()) ok &= number(node, value, path, quiet);
    return combined(node, value, path, depth, quiet) && ok;
  }

 private:
  bool fault(bool quiet, const SchemaPlace& path, std::string expected) {
    if (!quiet && !exhausted_ && faults.size() < kMaxFaults)
      faults.push_back({path.pointer(), std::move(expected)});
    return false;
  }

  bool object(const Node& node, const Json& value, const SchemaPlace& path, unsigned depth,
              bool quiet) {
    bool ok = true;
    for (const std::string& name : node.required)
      if (!value.contains(name))
        ok = fault(quiet, SchemaPlace(path, name), "a value: it is required");
    if (node.min_properties && value.size() < *node.min_properties)
      ok = fault(quiet, path, fmt::format("at least {} members", *node.min_properties));
    if (node.max_properties && value.size() > *node.max_properties)
      ok = fault(quiet, path, fmt::format("at most {} members", *node.max_properties));
    for (const auto& [name, each] : value.items()) {
      const SchemaPlace at(path, name);
      bool named = false;
      if (const auto found = node.properties.find(name); found != node.properties.end()) {
        named = true;
        ok &= check(*found->second, each, at, depth + 1, quiet);
      }
      for (const auto& [expression, schema] : node.pattern_properties) {
        ++steps_;
        if (!RE2::PartialMatch(name, *expression)) continue;
        named = true;
        ok &= check(*schema, each, at, depth + 1, quiet);
      }
      if (!named && node.additional_properties) {
        if (node.additional_properties->always == false)
          ok = fault(quiet, at, unknown_name(node, name));
        else
          ok &= check(*node.additional_properties, each, at, depth + 1, quiet);
      }
      if (node.property_names && !check(*node.property_names, name, at, depth + 1, true))
        ok = fault(quiet, at, "another name: this one is not allowed");
      if (const auto found = node.dependent_required.find(name);
          found != node.dependent_required.end())
        for (const std::string& other : found->second)
          if (!value.contains(other))
            ok = fault(quiet, SchemaPlace(path, other),
                       fmt::format("a value: {} requires it", in_quotes(name)));
      if (const auto found = node.dependent_schemas.find(name);
          found != node.dependent_schemas.end())
        ok &= check(*found->second, value, path, depth + 1, quiet);
    }
    return ok;
  }

  static std::string unknown_name(const Node& node, const std::string& name) {
    std::vector<std::string_view> candidates;
    for (const auto& [known, ignored] : node.properties) candidates.push_back(known);
    const auto meant = nearest(name, candidates);
    return meant ? fmt::format("no member of this name; did you mean {}?", in_quotes(*meant))
                 : "no member of this name";
  }

  bool array(const Node& node, const Json& value, const SchemaPlace& path, unsigned depth,
             bool quiet) {
    bool ok = true;
    if (node.min_items && value.size() < *node.min_items)
      ok = fault(quiet, path, fmt::format("at least {} items", *node.min_items));
    if (node.max_items && value.size() > *node.max_items)
      ok = fault(quiet, path, fmt::format("at most {} items", *node.max_items));
    std::size_t contained = 0;
    for (std::size_t i = 0; i < value.size() && !exhausted_; ++i) {
      const SchemaPlace at(path, i);
      if (i < node.prefix_items.size())
        ok &= check(*node.prefix_items[i], value[i], at, depth + 1, quiet);
      else if (node.items)
        ok &= check(*node.items, value[i], at, depth + 1, quiet);
      if (node.contains) contained += check(*node.contains, value[i], at, depth + 1, true);
    }
    if (node.contains && contained < node.min_contains.value_or(1))
      ok = fault(quiet, path,
                 fmt::format("at least {} items that `contains` describes",
                             node.min_contains.value_or(1)));
    if (node.contains && node.max_contains && contained > *node.max_contains)
      ok = fault(quiet, path,
                 fmt::format("at most {} items that `contains` describes", *node.max_contains));
    if (node.unique_items && !all_differ(value))
      ok = fault(quiet, path, "items that are all different");
    return ok;
  }

  bool all_differ(const Json& value) {
    if ((steps_ += value.size()) > kMaxSteps) return false;
    std::vector<const Json*> sorted;
    sorted.reserve(value.size());
    for (const Json& each : value) sorted.push_back(&each);
    std::ranges::sort(sorted, [](const Json* a, const Json* b) { return *a < *b; });
    const auto same = [](const Json* a, const Json* b) { return !(*a < *b) && !(*b < *a); };
    return std::ranges::adjacent_find(sorted, same) == sorted.end();
  }

  bool string(const Node& node, const std::string& text, const SchemaPlace& path, bool quiet) {
    bool ok = true;
    const std::size_t length = node.min_length || node.max_length ? code_points(text) : 0;
    if (node.min_length && length < *node.min_length)
      ok = fault(quiet, path, fmt::format("at least {} characters", *node.min_length));
    if (node.max_length && length > *node.max_length)
      ok = fault(quiet, path, fmt::format("at most {} characters", *node.max_length));
    if (node.pattern) {
      steps_ += text.size() / 64;
      if (!RE2::PartialMatch(text, *node.pattern))
        ok = fault(quiet, path, "text that matches " + in_quotes(node.pattern->pattern()));
    }
    return ok;
  }

  bool number(const Node& node, const Json& value, const SchemaPlace& path, bool quiet) {
    bool ok = true;
    if (node.minimum && value < *node.minimum)
      ok = fault(quiet, path, "at least " + node.minimum->dump());
    if (node.maximum && value > *node.maximum)
      ok = fault(quiet, path, "at most " + node.maximum->dump());
    if (node.exclusive_minimum && value <= *node.exclusive_minimum)
      ok = fault(quiet, path, "more than " + node.exclusive_minimum->dump());
    if (node.exclusive_maximum && value >= *node.exclusive_maximum)
      ok = fault(quiet, path, "less than " + node.exclusive_maximum->dump());
    if (node.multiple_of && !is_multiple(value, *node.multiple_of))
      ok = fault(quiet, path, "a multiple of " + node.multiple_of->dump());
    return ok;
  }

  bool combined(const Node& node, const Json& value, const SchemaPlace& path, unsigned depth,
                bool quiet) {
    bool ok = true;
    for (const Node* each : node.all_of) ok &= check(*each, value, path, depth + 1, quiet);
    const auto matches = [&](const std::vector<const Node*>& list) {
      return std::count_if(list.begin(), list.end(), [&](const Node* each) {
        return check(*each, value, path, depth + 1, true);
      });
    };
    if (!node.any_of.empty() && matches(node.any_of) == 0)
      ok = fault(quiet, path, fmt::format("one of {} alternatives", node.any_of.size()));
    if (!node.one_of.empty()) {
      const auto count = matches(node.one_of);
      if (count != 1)
        ok =
            fault(quiet, path,
                  fmt::format("exactly one of {} alternatives, not {}", node.one_of.size(), count));
    }
    if (node.not_ && check(*node.not_, value, path, depth + 1, true))
      ok = fault(quiet, path, "a value that `not` does not describe");
    if (node.if_) {
      const Node* next = check(*node.if_, value, path, depth + 1, true) ? node.then_ : node.else_;
      if (next) ok &= check(*next, value, path, depth + 1, quiet);
    }
    return ok && !exhausted_;
  }

  std::size_t steps_ = 0;
  bool exhausted_ = false;
};

std::vector<SchemaFault> Schema::check(const Json& value) const {
  if (deeper_than(value, kMaxDepth))
    return {{"", fmt::format("a value nested at most {} levels deep", kMaxDepth)}};
  Checker checker;
  if (!checker.check(*nodes_.front(), value, SchemaPlace(), 0, false) && checker.faults.empty())
    checker.faults.push_back({"", "another value"});
  return std::move(checker.faults);
}

namespace {

// Turns the text into what it plainly stands for, if a value of `types` can be that.
void coerce_text(Json& value, unsigned types) {
  const std::string& text = value.get_ref<const std::string&>();
  if (types & (kInteger | kNumber) && !text.empty() && text.size() < 400) {
    std::int64_t integer = 0;
    double number = 0;
    const char* const end = text.data() + text.size();
    if (const auto whole = std::from_chars(text.data(), end, integer);
        whole.ec == std::errc() && whole.ptr == end) {
      value = integer;
      return;
    }
    const auto real = std::from_chars(text.data(), end, number, std::chars_format::general);
    if (real.ec == std::errc() && real.ptr == end && std::isfinite(number)) {
      const bool whole = number == std::trunc(number) && std::abs(number) < 9e15;
      if (whole)
        value = static_cast<std::int64_t>(number);
      else if (types & kNumber)
        value = number;
      return;
    }
  }
  if (!(types & kBoolean)) return;
  std::string lower = text.substr(0, 8);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "true" || lower == "1" || lower == "yes")
    value = true;
  else if (lower == "false" || lower == "0" || lower == "no" || lower.empty())
    value = false;
}

}  // namespace

void Schema::coerce(Json& value) const {
  if (deeper_than(value, kMaxDepth)) return;
  std::size_t steps = 0;
  const auto visit = [&](const auto& self, const Node& node, Json& at, unsigned depth) -> void {
    if (++steps > kMaxSteps || depth > 4 * kMaxDepth) return;
    if (node.reference) self(self, *node.reference, at, depth + 1);
    for (const Node* each : node.all_of) self(self, *each, at, depth + 1);
    if (at.is_string() && node.types && !(node.types & kString)) coerce_text(at, node.types);
    if (at.is_object())
      for (const auto& [name, schema] : node.properties)
        if (const auto found = at.find(name); found != at.end())
          self(self, *schema, *found, depth + 1);
    if (at.is_array())
      for (std::size_t i = 0; i < at.size(); ++i) {
        if (i < node.prefix_items.size())
          self(self, *node.prefix_items[i], at[i], depth + 1);
        else if (node.items)
          self(self, *node.items, at[i], depth + 1);
      }
  };
  visit(visit, *nodes_.front(), value, 0);
}

}  // namespace brig
