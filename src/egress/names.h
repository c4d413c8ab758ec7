// Names: the addresses that stand for names in one cell. brig answers a DNS question with an
// address of 198.18.0.0/15 that means nothing outside; the tool connects to it; and here is which
// name it was.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "egress/address.h"

namespace brig::egress {

class Names {
 public:
  // Of one cell.
  static constexpr std::size_t kMost = 1024;
  // The first address is the cell's own on its loopback interface; see helper/way_out.h.
  static constexpr std::uint32_t kOwn = 0xC6120001;    // 198.18.0.1
  static constexpr std::uint32_t kFirst = 0xC6120100;  // 198.18.1.0

  // The address for a normal name, which is the same each time. Nullopt: there are too many names.
  std::optional<Address> address_of(std::string_view name);
  // Null if no name has that address.
  const std::string* name_at(const Address& address) const;
  // Whether an address is of 198.18.0.0/15, from which names get theirs.
  static bool is_made_up(const Address& address);

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t, std::less<>> places_;
};

}  // namespace brig::egress
