#include "policy/config_node.h"

#include <algorithm>
#include <array>

namespace brig {

const ConfigMember* ConfigTable::find(std::string_view key) const {
  const auto found = std::lower_bound(
      members.begin(), members.end(), key,
      [](const ConfigMember& member, std::string_view name) { return member.key < name; });
  return found != members.end() && found->key == key ? &*found : nullptr;
}

const std::string* ConfigTable::string(std::string_view key) const {
  const ConfigMember* found = find(key);
  return found ? found->node.as_string() : nullptr;
}

std::string_view ConfigNode::type_name() const {
  constexpr std::array<const char*, 6> kNames = {"a boolean", "an integer", "a float",
                                                 "a string",  "an array",   "a table"};
  const auto* other = std::get_if<Other>(&value);
  return other ? other->type : kNames[value.index() - 1];
}

}  // namespace brig
