#include <brig/json.h>
#include <brig/ordered_map.h>
#include <gtest/gtest.h>

#include <time.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "json/json_text.h"

namespace brig {
namespace {

using Map = OrderedMap<std::string, int>;

std::string keys_of(const Map& map) {
  std::string keys;
  for (const auto& [key, value] : map) keys += key;
  return keys;
}

std::string keys_backwards(const Map& map) {
  std::string keys;
  for (auto at = map.end(); at != map.begin();) keys += (--at)->first;
  return keys;
}

TEST(OrderedMap, KeepsTheOrderInWhichMembersCame) {
  Map map{{"z", 1}, {"a", 2}};
  map["m"] = 3;
  map["a"] = 4;  // The member keeps its place.
  EXPECT_FALSE(map.try_emplace("z", 9).second);
  EXPECT_EQ(keys_of(map), "zam");
  EXPECT_EQ(keys_backwards(map), "maz");
  EXPECT_EQ(map.at("z"), 1);
  EXPECT_EQ(map.at("a"), 4);
  EXPECT_THROW((void)map.at("b"), std::out_of_range);
  EXPECT_EQ(map.count("m") + map.count("n"), 1u);
}

TEST(OrderedMap, WhatIsErasedLeavesTheRestInOrder) {
  Map map{{"d", 1}, {"c", 2}, {"b", 3}, {"a", 4}};
  EXPECT_EQ(map.erase(map.find("c"))->first, "b");
  EXPECT_EQ(map.erase("x"), 0u);
  EXPECT_EQ(map.erase("d"), 1u);
  EXPECT_EQ(keys_of(map), "ba");
  map["c"] = 5;
  EXPECT_EQ(keys_of(map), "bac");
  EXPECT_EQ(map.erase(std::next(map.begin()), map.end()), map.end());
  EXPECT_EQ(keys_of(map), "b");
  map.clear();
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.begin(), map.end());
  map["z"] = 1;
  EXPECT_EQ(keys_of(map) + keys_backwards(map), "zz");
}

TEST(OrderedMap, IsCopiedMovedAndSwapped) {
  Map map{{"b", 1}, {"a", 2}}, none;
  const int* const where = &map.at("a");
  Map copy = map;
  Map moved = std::move(map);
  EXPECT_EQ(&moved.at("a"), where);  // Members keep their addresses.
  EXPECT_EQ(keys_of(copy) + keys_of(moved) + keys_backwards(moved), "babaab");
  moved.swap(none);
  EXPECT_EQ(keys_of(moved) + keys_backwards(moved), "");
  EXPECT_EQ(keys_of(none) + keys_backwards(none), "baab");
  moved["x"] = 1;
  none["y"] = 1;
  EXPECT_EQ(keys_of(moved) + keys_of(none), "xbay");
  copy = none;
  EXPECT_EQ(keys_of(copy), "bay");
  map = std::move(copy);
  EXPECT_EQ(keys_of(map), "bay");
}

TEST(OrderedMap, TheOrderMakesNoOtherValue) {
  const Map one{{"b", 1}, {"a", 2}}, other{{"a", 2}, {"b", 1}};
  EXPECT_EQ(one, other);
  EXPECT_EQ(one <=> other, std::partial_ordering::equivalent);
  EXPECT_NE(one, (Map{{"a", 2}, {"b", 2}}));
  EXPECT_NE(one, (Map{{"a", 2}, {"c", 1}}));
  EXPECT_LT(one, (Map{{"b", 2}, {"a", 2}}));
  EXPECT_LT((Map{{"a", 2}}), one);
}

TEST(OrderedMap, AgreesWithAMapAndAList) {
  std::mt19937 random(20260711);
  Map map;
  std::map<std::string, int> values;
  std::vector<std::string> order;
  for (int i = 0; i < 20'000; ++i) {
    // The map searches few members one by one and hashes many.
    std::string key(1, static_cast<char>('a' + random() % 26));
    if (i % 8000 > 2000) key += static_cast<char>('a' + random() % 8);
    if (random() % 3) {
      if (!values.contains(key)) order.push_back(key);
      map[key] = values[key] = i;
    } else {
      std::erase(order, key);
      ASSERT_EQ(map.erase(key), values.erase(key));
    }
    if (random() % 64 == 0) {
      Map next = random() % 2 ? map : std::move(map);
      map = std::move(next);
    }
    ASSERT_EQ(map.size(), order.size());
    if (i % 16) continue;
    std::string in_order, backwards;
    for (const std::string& each : order) {
      in_order += each;
      backwards.insert(0, each);
    }
    ASSERT_EQ(keys_of(map), in_order);
    ASSERT_EQ(keys_backwards(map), backwards);
    for (const auto& [each, value] : values) ASSERT_EQ(map.at(each), value);
  }
}

// --- how long it takes ---

#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // whose memory has times of its own
// The shortest processor time of five runs, of this thread alone, so that other work on the machine
// does not count.
double seconds_of(const std::function<void()>& work) {
  const auto now = [] {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
  };
  double least = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin = now();
    work();
    least = std::min(least, now() - begin);
  }
  return least;
}
#endif

