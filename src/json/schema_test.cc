#include "json/schema.h"

#include <brig/error.h>
#include <gtest/gtest.h>

#include "testing/refusal.h"

#include <algorithm>

namespace brig {
namespace {

Json parse(const std::string& text) { return Json::parse(text); }

std::string refused(const std::string& schema) {
  return refusal([&] { const Schema compiled(parse(schema)); });
}

std::vector<SchemaFault> faults(const std::string& schema, const std::string& value) {
  return Schema(parse(schema)).check(parse(value));
}

TEST(Schema, TellsEveryFaultWithItsPath) {
  const char* schema = R"({"type": "object", "additionalProperties": false,
    "properties": {"count": {"type": "integer", "minimum": 1},
                   "name": {"type": "string", "maxLength": 3},
                   "list": {"type": "array", "items": {"type": "boolean"}}},
    "required": ["count", "other"]})";
  const std::vector<SchemaFault> expected{
      {"/other", "a value: it is required"},
      {"/cuont", "no member of this name; did you mean 'count'?"},
      {"/list/1", "a boolean, not an integer"},
      {"/name", "at most 3 characters"},
  };
  auto found = faults(schema, R"({"name": "four", "list": [true, 1], "cuont": 3, "count": 5})");
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  auto sorted = expected;
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  ASSERT_EQ(found.size(), sorted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].path, sorted[i].path);
    EXPECT_EQ(found[i].expected, sorted[i].expected);
  }
}

TEST(Schema, PathsEscapeSlashesAndTildes) {
  const auto found = faults(R"({"additionalProperties": {"type": "null"}})", R"({"a/b~c": 1})");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, "/a~1b~0c");
}

