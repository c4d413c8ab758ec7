#include "cell/helper_process.h"

#include <gtest/gtest.h>

namespace brig {
namespace {

// Whether a single call asks the user's systemd for a cgroup. What comes of it is tested on a
// machine that has one (tests/systemd).
TEST(ScopeManager, ALimitOfTheTreeIsNamedAlsoWithItsDefaultValue) {
  EXPECT_FALSE(names_limit_of_tree({}));
  for (const char* line : {"memory = '512M'", "memory = '64M'", "processes = 128", "processes = 7",
                           "cpus = 1.5", "cpu_time = '1s'", "memory = '512M'\ntimeout = '1s'"})
    EXPECT_TRUE(names_limit_of_tree(policy_from_toml("[limits]\n" + std::string(line)).limits))
        << line;
  for (const char* line : {"timeout = '1s'", "output = 5", "scratch = '1M'", "open_files = 20"})
    EXPECT_FALSE(names_limit_of_tree(policy_from_toml("[limits]\n" + std::string(line)).limits))
        << line;
}

TEST(ScopeManager, ALimitThatDiffersFromItsDefaultNeedsNoNaming) {
  Policy policy;
  policy.limits.processes = 5;
  EXPECT_TRUE(names_limit_of_tree(policy.limits));
  policy = {};
  policy.limits.cpus = 1;
  EXPECT_TRUE(names_limit_of_tree(policy.limits));
  policy = {};
  policy.limits.timeout = std::chrono::seconds(1);
  EXPECT_FALSE(names_limit_of_tree(policy.limits));
}

}  // namespace
}  // namespace brig
