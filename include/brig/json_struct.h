// BRIG_ENUM and BRIG_STRUCT declare how an enum or a struct of yours looks in JSON. Then it can be
// a parameter or a result of a tool (toolbox.h).
//
//   enum class Unit { celsius, kelvin };
//   BRIG_ENUM(Unit, {Unit::celsius, "celsius"}, {Unit::kelvin, "kelvin"})
//
//   struct Point { double x, y; std::optional<std::string> name; };
//   BRIG_STRUCT(Point, x, y, name)
//
// Use both macros outside of any namespace. An enum is one of its names; a struct is an object that
// has these members, at most 256, and no others. A member of type std::optional may be missing.
#pragma once

#include <brig/json_type.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace brig {
namespace detail {

// The JSON form of an enum: a string, one of the names. read() and write() throw
// std::invalid_argument for a value that has no name.
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
void read_member(Json& value, const char* name, Member& member) {
  if (const auto found = value.find(name); found != value.end())
    member = JsonTypeOf<Member>::read(std::move(*found));
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
    static type read(Json value) {                   \
      type result{};                                 \
      BRIG_EACH_(BRIG_READ_, type, __VA_ARGS__)      \
      return result;                                 \
    }                                                \
    static Json write(type value) {                  \
      Json result = Json::object();                  \
      BRIG_EACH_(BRIG_WRITE_, type, __VA_ARGS__)     \
      return result;                                 \
    }                                                \
  };

#define BRIG_SCHEMA_OF_(type, member) \
  brig::detail::member_schema<decltype(type::member)>(schema, #member);
#define BRIG_READ_(type, member) brig::detail::read_member(value, #member, result.member);
#define BRIG_WRITE_(type, member) \
  result[#member] = brig::JsonTypeOf<decltype(type::member)>::write(std::move(value.member));

// Expands to action(type, x) for each x, at most 256 of them: the preprocessor expands the text
// once for each x.
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
