// JsonTypeOf<T>: how a C++ type looks in JSON. Specialise it for a type of your own, or declare an
// enum or a struct with <brig/json_struct.h>. A specialisation has these static members:
//
//   kOptional  whether a member of this type may be missing
//   schema()   the JSON Schema of the type
//   read()     the C++ value of a JSON value that fits the schema. brig checks the schema first, so
//              read() may assume the right type; it throws for any other mistake
//   write()    the JSON value of a C++ value
//
// read() and write() take large values by value and move them on: the caller gives them away.
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
// Base64 of RFC 4648, with padding.
std::string to_base64(const Bytes& bytes);
// Throws std::invalid_argument for text that is not base64.
Bytes from_base64(const std::string& text);
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
  static std::string read(Json value) { return std::move(value.get_ref<std::string&>()); }
  static Json write(std::string value) { return value; }
};
// For results only.
template <>
struct JsonTypeOf<const char*> : JsonTypeOf<std::string> {};

template <>
struct JsonTypeOf<Bytes> {
  static constexpr bool kOptional = false;
  static Json schema() { return {{"type", "string"}, {"contentEncoding", "base64"}}; }
  static Bytes read(const Json& value) {
    return detail::from_base64(value.get_ref<const std::string&>());
  }
  static Json write(const Bytes& value) { return detail::to_base64(value); }
};

template <>
struct JsonTypeOf<Json> {
  static constexpr bool kOptional = false;
  static Json schema() { return Json::object(); }
  static Json read(Json value) { return value; }
  static Json write(Json value) { return value; }
};

template <typename T>
struct JsonTypeOf<std::optional<T>> {
  static constexpr bool kOptional = true;
  static Json schema() {
    return {{"anyOf", Json::array({JsonTypeOf<T>::schema(), Json{{"type", "null"}}})}};
  }
  static std::optional<T> read(Json value) {
    if (value.is_null()) return std::nullopt;
    return JsonTypeOf<T>::read(std::move(value));
  }
  static Json write(std::optional<T> value) {
    return value ? JsonTypeOf<T>::write(std::move(*value)) : Json();
  }
};

template <typename T>
struct JsonTypeOf<std::vector<T>> {
  static constexpr bool kOptional = false;
  static Json schema() { return {{"type", "array"}, {"items", JsonTypeOf<T>::schema()}}; }
  static std::vector<T> read(Json value) {
    std::vector<T> result;
    result.reserve(value.size());
    for (Json& each : value) result.push_back(JsonTypeOf<T>::read(std::move(each)));
    return result;
  }
  static Json write(std::vector<T> value) {
    Json result = Json::array();
    for (auto&& each : value) result.push_back(JsonTypeOf<T>::write(std::move(each)));
    return result;
  }
};

template <typename T>
struct JsonTypeOf<std::map<std::string, T>> {
  static constexpr bool kOptional = false;
  static Json schema() {
    return {{"type", "object"}, {"additionalProperties", JsonTypeOf<T>::schema()}};
  }
  static std::map<std::string, T> read(Json value) {
    std::map<std::string, T> result;
    for (auto& [key, each] : value.get_ref<Json::object_t&>())
      result.emplace(key, JsonTypeOf<T>::read(std::move(each)));
    return result;
  }
  static Json write(std::map<std::string, T> value) {
    Json result = Json::object();
    for (auto& [key, each] : value) result[key] = JsonTypeOf<T>::write(std::move(each));
    return result;
  }
};

}  // namespace brig