TEST(Schema, RefusesWhatItDoesNotKnow) {
  EXPECT_TRUE(contains(refused(R"({"minimun": 3})"), "did you mean 'minimum'"));
  EXPECT_TRUE(contains(refused(R"({"properties": {"a": {"unevaluatedProperties": false}}})"),
                       "/properties/a/unevaluatedProperties"));
  EXPECT_TRUE(contains(refused(R"({"$dynamicRef": "#a"})"), "not a keyword"));
  EXPECT_TRUE(contains(refused(R"({"items": [{}]})"), "prefixItems"));
  EXPECT_TRUE(contains(refused(R"({"type": "int"})"), "not a type"));
  EXPECT_TRUE(contains(refused(R"j({"pattern": "(?=x)"})j"), "RE2"));
  EXPECT_TRUE(contains(refused(R"({"minLength": -1})"), "not negative"));
  EXPECT_TRUE(contains(refused(R"({"multipleOf": 0})"), "above 0"));
  EXPECT_TRUE(contains(refused("7"), "object, true or false"));
}

TEST(Schema, FetchesNothing) {
  EXPECT_TRUE(contains(refused(R"({"$ref": "http://127.0.0.1:1/schema"})"), "nothing is fetched"));
  EXPECT_TRUE(contains(refused(R"({"$ref": "other.json"})"), "nothing is fetched"));
  EXPECT_TRUE(contains(refused(R"({"$ref": "file:///etc/passwd"})"), "nothing is fetched"));
}

TEST(Schema, RefusesReferencesThatLeadNowhereOrRound) {
  EXPECT_TRUE(contains(refused(R"({"$ref": "#/$defs/missing"})"), "there is no schema here"));
  EXPECT_TRUE(contains(refused(R"({"$ref": "#"})"), "leads back"));
  EXPECT_TRUE(
      contains(refused(R"({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}})"),
               "leads back"));
}

TEST(Schema, FollowsRecursiveOnes) {
  const char* tree = R"({"type": "object", "properties": {"next": {"$ref": "#"}},
                         "additionalProperties": false})";
  EXPECT_TRUE(faults(tree, R"({"next": {"next": {}}})").empty());
  const auto found = faults(tree, R"({"next": {"next": {"other": 1}}})");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].path, "/next/next/other");
}

TEST(Schema, IsBoundedInDepth) {
  std::string deep, shut;
  for (int i = 0; i < 100'000; ++i) {
    deep += "[";
    shut += "]";
  }
  const auto found = Schema(Json::object()).check(parse(deep + shut));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(contains(found[0].expected, "64 levels deep"));
  std::string schema = "true";
  for (int i = 0; i < 200; ++i) schema = R"({"not": )" + schema + "}";
  EXPECT_TRUE(contains(refused(schema), "deeper than"));
}

TEST(Schema, IsBoundedInWork) {
  // Each level doubles the work: 2^40 checks if nothing counted them.
  std::string defs;
  for (int i = 0; i < 40; ++i) {
    const std::string next = R"({"$ref": "#/$defs/d)" + std::to_string(i + 1) + R"("})";
    defs += R"("d)" + std::to_string(i) + R"(": {"allOf": [)" + next + ", " + next + "]},";
  }
  const auto found =
      faults(R"({"$defs": {)" + defs + R"("d40": true}, "$ref": "#/$defs/d0"})", "1");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(contains(found[0].expected, "less work"));
}

TEST(Schema, PatternsTakeLinearTime) {
  const std::string text(100'000, 'a');
  const Schema schema(parse(R"({"pattern": "^(a+)+$"})"));
  EXPECT_TRUE(schema.check(text).empty());
  EXPECT_FALSE(schema.check(text + "b").empty());
}

TEST(Schema, FaultsAreBoundedInNumber) {
  Json many = Json::array();
  for (int i = 0; i < 10'000; ++i) many.push_back("x");
  EXPECT_EQ(Schema(parse(R"({"items": {"type": "null"}})")).check(many).size(), Schema::kMaxFaults);
}

TEST(Schema, TakesLargeNumbersAsTheyAre) {
  const char* schema = R"({"type": "integer", "minimum": -9223372036854775808,
                           "maximum": 9223372036854775807})";
  EXPECT_TRUE(faults(schema, "9223372036854775807").empty());
  EXPECT_FALSE(faults(schema, "9223372036854775808").empty());
  EXPECT_TRUE(faults(R"({"type": "integer"})", "1.0").empty());
  EXPECT_FALSE(faults(R"({"type": "integer"})", "1.5").empty());
}

struct Coercion {
  const char *type, *before, *after;
};

TEST(Schema, CoercesWhatAStringPlainlyStandsFor) {
  for (const Coercion& each : {Coercion{R"("integer")", R"("8")", "8"},
                               {R"("integer")", R"("8.0")", "8"},
                               {R"("integer")", R"("-3")", "-3"},
                               {R"("integer")", R"("8.5")", R"("8.5")"},
                               {R"("integer")", R"("8x")", R"("8x")"},
                               {R"("integer")", R"("")", R"("")"},
                               {R"("number")", R"("2.5")", "2.5"},
                               {R"("number")", R"("inf")", R"("inf")"},
                               {R"("boolean")", R"("true")", "true"},
                               {R"("boolean")", R"("Yes")", "true"},
                               {R"("boolean")", R"("0")", "false"},
                               {R"("boolean")", R"("")", "false"},
                               {R"("boolean")", R"("maybe")", R"("maybe")"},
                               {R"("string")", R"("8")", R"("8")"},
                               {R"(["integer", "string"])", R"("8")", R"("8")"},
                               {R"("integer")", "true", "true"}}) {
    Json value = parse(each.before);
    Schema(Json{{"type", parse(each.type)}}).coerce(value);
    EXPECT_EQ(value.dump(), each.after) << each.type << " " << each.before;
  }
}

TEST(Schema, CoercesInsideObjectsAndArrays) {
  Json value = parse(R"({"n": "1", "list": ["2", "x"], "pair": ["3", "4"], "other": "5"})");
  Schema(parse(R"({"properties": {"n": {"$ref": "#/$defs/int"},
                                  "list": {"items": {"type": "integer"}},
                                  "pair": {"prefixItems": [{"type": "number"}]}},
                   "$defs": {"int": {"type": "integer"}}})"))
      .coerce(value);
  EXPECT_EQ(value, parse(R"({"n": 1, "list": [2, "x"], "pair": [3, "4"], "other": "5"})"));
}

TEST(Schema, AnAnchorIsAPlaceToReferTo) {
  const Json document{{"$defs", {{"a", {{"$anchor", "whole"}, {"type", "integer"}}}}},
                      {"properties", {{"n", {{"$ref", "#whole"}}}}}};
  const Schema schema(document);
  EXPECT_TRUE(schema.check({{"n", 3}}).empty());
  EXPECT_FALSE(schema.check({{"n", "3"}}).empty());
  EXPECT_THROW(Schema(Json{{"$ref", "#nowhere"}}), SchemaError);
  EXPECT_THROW(Schema(Json{{"$anchor", ""}}), SchemaError);
  EXPECT_THROW(Schema(Json{{"$defs", {{"a", {{"$anchor", "x"}}}, {"b", {{"$anchor", "x"}}}}}}),
               SchemaError);
}

TEST(Schema, KeywordsOfOthersAreNotes) {
  EXPECT_TRUE(Schema(Json{{"x-mcp-header", "Region"}, {"type", "string"}}).check("eu").empty());
  EXPECT_THROW(Schema(Json{{"X-header", 1}}), SchemaError);
}

TEST(Schema, ACountBeyondAllNumbersIsNoBound) {
  EXPECT_TRUE(Schema(Json{{"maxLength", 1e308}}).check("text").empty());
  EXPECT_FALSE(Schema(Json{{"minLength", 1e308}}).check("text").empty());
}

TEST(Schema, TextThatIsNotUtf8IsNoSchema) {
  Json schema;
  schema["description"] = "\xff";
  EXPECT_THROW(Schema{schema}, Error);
}

// A text for each value below a name once took time in proportion to the name's length times the
// number of values.
TEST(Schema, ALongNameIsToldInShortAndCostsNothing) {
  const Schema schema(
      Json{{"type", "object"},
           {"additionalProperties", {{"type", "array"}, {"items", {{"type", "integer"}}}}}});
  const std::string name(8 << 20, 'n');
  const Json good{{name, Json(Json::array_t(1'000'000, 1))}};
  EXPECT_TRUE(schema.check(good).empty());
  const auto faults = schema.check({{name, Json(Json::array_t(1'000'000, "x"))}});
  ASSERT_EQ(faults.size(), Schema::kMaxFaults);
  EXPECT_EQ(faults[3].path, "/" + std::string(200, 'n') + ".../3");
  const auto cut = schema.check({{std::string(199, 'n') + "\u00e9\u00e9", 1}});
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_EQ(cut[0].path, "/" + std::string(199, 'n') + "...");
}

TEST(Schema, TellsTwoEqualItemsAmongMany) {
  const Schema schema(Json{{"uniqueItems", true}});
  Json items = Json::array();
  for (int i = 0; i < 300'000; ++i) items.push_back(i);
  EXPECT_TRUE(schema.check(items).empty());
  items[0] = 299'999;
  EXPECT_EQ(schema.check(items).size(), 1u);
  EXPECT_EQ(schema.check(Json{1, "1", 1.0}).size(), 1u);
}

}  // namespace
}  // namespace brig
