#include "serve/shown_arguments.h"

#include <fmt/format.h>

#include "base/text.h"
#include "serve/json_line.h"

namespace brig::serve {
namespace {

constexpr std::size_t kMostMembers = 50, kLongestMember = 100;
constexpr int kDeepest = 3;

std::string counted(std::size_t count, const char* one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

Json redacted(const Json& value, int depth) {
  switch (value.type()) {
    case Json::value_t::null: return "null";
    case Json::value_t::boolean: return "boolean";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned: return "integer";
    case Json::value_t::number_float: return "number";
    case Json::value_t::string:
      return "string, " + counted(value.get_ref<const std::string&>().size(), "byte");
    case Json::value_t::array: return "list, " + counted(value.size(), "item");
    case Json::value_t::object: break;
    default: return "value";
  }
  if (depth == kDeepest) return "object, " + counted(value.size(), "member");
  Json shown = Json::object();
  std::size_t count = 0;
  for (const auto& [name, member] : value.items()) {
    if (++count > kMostMembers) {
      shown["..."] = counted(value.size() - kMostMembers, "more member");
      break;
    }
    std::string_view head = std::string_view(name).substr(0, kLongestMember);
    head.remove_suffix(utf8_cut_at_end(head));
    shown[std::string(head) + (head.size() < name.size() ? "..." : "")] =
        redacted(member, depth + 1);
  }
  return shown;
}

// As JSON, or a little more than `most` if it is larger: a large value is not written out to be measured.
std::size_t size_up_to(const Json& value, std::size_t most) {
  std::size_t size = 2;
  if (value.is_string()) return size + value.get_ref<const std::string&>().size();
  if (!value.is_structured()) return 24;
  for (const auto& [name, member] : value.items()) {
    if (value.is_object()) size += name.size() + 4;
    size += size_up_to(member, most) + 1;
    if (size > most) break;
  }
  return size;
}

}  // namespace

std::optional<ArgumentsShown> arguments_shown_of(std::string_view word) {
  for (const auto how : {ArgumentsShown::off, ArgumentsShown::redacted, ArgumentsShown::full})
    if (word == to_string(how)) return how;
  return {};
}

const char* to_string(ArgumentsShown how) {
  switch (how) {
    case ArgumentsShown::off: return "off";
    case ArgumentsShown::redacted: return "redacted";
    case ArgumentsShown::full: return "full";
  }
  return "";
}

Json shown_arguments(const Json& arguments, ArgumentsShown how, std::size_t most) {
  if (how == ArgumentsShown::off) return nullptr;
  if (how == ArgumentsShown::full && size_up_to(arguments, most) <= most) return arguments;
  return redacted(arguments, 0);
}

}  // namespace brig::serve
