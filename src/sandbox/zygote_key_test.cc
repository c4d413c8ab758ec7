#include "sandbox/zygote_key.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace brig {
namespace {

using Flips = std::vector<std::function<void()>>;

void flip(std::string& value) { value += "x"; }
void flip(std::vector<std::string>& value) { value.emplace_back("x"); }
void flip(std::map<std::string, std::string>& value) { value["x"] = "y"; }
void flip(std::chrono::milliseconds& value) { ++value; }
void flip(Network::Mode& value) { value = Network::loopback; }
void flip(Isolation& value) { value = Isolation::landlock; }
void flip(Room& value) { value = Room::fresh; }
template <typename T>
requires std::is_arithmetic_v<T>
void flip(T& value) { value += 1; }
template <typename T>
void flip(std::optional<T>& value) {
  value = T{1};
}

template <typename... Fields>
void add_flips(Flips& flips, Fields&... fields) {
  (flips.emplace_back([&fields] { flip(fields); }), ...);
}

// One change for each field of `policy`. A field that is new does not compile until it is bound
// here.
Flips flips_of(Policy& policy) {
  Flips flips;
  auto& [limits, files, network, environment, syscalls, isolation, room, user, preset] = policy;
  add_flips(flips, isolation, room, user, preset);
  {
    auto& [mode, allow, deny] = network;
    add_flips(flips, mode, allow, deny);
  }
  {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = limits;
    add_flips(flips, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q);
  }
  {
    auto& [a, b, c, d, e, f, g, h, i] = files;
    add_flips(flips, a, b, c, d, e, f, g, h, i);
  }
  {
    auto& [a, b, c] = environment;
    add_flips(flips, a, b, c);
  }
  {
    auto& [a, b] = syscalls;
    add_flips(flips, a, b);
  }
  return flips;
}

TEST(ZygoteKey, DiffersInEveryFieldOfAPolicy) {
  Policy counted;
  const std::size_t count = flips_of(counted).size();
  ASSERT_GE(count, 30u);
  for (std::size_t i = 0; i < count; ++i) {
    const ZygoteKey before{"command", Policy{}};
    ZygoteKey after = before;
    EXPECT_EQ(before, after);
    flips_of(after.policy)[i]();
    EXPECT_NE(before, after) << "field " << i;
  }
}

TEST(ZygoteKey, TellsListsApartThatReadTheSame) {
  ZygoteKey one{"command", {}}, other = one;
  one.policy.files.read = {"/a", "/b"};
  other.policy.files.read = {"/a"};
  other.policy.files.write = {"/b"};
  EXPECT_NE(one, other);
  other = one;
  other.runtime = "library /a";
  EXPECT_NE(one, other);
}

}  // namespace
}  // namespace brig
