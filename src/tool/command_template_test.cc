#include "tool/command_template.h"

#include <brig/error.h>
#include <gtest/gtest.h>

#include "testing/refusal.h"

#include <functional>

namespace brig {
namespace {

using Words = std::vector<std::string>;

Words expand(const Words& words, const Json& arguments) {
  std::set<std::string> names;
  for (const auto& [name, ignored] : arguments.items()) names.insert(name);
  return CommandTemplate(words, names).expand(arguments);
}

TEST(CommandTemplate, PutsEachValueIntoItsWord) {
  EXPECT_EQ(expand({"echo", "hello {who}", "{n}"}, {{"who", "you"}, {"n", 3}}),
            (Words{"echo", "hello you", "3"}));
  EXPECT_EQ(expand({"x", "{a}{b}", "{a}x{a}"}, {{"a", true}, {"b", 2.5}}),
            (Words{"x", "true2.5", "truextrue"}));
  EXPECT_EQ(expand({"x", "{list}"}, {{"list", {1, "b"}}}), (Words{"x", R"([1,"b"])"}));
  EXPECT_EQ(expand({"x", ""}, Json::object()), (Words{"x", ""}));
}

TEST(CommandTemplate, AValueStaysOneWordWhateverItHolds) {
  for (const char* evil :
       {"a b", "a;rm -rf /", "$(id)", "`id`", "a\nb", "'\"", "*", "{who}", "{{x}}", ""})
    EXPECT_EQ(expand({"echo", "{who}"}, {{"who", evil}}), (Words{"echo", evil})) << evil;
}

TEST(CommandTemplate, BracesCanBeWritten) {
  EXPECT_EQ(expand({"awk", "{{print ${n}}}"}, {{"n", 1}}), (Words{"awk", "{print $1}"}));
}

TEST(CommandTemplate, WhatIsNotGivenHasItsDefault) {
  const CommandTemplate command({"head", "-n{lines}", "{file}"}, {"lines", "file"},
                                {{"lines", 10}, {"file", nullptr}});
  EXPECT_EQ(command.expand(Json::object()), (Words{"head", "-n10"}));
  EXPECT_EQ(command.expand({{"lines", 2}, {"file", "x"}}), (Words{"head", "-n2", "x"}));
  EXPECT_EQ(command.expand({{"lines", nullptr}}), (Words{"head", "-n"})) << "null was given";
}

TEST(CommandTemplate, WhatIsNotGivenIsLeftOut) {
  const CommandTemplate command({"ls", "{path}", "--sort={key}"}, {"path", "key"});
  EXPECT_EQ(command.expand({{"key", "size"}}), (Words{"ls", "--sort=size"}));
  EXPECT_EQ(command.expand({{"path", nullptr}}), (Words{"ls", "--sort="}));
}

TEST(CommandTemplate, AValueIsNoOption) {
  EXPECT_TRUE(contains(refusal([] { expand({"rm", "{file}"}, {{"file", "-rf"}}); }), "option"));
  EXPECT_TRUE(contains(refusal([] { expand({"seq", "{n}"}, {{"n", -1}}); }), "option"));
  EXPECT_TRUE(contains(refusal([] {
                         expand({"x", "{empty}{file}"}, {{"empty", ""}, {"file", "-x"}});
                       }),
                       "option"));
  EXPECT_EQ(expand({"rm", "--", "{file}"}, {{"file", "-rf"}}), (Words{"rm", "--", "-rf"}));
  EXPECT_EQ(expand({"x", "--n={n}"}, {{"n", -1}}), (Words{"x", "--n=-1"}));
  EXPECT_TRUE(contains(refusal([] {
                         expand({"x", "{dashes}", "{file}"}, {{"dashes", "y"}, {"file", "-z"}});
                       }),
                       "option"))
      << "only a \"--\" of the template's own ends the options";
}

TEST(CommandTemplate, RefusesWhatCanNotBeMeant) {
  const auto made = [](const Words& words) {
    return refusal([&] { CommandTemplate(words, {"name", "file"}); });
  };
  EXPECT_EQ(made({"echo", "{name}"}), "");
  EXPECT_TRUE(contains(made({}), "no program"));
  EXPECT_TRUE(contains(made({""}), "no program"));
  EXPECT_TRUE(contains(made({"{name}"}), "program itself"));
  EXPECT_TRUE(contains(made({"/bin/{name}"}), "program itself"));
  EXPECT_TRUE(contains(made({"x", "{nmae}"}), "did you mean 'name'"));
  EXPECT_TRUE(contains(made({"x", "{"}), "without its '}'"));
  EXPECT_TRUE(contains(made({"x", "}"}), "without its '{'"));
  EXPECT_TRUE(contains(made({"x", std::string("a\0b", 3)}), "NUL"));
  EXPECT_TRUE(contains(refusal([] {
                         expand({"x", "{v}"}, {{"v", std::string("a\0b", 3)}});
                       }),
                       "NUL"));
}

}  // namespace
}  // namespace brig
