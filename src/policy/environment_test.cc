#include "policy/environment.h"

#include <brig/seed.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace brig {
namespace {

using Map = std::map<std::string, std::string>;

Map of_host(std::vector<const char*> host, const Environment& environment = {}) {
  host.push_back(nullptr);
  return cell_environment(environment, host.data());
}

TEST(Environment, OfNothingIsEmpty) {
  EXPECT_EQ(of_host({}), Map());
  EXPECT_EQ(cell_environment({}, nullptr), Map());
}

TEST(Environment, HasTheSafeListAndNothingElse) {
  const Map safe = {{"PATH", "/bin"},   {"HOME", "/root"}, {"USER", "me"},  {"LANG", "C"},
                    {"TERM", "dumb"},   {"SHELL", "sh"},   {"LC_ALL", "C"}, {"LC_CTYPE", "C"},
                    {"TMPDIR", "/tmp"}, {"TZ", "UTC"}};
  std::vector<std::string> entries;
  for (const auto& [name, value] : safe) entries.push_back(name + "=" + value);
  for (const char* other :
       {"LD_PRELOAD=evil.so", "LD_LIBRARY_PATH=/x", "LD_AUDIT=/x", "PYTHONPATH=/x", "PYTHONHOME=/x",
        "NODE_OPTIONS=--require=/x", "BASH_ENV=/x", "ENV=/x", "PERL5LIB=/x", "RUBYOPT=-r/x",
        "BASH_FUNC_ls%%=() { evil; }", "AWS_SECRET_ACCESS_KEY=s3cret", "SSH_AUTH_SOCK=/x",
        "path=/x", "PATHS=/x", "LC_MESSAGES=C", "IFS= "}) {
    entries.emplace_back(other);
  }
  std::vector<const char*> host;
  for (const std::string& entry : entries) host.push_back(entry.c_str());
  EXPECT_EQ(of_host(host), safe);
}

TEST(Environment, PassesANamedVariableThroughIfTheHostHasIt) {
  EXPECT_EQ(of_host({"API_URL=http://x", "API_KEY=1"}, {{"API_URL", "MISSING"}, {}}),
            (Map{{"API_URL", "http://x"}}));
}

TEST(Environment, PassesALoaderVariableOnlyBecauseItIsNamed) {
  EXPECT_EQ(of_host({"LD_PRELOAD=/x.so", "LD_AUDIT=/y.so"}, {{"LD_PRELOAD"}, {}}),
            (Map{{"LD_PRELOAD", "/x.so"}}));
}

TEST(Environment, KnowsNoGlobs) {
  EXPECT_EQ(of_host({"AWS_KEY=1", "AWS_=2"}, {{"AWS_*", "*", "AWS"}, {}}), Map());
}

TEST(Environment, SetWinsOverTheHost) {
  EXPECT_EQ(of_host({"PATH=/host", "A=host"}, {{"A"}, {{"PATH", "/cell"}, {"A", ""}, {"B", "b"}}}),
            (Map{{"PATH", "/cell"}, {"A", ""}, {"B", "b"}}));
}

TEST(Environment, WhatIsUnsetIsGoneWhateverElseNamesIt) {
  EXPECT_EQ(of_host({"LANG=C", "TERM=dumb", "A=1"},
                    {{"A"}, {{"B", "2"}, {"C", "3"}}, {"LANG", "A", "B", "D"}}),
            (Map{{"TERM", "dumb"}, {"C", "3"}}));
}

TEST(Environment, SkipsMalformedEntriesOfTheHost) {
  EXPECT_EQ(of_host({"PATH", "", "=", "=PATH=/x", "HOME=/root", "TZ="}, {{"", "PATH"}, {}}),
            (Map{{"HOME", "/root"}, {"TZ", ""}}));
}

TEST(Environment, KeepsEverythingBehindTheFirstEqualsSign) {
  EXPECT_EQ(of_host({"TERM=a=b==c\n"}), (Map{{"TERM", "a=b==c\n"}}));
}

TEST(Environment, TakesTheFirstOfTwoAsGetenvDoes) {
  EXPECT_EQ(of_host({"TERM=first", "TERM=second"}), (Map{{"TERM", "first"}}));
}

TEST(SafeEnv, ReadsTheEnvironmentOfThisProcess) {
  ::setenv("PATH", "/brig/test", 1);
  ::setenv("BRIG_TEST_NAMED", "yes", 1);
  ::setenv("BRIG_TEST_OTHER", "no", 1);
  const Map environment = build_safe_env({"BRIG_TEST_NAMED"}, {{"EXTRA", "1"}, {"PATH", "/won"}});
  EXPECT_EQ(environment.at("PATH"), "/won");
  EXPECT_EQ(environment.at("BRIG_TEST_NAMED"), "yes");
  EXPECT_EQ(environment.at("EXTRA"), "1");
  EXPECT_EQ(environment.count("BRIG_TEST_OTHER"), 0u);
  EXPECT_EQ(build_safe_env().at("PATH"), "/brig/test");
}

}  // namespace
}  // namespace brig
