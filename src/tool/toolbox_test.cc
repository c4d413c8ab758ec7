#include <brig/error.h>
#include <brig/toolbox.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "json/schema.h"
#include "testing/refusal.h"

enum class Unit { celsius, kelvin };
BRIG_ENUM(Unit, {Unit::celsius, "celsius"}, {Unit::kelvin, "kelvin"})

struct Point {
  double x = 0, y = 0;
  std::optional<std::string> name;
  bool operator==(const Point&) const = default;
};
BRIG_STRUCT(Point, x, y, name)

struct Path {
  std::vector<Point> points;
  Unit unit = Unit::celsius;
};
BRIG_STRUCT(Path, points, unit)

namespace brig {
namespace {

bool allows(const Tool& tool, const Json& arguments) {
  return Schema(tool.input_schema).check(arguments).empty();
}

TEST(Toolbox, DeducesASchemaAndCalls) {
  Toolbox tools;
  tools.add("add", "Adds two integers.", {"a", "b"},
            [](std::int64_t a, std::int64_t b) { return a + b; });
  const auto tool = tools.find("add");
  ASSERT_TRUE(tool);
  EXPECT_EQ(tool->input_schema, Json::parse(R"({"type": "object", "additionalProperties": false,
    "required": ["a", "b"], "properties": {
      "a": {"type": "integer", "minimum": -9223372036854775808, "maximum": 9223372036854775807},
      "b": {"type": "integer", "minimum": -9223372036854775808, "maximum": 9223372036854775807}}})"));
  ASSERT_TRUE(tool->output_schema);
  EXPECT_EQ(tool->output_schema->at("type"), "integer");
  EXPECT_EQ(tool->call({{"a", 2}, {"b", 3}}), 5);
  EXPECT_TRUE(allows(*tool, {{"a", 2}, {"b", 3}}));
  EXPECT_FALSE(allows(*tool, {{"a", 2}}));
  EXPECT_FALSE(allows(*tool, {{"a", 2}, {"b", 3}, {"c", 4}}));
}

TEST(Toolbox, IntegersHaveTheRangeOfTheirType) {
  Toolbox tools;
  tools.add("small", "", {"n"}, [](std::uint8_t n) { return n; });
  EXPECT_TRUE(allows(*tools.find("small"), {{"n", 255}}));
  EXPECT_FALSE(allows(*tools.find("small"), {{"n", 256}}));
  EXPECT_FALSE(allows(*tools.find("small"), {{"n", -1}}));
  EXPECT_EQ(tools.find("small")->call({{"n", 200}}), 200);
}

TEST(Toolbox, KnowsTheTypesThatItSays) {
  Toolbox tools;
  tools.add("all", "", {"flag", "real", "text", "bytes", "list", "map", "maybe", "any"},
            [](bool flag, double real, const std::string& text, Bytes bytes, std::vector<int> list,
               std::map<std::string, double> map, std::optional<int> maybe, Json any) {
              std::reverse(bytes.begin(), bytes.end());
              return Json{{"flag", flag},
                          {"real", real},
                          {"text", text},
                          {"bytes", JsonTypeOf<Bytes>::write(bytes)},
                          {"list", list},
                          {"map", map},
                          {"maybe", maybe ? Json(*maybe) : Json()},
                          {"any", any}};
            });
  const auto tool = tools.find("all");
  const Json arguments{{"flag", true},        {"real", 2.5},    {"text", "x"},
                       {"bytes", "AQID"},     {"list", {1, 2}}, {"map", {{"k", 1.5}}},
                       {"any", {{"deep", 1}}}};
  EXPECT_TRUE(allows(*tool, arguments)) << "what is optional may be missing";
  Json expected = arguments;
  expected["bytes"] = "AwIB";
  expected["maybe"] = nullptr;
  EXPECT_EQ(tool->call(arguments), expected);
  Json wrong = arguments;
  wrong["list"] = {1, "two"};
  EXPECT_FALSE(allows(*tool, wrong));
}

TEST(Toolbox, TakesDeclaredEnumsAndStructs) {
  Toolbox tools;
  tools.add("last", "", {"path"}, [](const Path& path) {
    Point point = path.points.back();
    point.name = path.unit == Unit::kelvin ? "kelvin" : "celsius";
    return point;
  });
  const auto tool = tools.find("last");
  const Json path{{"points", {{{"x", 1}, {"y", 2}}, {{"x", 3}, {"y", 4}, {"name", "b"}}}},
                  {"unit", "kelvin"}};
  EXPECT_TRUE(allows(*tool, {{"path", path}}));
  EXPECT_EQ(tool->call({{"path", path}}), (Json{{"x", 3.0}, {"y", 4.0}, {"name", "kelvin"}}));
  EXPECT_FALSE(allows(*tool, {{"path", {{"points", Json::array()}, {"unit", "miles"}}}}));
  EXPECT_FALSE(allows(*tool, {{"path", {{"points", {{{"x", 1}}}}, {"unit", "kelvin"}}}}));
  EXPECT_TRUE(Schema(*tool->output_schema).check(tool->call({{"path", path}})).empty());
}

TEST(Toolbox, DefaultsAndDescriptions) {
  Toolbox tools;
  tools.add("greet", "Greets.", {{"who", "whom to greet"}, {"times", "how often", 2}},
            [](const std::string& who, int times) {
              std::string text;
              for (int i = 0; i < times; ++i) text += "hello " + who + " ";
              return text;
            });
  const auto tool = tools.find("greet");
  EXPECT_EQ(tool->input_schema["required"], Json::array({"who"}));
  EXPECT_EQ(tool->input_schema["properties"]["who"]["description"], "whom to greet");
  EXPECT_EQ(tool->input_schema["properties"]["times"]["default"], 2);
  EXPECT_EQ(tool->call({{"who", "x"}}), "hello x hello x ");
  EXPECT_EQ(tool->call({{"who", "x"}, {"times", 1}}), "hello x ");
}

TEST(Toolbox, AToolWithoutAResultAnswersNull) {
  Toolbox tools;
  int called = 0;
  tools.add("touch", "", {}, [&called] { ++called; });
  EXPECT_EQ(tools.find("touch")->call(Json::object()), nullptr);
  EXPECT_EQ(called, 1);
  EXPECT_FALSE(tools.find("touch")->output_schema);
}

TEST(Toolbox, RefusesBadNamesAndDuplicates) {
  Toolbox tools;
  const auto named = [&](const std::string& name) {
    return refusal([&] { tools.add(name, "", {}, [] { return 1; }); });
  };
  EXPECT_EQ(named("a.b-c_D9"), "");
  EXPECT_TRUE(contains(named("a.b-c_D9"), "replace()"));
  for (const std::string& bad :
       {std::string(), std::string("a b"), std::string("a/b"), std::string(65, 'x'),
        std::string("t\xc3\xbc"), std::string("a\n")})
    EXPECT_TRUE(contains(named(bad), "1 to 64 characters")) << bad;
  EXPECT_EQ(named(std::string(64, 'x')), "");
}

TEST(Toolbox, RefusesWrongParametersDefaultsAndSchemas) {
  Toolbox tools;
  const auto two = [](int a, int b) { return a + b; };
  EXPECT_TRUE(contains(refusal([&] { tools.add("t", "", {"a"}, two); }), "takes 2"));
  EXPECT_TRUE(contains(refusal([&] {
                         tools.add("t", "", {"a", "a"}, two);
                       }),
                       "another parameter has the same name"));
  EXPECT_TRUE(contains(refusal([&] {
                         tools.add("t", "", {"a", {"b", "", "x"}}, two);
                       }),
                       "default"));
  Tool tool{.name = "t",
            .description = "",
            .input_schema = {{"type", "object"}, {"requird", Json::array()}},
            .output_schema = {},
            .options = {},
            .call = [](const Json& arguments) { return arguments; }};
  EXPECT_TRUE(contains(refusal([&] { tools.add(tool); }), "did you mean 'required'"));
  tool.input_schema = {{"type", "array"}};
  EXPECT_TRUE(contains(refusal([&] { tools.add(tool); }), "\"type\": \"object\""));
  tool.input_schema = {{"type", "object"}};
  tool.output_schema = Json{{"$ref", "http://127.0.0.1:1/"}};
  EXPECT_TRUE(contains(refusal([&] { tools.add(tool); }), "nothing is fetched"));
  tool.output_schema.reset();
  tool.call = nullptr;
  EXPECT_TRUE(contains(refusal([&] { tools.add(tool); }), "exactly one thing to run"));
  tool.call = [](const Json& arguments) { return arguments; };
  tool.options.policy.emplace().limits.timeout = std::chrono::milliseconds(0);
  EXPECT_FALSE(refusal([&] { tools.add(tool); }).empty()) << "a policy that is not valid";
  EXPECT_TRUE(tools.list().empty()) << "what was refused is not there";
}

TEST(Toolbox, ListsByNameAndFindsByNameOrDescription) {
  Toolbox tools;
  const auto nothing = [] { return 0; };
  tools.add("zip", "Packs files.", {}, nothing).add("cat", "Shows a FILE.", {}, nothing);
  tools.add("now", "Tells the time.", {}, nothing);
  const auto names = [&](const std::string& query) {
    std::string text;
    for (const auto& tool : tools.list(query)) text += tool->name + " ";
    return text;
  };
  EXPECT_EQ(names(""), "cat now zip ");
  EXPECT_EQ(names("file"), "cat zip ");
  EXPECT_EQ(names("NOW"), "now ");
  EXPECT_EQ(names("nothing like it"), "");
}

TEST(Toolbox, ChangesRaiseEvents) {
  Toolbox tools;
  std::vector<std::string> events;
  {
    const auto handle = tools.listen([&](const ToolEvent& event) {
      events.push_back(event.name + std::to_string(static_cast<int>(event.kind)));
      EXPECT_NO_THROW((void)tools.list()) << "a listener may look at the toolbox";
    });
    tools.add("a", "", {}, [] { return 1; });
    tools.replace(Toolbox::make_tool("a", "new", {}, [] { return 2; }));
    EXPECT_TRUE(tools.remove("a"));
    EXPECT_FALSE(tools.remove("a"));
  }
  tools.add("b", "", {}, [] { return 1; });
  EXPECT_EQ(events, (std::vector<std::string>{"a0", "a2", "a1"}));
  EXPECT_TRUE(contains(
      refusal([&] { tools.replace(Toolbox::make_tool("c", "", {}, [] { return 1; })); }), "add()"));
}

TEST(Toolbox, CanBeChangedByManyThreads) {
  Toolbox tools;
  std::atomic<int> heard{0};
  const auto handle = tools.listen([&](const ToolEvent&) { ++heard; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string name = std::to_string(t) + "." + std::to_string(i);
        tools.add(name, "", {"n"}, [](int n) { return n; });
        EXPECT_TRUE(tools.find(name));
        if (i % 2) {
          EXPECT_TRUE(tools.remove(name));
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tools.list().size(), 100u);
  EXPECT_EQ(heard, 300);
}

TEST(JsonType, Base64IsReadStrictly) {
  for (const char* good : {"", "AA==", "AAA=", "AAAA", "/+8="})
    EXPECT_EQ(detail::to_base64(detail::from_base64(good)), good);
  for (const char* bad : {"A", "AA", "A===", "AA=A", "AA A", "AAA\xff", "===="})
    EXPECT_THROW(detail::from_base64(bad), std::invalid_argument) << bad;
}

}  // namespace
}  // namespace brig
