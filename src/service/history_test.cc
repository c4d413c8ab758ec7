#include "service/history.h"

#include <brig/json.h>
#include <gtest/gtest.h>

namespace brig::serve {
namespace {

CallerPtr caller(const char* name, bool admin = false) {
  auto made = std::make_shared<Caller>();
  made->name = name;
  made->admin = admin;
  return made;
}

TEST(History, EachSeesItsOwnAndAnAdminAllNewestFirst) {
  History history;
  const CallerPtr alice = caller("alice"), bob = caller("bob"), root = caller("root", true);
  history.add(alice, "1");
  history.add(bob, "2");
  history.add(alice, "3");
  EXPECT_EQ(history.list(alice, 1000), "[3,1]");
  EXPECT_EQ(history.list(bob, 1000), "[2]");
  EXPECT_EQ(history.list(root, 1000), "[3,2,1]");
  EXPECT_EQ(history.list(root, 2), "[3,2]");
  EXPECT_EQ(history.list(caller("new"), 1000), "[]");
  history.forget(*alice);
  EXPECT_EQ(history.list(root, 1000), "[2]");
  EXPECT_EQ(history.size(), 1u);
  EXPECT_EQ(history.bytes(), 1u);
}

TEST(History, IsBoundedInNumberAndNobodyPushesOutAnother) {
  History history({.count = 10, .bytes = 1 << 20});
  const CallerPtr quiet = caller("quiet"), busy = caller("busy");
  history.add(quiet, "0");
  history.add(quiet, "1");
  for (int i = 2; i < 100; ++i) history.add(busy, std::to_string(i));
  EXPECT_EQ(history.size(), 10u);
  EXPECT_EQ(history.list(quiet, 1000), "[1,0]");
  EXPECT_EQ(history.list(busy, 1000), "[99,98,97,96,95,94,93,92]");
}

TEST(History, IsBoundedInBytes) {
  History history({.count = 1000, .bytes = 1000});
  const CallerPtr small = caller("small"), large = caller("large");
  history.add(small, "0");
  for (int i = 0; i < 50; ++i) history.add(large, "\"" + std::string(98, 'x') + "\"");
  EXPECT_LE(history.bytes(), 1000u);
  EXPECT_GE(history.bytes(), 900u);
  EXPECT_EQ(history.list(small, 1000), "[0]");
  history.add(large, std::string(2000, '1'));
  EXPECT_LE(history.bytes(), 1000u) << "one that is too large is not kept";
}

}  // namespace
}  // namespace brig::serve
