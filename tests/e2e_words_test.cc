// Every key that a message names can stand in a policy, and every option can be given.
#include <fstream>
#include <set>
#include <sstream>

#include "e2e_program.h"
#include "policy/option_words.h"

namespace {

using namespace e2e;

// What `brig run --policy` says of a file with only that key: not that it does not know it.
bool is_policy_key(const std::string& key) {
  const HostDirectory host;
  const std::size_t dot = key.find('.');
  write_file(host / "p.toml", dot == key.npos ? key + " = [[]]\n"
                                              : "[" + key.substr(0, dot) + "]\n" +
                                                    key.substr(dot + 1) + " = [[]]\n");
  const Result result = brig_program({"run", "--policy", host / "p.toml", "--", "true"});
  EXPECT_EQ(result.code, 125) << key << ": " << result;
  return !contains(result.err, "unknown");
}

TEST(Words, AnUnknownKeyIsKnownAsThat) {
  EXPECT_FALSE(is_policy_key("limits.memroy"));
  EXPECT_FALSE(is_policy_key("nets"));
}

TEST(Words, OfTheCommandLineExistThereAndInThePolicy) {
  const std::string help = brig_program({"run", "--help"}).out;
  for (const brig::OptionWord& each : brig::option_words()) {
    EXPECT_TRUE(contains(help, std::string(each.option) + " ")) << each.option;
    EXPECT_TRUE(is_policy_key(std::string(each.key))) << each.key;
  }
}

}  // namespace