// Four times as many members take four times as long, or a little more because caches are small.
// They would take sixteen times as long if each were compared with all.
void expect_linear(const std::function<void(std::size_t)>& work) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  (void)work;
  GTEST_SKIP() << "a sanitizer's memory has times of its own";
#else
  const double few = seconds_of([&] { work(20'000); }), many = seconds_of([&] { work(80'000); });
  EXPECT_LE(many, 8 * few) << few * 1000 << " ms for 20,000 members, " << many * 1000
                           << " ms for 80,000";
#endif
}

TEST(OrderedMap, ManyMembersAreReadInLinearTime) {
  expect_linear([](std::size_t count) {
    std::string text = "{";
    for (std::size_t i = 0; i < count; ++i)
      text += (i ? ",\"key" : "\"key") + std::to_string(i * 7919 % count) + "\":1";
    std::string fault;
    const auto json = json_from(text + "}", fault);
    ASSERT_TRUE(json) << fault;
    ASSERT_EQ(json->size(), count);
  });
}

// Texts of 16 bytes that all have the same hash by libstdc++'s std::hash. Its steps can be undone,
// so the second half takes back what the first half did.
std::string colliding(std::uint64_t number) {
  constexpr std::uint64_t kMul = 0xc6a4a7935bd1e995, kSeed = 0xc70f6907;
  std::uint64_t inverse = kMul;
  for (int i = 0; i < 6; ++i) inverse *= 2 - kMul * inverse;
  const auto mix = [](std::uint64_t value) { return value ^ (value >> 47); };
  const std::uint64_t first = ((kSeed ^ (16 * kMul)) ^ (mix(number * kMul) * kMul)) * kMul;
  const std::uint64_t second = mix(first * inverse) * inverse;
  std::string key(16, '\0');
  std::memcpy(key.data(), &number, 8);
  std::memcpy(key.data() + 8, &second, 8);
  return key;
}

TEST(OrderedMap, KeysThatStdHashCanNotTellApartTakeNoLonger) {
  const std::hash<std::string> hash;
  for (std::uint64_t i = 1; i < 1000; ++i) ASSERT_EQ(hash(colliding(i)), hash(colliding(0)));
  expect_linear([](std::size_t count) {
    Map map;
    for (std::size_t i = 0; i < count; ++i) map[colliding(i)] = 1;
    ASSERT_EQ(map.size(), count);
  });
}

// CPython has the same hash. With PYTHONHASHSEED=0, its secret is the one used here.
TEST(KeyHash, IsSipHash) {
  constexpr KeyHash::Secret kNone{0, 0};
  EXPECT_EQ(KeyHash::of("a", kNone), 0x407448d2b89b1813);
  EXPECT_EQ(KeyHash::of("eightchr", kNone), 0x44b22fa59b5d6132);
  EXPECT_EQ(KeyHash::of("a text of some length", kNone), 0xfc7fa1ad280d13d7);
  EXPECT_NE(KeyHash::of("a", kNone), KeyHash::of("a", {0, 1}));
  EXPECT_NE(KeyHash::of("a", kNone), KeyHash::of("a"));  // Equal once in 2^64.
  EXPECT_EQ(KeyHash::of("a"), KeyHash::of("a"));
}

TEST(Json, AnObjectOfNlohmannsBecomesOneAndBack) {
  const Json ours{{"z", 1}, {"a", {{"y", 2}, {"b", 3}}}};
  EXPECT_EQ(ours.dump(), R"({"z":1,"a":{"y":2,"b":3}})");
  const nlohmann::json theirs = ours;
  EXPECT_EQ(theirs.dump(), R"({"a":{"b":3,"y":2},"z":1})");
  EXPECT_EQ(Json(theirs), ours);
}

TEST(Json, IsChangedMemberByMember) {
  Json value{{"z", 1}, {"a", 2}, {"m", 3}};
  value.erase("a");
  value.update(Json{{"z", 5}, {"b", 6}});
  value["a"] = 7;
  EXPECT_EQ(value.dump(), R"({"z":5,"m":3,"b":6,"a":7})");
  EXPECT_EQ(value, (Json{{"a", 7}, {"b", 6}, {"m", 3}, {"z", 5}}));
  const Json patched = value.patch(Json::parse(R"([{"op":"remove","path":"/m"}])"));
  EXPECT_EQ(patched.dump(), R"({"z":5,"b":6,"a":7})");
}

}  // namespace
}  // namespace brig
