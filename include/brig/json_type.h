// JsonTypeOf<T>: how a C++ type looks in JSON: its schema, and how to read and write it. Specialise it for a
// type of your own, or declare an enum's names or a struct's members:
//
//   enum class Unit { celsius, kelvin };
//   BRIG_ENUM(Unit, {Unit::celsius, "celsius"}, {Unit::kelvin, "kelvin"})
//
//   struct Point { double x, y; std::optional<std::string> name; };
//   BRIG_STRUCT(Point, x, y, name)
//
// Both go outside of any namespace.
#pragma once

#include <brig/json.h>

#include <concepts>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace brig {

using Bytes = std::vector<std::byte>;

template <typename T>
struct JsonTypeOf;

namespace detail {
std::string to_base64(const Bytes& bytes);
Bytes from_base64(const std::string& text);  // throws std::invalid_argument
}  // namespace detail

template <>
struct JsonTypeOf<bool> {
  static constexpr bool kOptional = false;
  static Json schema() { return {{"type", "boolean"}}; }
  static bool read(const Json& value) { return value.get<bool>(); }
  static Json write(bool value) { return value; }
};

template <std::integral T>
struct JsonTypeOf<T> {
  static constexpr bool kOptional = false;
  static Json schema() {
    return {{"type", "integer"},
            {"minimum", std::numeric_limits<T>::min()},
            {"maximum", std::numeric_limits<T>::max()}};
  }
  static T read(const Json& value) { return value.get<T>(); }
  static Json write(T value) { return value; }
};

template <std::floating_point T>
struct JsonTypeOf<T> {
  static constexpr bool kOptional = false;
  static Json schema() { return {{"type", "number"}}; }
  static T read(const Json& value) { return value.get<T>(); }
  static Json write(T value) { return value; }
};

template <>
struct JsonTypeOf<std::string> {
  static constexpr bool kOptional = false;
  static Json schema() { return {{"type", "string"}}; }
  static std::string read(const Json& value) { return value.get<std::string>(); }
  static Json write(std::string value) { return value; }
};
template <>
struct JsonTypeOf<const char*> : JsonTypeOf<std::string> {};  // as a result

template <>
struct JsonTypeOf<Bytes> {
  static constexpr bool kOptional = false;
  static Json schema() { return {{"type", "string"}, {"contentEncoding", "base64"}}; }
  static Bytes read(const Json& value) { return detail::from_base64(value.get<std::string>()); }
  static Json write(const Bytes& value) { return detail::to_base64(value); }
};

template <>
struct JsonTypeOf<Json> {
  static constexpr bool kOptional = false;
  static Json schema() { return Json::object(); }
  static Json read(const Json& value) { return value; }
  static Json write(Json value) { return value; }
};

template <typename T>
struct JsonTypeOf<std::optional<T>> {
  static constexpr bool kOptional = true;
  static Json schema() {
    return {{"anyOf", Json::array({JsonTypeOf<T>::schema(), Json{{"type", "null"}}})}};
  }
  static std::optional<T> read(const Json& value) {
    if (value.is_null()) return std::nullopt;
    return JsonTypeOf<T>::read(value);
  }
  static Json write(const std::optional<T>& value) {
    return value ? JsonTypeOf<T>::write(*value) : Json();
  }
};

template <typename T>
struct JsonTypeOf<std::vector<T>> {
  static constexpr bool kOptional = false;
  static Json schema() { return {{"type", "array"}, {"items", JsonTypeOf<T>::schema()}}; }
  static std::vector<T> read(const Json& value) {
    std::vector<T> result;
    for (const Json& each : value) result.push_back(JsonTypeOf<T>::read(each));
    return result;
  }
  static Json write(const std::vector<T>& value) {
    Json result = Json::array();
    for (const T& each : value) result.push_back(JsonTypeOf<T>::write(each));
    return result;
  }
};

template <typename T>
struct JsonTypeOf<std::map<std::string, T>> {
  static constexpr bool kOptional = false;
  static Json schema() {
    return {{"type", "object"}, {"additionalProperties", JsonTypeOf<T>::schema()}};
  }
  static std::map<std::string, T> read(const Json& value) {
    std::map<std::string, T> result;
    for (const auto& [key, each] : value.items()) result.emplace(key, JsonTypeOf<T>::read(each));
    return result;
  }
  static Json write(const std::map<std::string, T>& value) {
    Json result = Json::object();
    for (const auto& [key, each] : value) result[key] = JsonTypeOf<T>::write(each);
    return result;
  }
};

