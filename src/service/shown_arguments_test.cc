#include "service/shown_arguments.h"

#include <gtest/gtest.h>

namespace brig::serve {
namespace {

const Json kArguments{{"command", "echo secret"},
                      {"argv", {"a", "b"}},
                      {"count", 7},
                      {"ratio", 0.5},
                      {"strict", true},
                      {"none", nullptr},
                      {"files", {{"a.txt", "secret"}}}};

TEST(ShownArguments, AreNotShownUnlessTheOperatorSaysSo) {
  EXPECT_TRUE(shown_arguments(kArguments, ArgumentsShown::off, 1000).is_null());
  EXPECT_EQ(shown_arguments(kArguments, ArgumentsShown::full, 1000), kArguments);
  EXPECT_EQ(arguments_shown_of("redacted"), ArgumentsShown::redacted);
  EXPECT_EQ(arguments_shown_of("Full"), std::nullopt);
}

TEST(ShownArguments, RedactedHaveNamesTypesAndSizesAndNoValue) {
  EXPECT_EQ(shown_arguments(kArguments, ArgumentsShown::redacted, 1000),
            (Json{{"command", "string, 11 bytes"},
                  {"argv", "list, 2 items"},
                  {"count", "integer"},
                  {"ratio", "number"},
                  {"strict", "boolean"},
                  {"none", "null"},
                  {"files", {{"a.txt", "string, 6 bytes"}}}}));
}

TEST(ShownArguments, AreBounded) {
  Json many = Json::object(), deep = 1;
  for (int i = 0; i < 10'000; ++i) many[std::to_string(i) + std::string(1000, 'n')] = i;
  for (int i = 0; i < 100; ++i) deep = {{"x", deep}};
  const Json shown =
      shown_arguments({{"many", many}, {"deep", deep}}, ArgumentsShown::full, 64 * 1024);
  EXPECT_EQ(shown["many"].size(), 51u);
  EXPECT_EQ(shown["many"]["..."], "9950 more members");
  EXPECT_LT(shown.dump().size(), 8000u);
  EXPECT_EQ(shown["deep"]["x"]["x"], "object, 1 member");
}

TEST(ShownArguments, OfManyLevelsAreBoundedTogether) {
  Json wide = Json::object(), wider = Json::object(), widest = Json::object();
  for (int i = 0; i < 50; ++i) wide[std::to_string(i) + std::string(90, '\1')] = i;
  for (int i = 0; i < 50; ++i) wider[std::to_string(i)] = wide;
  for (int i = 0; i < 50; ++i) widest[std::to_string(i)] = wider;
  for (const auto how : {ArgumentsShown::redacted, ArgumentsShown::full})
    for (const std::size_t most : {4096, 65536})
      EXPECT_LT(shown_arguments(widest, how, most).dump().size(), most) << to_string(how);
  // 60,000 control characters are 360,000 bytes of JSON.
  const Json text{{"text", std::string(60'000, '\1')}};
  EXPECT_EQ(shown_arguments(text, ArgumentsShown::full, 65536)["text"], "string, 60000 bytes");
}

}  // namespace
}  // namespace brig::serve
