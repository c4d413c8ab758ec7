#include "service/shown_arguments.h"

#include <fmt/format.h>

#include "base/text.h"
#include "json/json_line.h"

namespace brig::serve {
namespace {

constexpr std::size_t kMostMembers = 50, kLongestMember = 100;
// Bytes beside the name of a member: its type and size, or the note that there are more members.
constexpr std::size_t kBesideName = 80;
constexpr int kDeepest = 3;

std::string counted(std::size_t count, const char* one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

// The size of a text as JSON, without the quotes.
std::size_t escaped_size(std::string_view text) {
  std::size_t size = text.size();
  for (const char c : text)
    size += static_cast<unsigned char>(c) < 0x20 ? 5 : c == '"' || c == '\\' ? 1 : 0;
  return size;
}

// `room`: bytes that are left for names and what stands beside them.
Json redacted(const Json& value, int depth, std::size_t& room) {
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
    std::string_view head = std::string_view(name).substr(0, kLongestMember);
    head.remove_suffix(utf8_cut_at_end(head));
    const std::size_t size = escaped_size(head) + kBesideName;
    if (count == kMostMembers || size > room) {
      shown["..."] = counted(value.size() - count, "more member");
      break;
    }
    ++count;
    room -= size;
    shown[std::string(head) + (head.size() < name.size() ? "..." : "")] =
        redacted(member, depth + 1, room);
  }
  return shown;
}

// As JSON, or a little more than `most` if it is larger: a large value is not written out to be
// measured.
std::size_t size_up_to(const Json& value, std::size_t most) {
  std::size_t size = 2;
  if (value.is_string()) {
    const std::string_view text = value.get_ref<const std::string&>();
    return size + (text.size() > most ? text.size() : escaped_size(text));
  }
  if (!value.is_structured()) return 24;
  for (const auto& [name, member] : value.items()) {
    if (value.is_object()) size += (name.size() > most ? name.size() : escaped_size(name)) + 4;
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
  std::size_t room = most;
  return redacted(arguments, 0, room);
}

}  // namespace brig::serve
