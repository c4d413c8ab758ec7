#include "egress/names.h"

namespace brig::egress {
namespace {

constexpr std::uint32_t kRange = 0xC6120000;  // 198.18.0.0/15
constexpr unsigned kRangePrefix = 96 + 15;

}  // namespace

std::optional<Address> Names::address_of(std::string_view name) {
  if (const auto known = places_.find(name); known != places_.end())
    return Address::v4(kFirst + known->second);
  if (names_.size() == kMost) return std::nullopt;
  const auto place = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(name);
  places_.emplace(name, place);
  return Address::v4(kFirst + place);
}

const std::string* Names::name_at(const Address& address) const {
  if (!is_made_up(address) || address.ipv4() < kFirst) return nullptr;
  const std::uint32_t place = address.ipv4() - kFirst;
  return place < names_.size() ? &names_[place] : nullptr;
}

bool Names::is_made_up(const Address& address) {
  return address.is_in(Address::v4(kRange).bytes, kRangePrefix);
}

}  // namespace brig::egress