namespace detail {

// The names of an enum's values.
template <typename T>
struct EnumType {
  static constexpr bool kOptional = false;
  static Json schema() {
    Json names = Json::array();
    for (const auto& [ignored, name] : JsonTypeOf<T>::names()) names.push_back(name);
    return {{"type", "string"}, {"enum", names}};
  }
  static T read(const Json& value) {
    for (const auto& [each, name] : JsonTypeOf<T>::names())
      if (value == name) return each;
    throw std::invalid_argument("not one of the names");
  }
  static Json write(T value) {
    for (const auto& [each, name] : JsonTypeOf<T>::names())
      if (value == each) return name;
    throw std::invalid_argument("a value without a name");
  }
};

template <typename Member>
void member_schema(Json& schema, const char* name) {
  schema["properties"][name] = JsonTypeOf<Member>::schema();
  if (!JsonTypeOf<Member>::kOptional) schema["required"].push_back(name);
}
template <typename Member>
void read_member(const Json& value, const char* name, Member& member) {
  if (const auto found = value.find(name); found != value.end())
    member = JsonTypeOf<Member>::read(*found);
}

}  // namespace detail
}  // namespace brig

#define BRIG_ENUM(type, ...)                                                    \
  template <>                                                                   \
  struct brig::JsonTypeOf<type> : brig::detail::EnumType<type> {                \
    static const std::vector<std::pair<type, const char*>>& names() {           \
      static const std::vector<std::pair<type, const char*>> list{__VA_ARGS__}; \
      return list;                                                              \
    }                                                                           \
  };

#define BRIG_STRUCT(type, ...)                       \
  template <>                                        \
  struct brig::JsonTypeOf<type> {                    \
    static constexpr bool kOptional = false;         \
    static Json schema() {                           \
      Json schema{{"type", "object"},                \
                  {"properties", Json::object()},    \
                  {"required", Json::array()},       \
                  {"additionalProperties", false}};  \
      BRIG_EACH_(BRIG_SCHEMA_OF_, type, __VA_ARGS__) \
      return schema;                                 \
    }                                                \
    static type read(const Json& value) {            \
      type result{};                                 \
      BRIG_EACH_(BRIG_READ_, type, __VA_ARGS__)      \
      return result;                                 \
    }                                                \
    static Json write(const type& value) {           \
      Json result = Json::object();                  \
      BRIG_EACH_(BRIG_WRITE_, type, __VA_ARGS__)     \
      return result;                                 \
    }                                                \
  };

#define BRIG_SCHEMA_OF_(type, member) \
  brig::detail::member_schema<decltype(type::member)>(schema, #member);
#define BRIG_READ_(type, member) brig::detail::read_member(value, #member, result.member);
#define BRIG_WRITE_(type, member) \
  result[#member] = brig::JsonTypeOf<decltype(type::member)>::write(value.member);

// action(type, x) for each x: up to 256, by expanding again and again.
#define BRIG_EXPAND_(...) BRIG_EXPAND4_(BRIG_EXPAND4_(BRIG_EXPAND4_(BRIG_EXPAND4_(__VA_ARGS__))))
#define BRIG_EXPAND4_(...) BRIG_EXPAND3_(BRIG_EXPAND3_(BRIG_EXPAND3_(BRIG_EXPAND3_(__VA_ARGS__))))
#define BRIG_EXPAND3_(...) BRIG_EXPAND2_(BRIG_EXPAND2_(BRIG_EXPAND2_(BRIG_EXPAND2_(__VA_ARGS__))))
#define BRIG_EXPAND2_(...) __VA_ARGS__
#define BRIG_PARENS_ ()
#define BRIG_EACH_(action, type, ...) \
  __VA_OPT__(BRIG_EXPAND_(BRIG_EACH_STEP_(action, type, __VA_ARGS__)))
#define BRIG_EACH_STEP_(action, type, first, ...) \
  action(type, first) __VA_OPT__(BRIG_EACH_AGAIN_ BRIG_PARENS_(action, type, __VA_ARGS__))
#define BRIG_EACH_AGAIN_() BRIG_EACH_STEP_
