#include "json/json_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <set>

#include "testing/json_same.h"

namespace brig {
namespace {

using namespace std::string_literals;

// Whether an object has a name twice, found with nlohmann's own events.
bool has_a_name_twice(const std::string& text) {
  std::vector<std::set<std::string>> names;
  bool twice = false;
  [[maybe_unused]] const Json value = Json::parse(
      text,
      [&](int, Json::parse_event_t event, Json& part) {
        if (event == Json::parse_event_t::object_start) names.emplace_back();
        if (event == Json::parse_event_t::key)
          twice = !names.back().insert(part.get<std::string>()).second || twice;
        if (event == Json::parse_event_t::object_end) names.pop_back();
        return true;
      },
      false);
  return twice;
}

// Checks that json_from gives what nlohmann's parser gives, and that json_text gives what nlohmann
// makes of that value. True if the text is JSON.
bool agrees(const std::string& text) {
  std::string fault;
  const std::optional<Json> value = json_from(text, fault);
  Json expected = Json::parse(text, nullptr, false);
  // For nlohmann a NUL byte ends the text, and of two members with one name the last one counts. No
  // valid text here has either.
  if (text.find('\0') != std::string::npos || has_a_name_twice(text))
    expected = Json::value_t::discarded;
  EXPECT_EQ(value.has_value(), !expected.is_discarded()) << text << "\n" << fault;
  const std::optional<Json> taken = json_taken_from(text, fault);
  EXPECT_EQ(taken, value) << text;
  if (!value || expected.is_discarded()) return false;
  EXPECT_TRUE(same(*value, expected)) << text << "\n" << *value << "\n" << expected;
  EXPECT_EQ(json_text(*value, fault), expected.dump()) << text;
  return true;
}

TEST(JsonText, ReadsWhatIsJson) {
  for (const std::string text : {
           "null",
           "true",
           "false",
           "[]",
           "{}",
           "[ ]",
           "{ }",
           " \t\r\n[1 ,\n2 ]\t",
           "\"\"",
           "\"/\\/\"",
           // numbers
           "0",
           "-0",
           "-0.0",
           "0.0",
           "1e5",
           "1E+05",
           "1e-05",
           "1.5e300",
           "-1",
           "9223372036854775807",
           "-9223372036854775808",
           "-9223372036854775809",
           "9223372036854775808",
           "18446744073709551615",
           "18446744073709551616",
           "123456789012345678901234567890",
           "1e-400",
           "-1e-400",
           "4.9406564584124654e-324",
           "2.2250738585072011e-308",
           "1.0",
           "1.7976931348623157e308",
           "0.1",
           "0.30000000000000004",
           "5e-324",
           "1e23",
           "9007199254740993",
           "0e0",
           "0e99999999999999999999",
           "0.0000000000000000000000000000000000000000000000000001",
           // strings
           R"("\"\\\/\b\f\n\r\t")",
           R"("\u0000\u001f\u007f\u0080\u07ff\u0800\uffff")",
           R"("\ud800\udc00\uDBFF\uDFFF\uD83D\uDE00")",
           "\"\x7f\"",
           "\"ü € 😀 \xF4\x8F\xBF\xBF\"",
           "\"\xEE\x80\x80\xED\x9F\xBF\xC2\x80\xE0\xA0\x80\xF0\x90\x80\x80\"",
           R"({"a":1,"b":{"a":null},"c":[{"a":1},{"a":2}]})",
           R"({"":{"":{}}})",
           "\xEF\xBB\xBF[1]",
           "\xEF\xBB\xBF 1",
       })
    EXPECT_TRUE(agrees(text)) << text;
}

TEST(JsonText, RefusesWhatIsNot) {
  for (const std::string& text : {
           ""s,
           " "s,
           "\xEF\xBB\xBF"s,
           "\xEF\xBB 1"s,
           " \xEF\xBB\xBF 1"s,
           "nul"s,
           "nulll"s,
           "True"s,
           "NaN"s,
           "Infinity"s,
           "-Infinity"s,
           "undefined"s,
           "1 2"s,
           "[1] x"s,
           "[1]]"s,
           "// c\n1"s,
           "/**/1"s,
           // numbers
           "01"s,
           "-"s,
           "-01"s,
           "+1"s,
           ".5"s,
           "1."s,
           "1.e5"s,
           "1e"s,
           "1e+"s,
           "1e5.0"s,
           "0x10"s,
           "1a"s,
           "1e400"s,
           "-1e400"s,
           "1"s + std::string(400, '0'),
           "--1"s,
           "1_000"s,
           "1,"s,
           "- 1"s,
           // strings
           "\""s,
           "\"abc"s,
           "'a'"s,
           "\"\\\""s,
           "\"\\x\""s,
           "\"\\"s,
           "\"a\nb\""s,
           "\"\t\""s,
           "\"\x1f\""s,
           "\"a\0b\""s,
           R"("\u12")"s,
           R"("\u123g")"s,
           R"("\u-123")"s,
           R"("\u+123")"s,
           R"("\u 123")"s,
           R"("\u0x12")"s,
           R"("\ud800")"s,
           R"("\udc00")"s,
           R"("\ud800\ud800")"s,
           R"("\ud800a")"s,
           R"("\ud800\n")"s,
           R"("\ud800\u0041")"s,
           R"("\U0041")"s,
           // not UTF-8: alone, overlong, a surrogate, above U+10FFFF, cut off
           "\"\x80\""s,
           "\"\xC0\x80\""s,
           "\"\xC1\xBF\""s,
           "\"\xE0\x9F\xBF\""s,
           "\"\xED\xA0\x80\""s,
           "\"\xF0\x8F\xBF\xBF\""s,
           "\"\xF4\x90\x80\x80\""s,
           "\"\xF5\x80\x80\x80\""s,
           "\"\xFF\""s,
           "\"\xE2\x82\""s,
           "\"\xE2\x82"s,
           "\"\xC3"s,
           "\"01234567\xC3\""s,
           "\"\xF0\x9F\x98\""s,
           // structure
           "["s,
           "]"s,
           "[1"s,
           "[1,"s,
           "[1,]"s,
           "[,1]"s,
           "[1 2]"s,
           "[1}"s,
           "{"s,
           "}"s,
           "{\"a\""s,
           "{\"a\":"s,
           "{\"a\":1"s,
           "{\"a\":1,}"s,
           "{,}"s,
           "{a:1}"s,
           "{1:2}"s,
           "{\"a\" 1}"s,
           "{\"a\":1 \"b\":2}"s,
           "{\"a\"::1}"s,
           "{\"a\":1]"s,
           "[1:2]"s,
           "[\"a\":1]"s,
           "{null:1}"s,
           // NUL is no end
           "1\0"s,
           "\0"s,
           "[1]\0x"s,
           "[1\0]"s,
           "[1,\0 2]"s,
           "{\"a\0\":1}"s,
       })
    EXPECT_FALSE(agrees(text)) << text;
}

TEST(JsonText, SaysWhereItStopsToBeJson) {
  std::string fault;
  EXPECT_FALSE(json_from("[1,\n 2,]", fault));
  EXPECT_EQ(fault.find("parse error at line 2, column 4: "), 0u) << fault;
  EXPECT_FALSE(json_from("1e400", fault));
  EXPECT_EQ(fault, "number overflow parsing '1e400'");
  EXPECT_FALSE(json_from("{}\0{}"s, fault));
  EXPECT_EQ(fault, "there is a NUL byte after its end");
}

// Readers differ in which of the two they take, so one could check a value and another use a
// different one.
TEST(JsonText, RefusesAnObjectThatHasANameTwice) {
  for (const auto& [text, name] : {std::pair(R"({"a":1,"a":1})", "'a'"),
                                   {R"({"\u0061":1,"a":2})", "'a'"},
                                   {R"([{"x":{"":0,"b":1,"":{}}}])", "''"},
                                   {R"({"a":{"x":1},"a":{"y":2}})", "'a'"}}) {
    std::string fault;
    EXPECT_FALSE(json_from(text, fault)) << text;
    EXPECT_EQ(fault, std::string("an object has ") + name + " twice");
    EXPECT_FALSE(json_taken_from(text, fault)) << text;
  }
}

TEST(JsonText, BoundsTheDepth) {
  const auto nested = [](std::size_t depth, const std::string& open, const std::string& close) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += open;
    text += "1";
    for (std::size_t i = 0; i < depth; ++i) text += close;
    return text;
  };
  std::string fault;
  for (const auto& [open, close] : {std::pair{"[", "]"}, {"{\"a\":", "}"}}) {
    EXPECT_TRUE(agrees(nested(kMaxJsonDepth, open, close)));
    const std::string deeper = nested(kMaxJsonDepth + 1, open, close);
    EXPECT_FALSE(json_from(deeper, fault));
    EXPECT_EQ(fault, "it is nested deeper than 128");
    EXPECT_FALSE(json_text(Json::parse(deeper), fault));
    EXPECT_EQ(fault, "a value that is too deep: it is nested deeper than 128");
    EXPECT_FALSE(json_from(nested(1'000'000, open, close), fault));
  }
  EXPECT_FALSE(json_from(std::string(1'000'000, '['), fault));
  EXPECT_EQ(fault, "it is nested deeper than 128");
}

TEST(JsonText, FindsTheEndOfAStringWhereverItIs) {
  // Strings are read and written a word at a time, so this tries every length with every odd byte
  // at every place.
  for (const std::string odd :
       {"\"", "\\", "\n", "\x01", "\x1f", "\x7f", "ü", "€", "😀", "\xff", "\xc3"})
    for (std::size_t size = 0; size < 20; ++size)
      for (std::size_t at = 0; at <= size; ++at) {
        std::string text(size, 'x');
        text.insert(at, odd);
        agrees('"' + text + '"');
        std::string fault;
        const bool utf8 = odd != "\xff" && odd != "\xc3";
        const std::optional<std::string> written = json_text(text, fault);
        ASSERT_EQ(written.has_value(), utf8);
        if (utf8) {
          ASSERT_EQ(*written, Json(text).dump());
        }
      }
}

TEST(JsonText, InPiecesIsTheSameTextAndLeavesLongRunsWhereTheyAre) {
  const std::string run(100'000, 'x');
  const Json value{{"a", run},
                   {"b", {run + "\n" + run, "short", 1, {{run, nullptr}}}},
                   {"c", "\"" + run + "ü\\"},
                   {"d", ""}};
  std::string fault, joined;
  const std::optional<JsonPieces> pieces = json_pieces(value, fault);
  ASSERT_TRUE(pieces) << fault;
  std::size_t own = 0;
  for (const std::string_view piece : pieces->list()) {
    joined += piece;
    if (piece.size() < run.size()) own += piece.size();
  }
  EXPECT_EQ(joined, value.dump());
  EXPECT_EQ(pieces->size(), joined.size());
  EXPECT_LT(own, 200u) << "a run was copied";
  const std::string* const first = value["a"].get_ptr<const std::string*>();
  EXPECT_EQ(pieces->list()[1].data(), first->data());

  // An outline and its runs give the same text.
  const std::vector<std::string_view> runs = pieces->runs();
  std::size_t next = 0;
  const GapFiller filler = [&](std::string& text, std::size_t size) {
    if (next == runs.size() || runs[next].size() != size) return false;
    text += runs[next++];
    return true;
  };
  const std::string outline = pieces->outline();
  EXPECT_LT(outline.size(), 300u);
  EXPECT_EQ(json_from(outline, fault, filler), value);
  EXPECT_EQ(next, runs.size());
  EXPECT_FALSE(json_from(outline, fault, filler)) << "it has no more";
  EXPECT_FALSE(json_from(outline, fault)) << "a gap is no JSON";
  next = 0;
  for (const char* bad : {"\"\x01\"",
                          "\"\x01"
                          "5\"",
                          "\"\x01-1\x01\"", "\"\x01\x01\"",
                          "\x01"
                          "5\x01"})
    EXPECT_FALSE(json_from(bad, fault, filler)) << bad;

  for (const Json& small : {Json(), Json::object(), Json("text"), Json{1, 2.5, "x"}}) {
    const std::optional<JsonPieces> one = json_pieces(small, fault);
    ASSERT_TRUE(one);
    ASSERT_EQ(one->list().size(), 1u);
    EXPECT_EQ(one->list()[0], small.dump());
  }
  EXPECT_FALSE(json_pieces(run + "\xff", fault));
  EXPECT_NE(fault.find("UTF-8"), std::string::npos);
}

TEST(JsonText, WritesNoLies) {
  const auto fault_of = [](const Json& value) {
    std::string fault;
    EXPECT_FALSE(json_text({1, {{"a", value}}}, fault));
    return fault;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(fault_of(std::nan("")), "a number that JSON does not have: NaN");
  EXPECT_EQ(fault_of(kInfinity), "a number that JSON does not have: infinity");
  EXPECT_EQ(fault_of(-kInfinity), "a number that JSON does not have: infinity");
  EXPECT_EQ(fault_of("a\xff"), "text that is not UTF-8 (bytes must go as base64)");
  EXPECT_EQ(fault_of({{"\xC0\x80", 1}}), "text that is not UTF-8 (bytes must go as base64)");
  EXPECT_EQ(fault_of(Json::binary({1, 2})), "a binary value, which JSON does not have");
}

// --- random ones ---

using Random = std::mt19937_64;
std::size_t below(Random& random, std::size_t limit) { return random() % limit; }

std::string random_text(Random& random) {
  static const char* const kPieces[] = {
      "a",    "key",  "\"", "\\", "\n", "\t", "\b",
      "\x01", "\x7f", "/",  "ü",  "€",  "😀",  "plain text of some length",
      "{[",   "]}",   ","};
  std::string text;
  for (std::size_t n = below(random, 6); n > 0; --n)
    text += kPieces[below(random, std::size(kPieces))];
  return text;
}

Json random_value(Random& random, unsigned depth) {
  switch (depth == 1 ? 8 + below(random, 2) : below(random, depth > 4 ? 8 : 10)) {
    case 0: return nullptr;
    case 1: return below(random, 2) == 0;
    case 2: return random() >> below(random, 64);
    case 3: return static_cast<std::int64_t>(random()) >> below(random, 64);
    case 4:
      return std::ldexp(static_cast<double>(random() >> 11),
                        static_cast<int>(below(random, 2000)) - 1074);
    case 5: return static_cast<double>(below(random, 100'000)) / 100;
    case 6:
    case 7: return random_text(random);
    case 8: {
      Json object = Json::object();
      for (std::size_t n = below(random, 5); n > 0; --n)
        object[random_text(random)] = random_value(random, depth + 1);
      return object;
    }
    default: {
      Json array = Json::array();
      for (std::size_t n = below(random, 5); n > 0; --n)
        array.push_back(random_value(random, depth + 1));
      return array;
    }
  }
}

void mutate(Random& random, std::string& text) {
  static const char* const kPieces[] = {"\"",       "\\",
                                        "\\u",      "\\ud83d",
                                        "\\ude00",  "00",
                                        "e",        "E+",
                                        ".",        "-",
                                        "{",        "}",
                                        "[",        "]",
                                        ",",        ":",
                                        " ",        "null",
                                        "1e999",    "\xEF\xBB\xBF",
                                        "\xF0",     "\x80",
                                        "\xED\xA0", "\x1f",
                                        "1e-999",   "99999999999999999999"};
  const std::size_t at = below(random, text.size() + 1), size = below(random, 4);
  switch (below(random, 4)) {
    case 0: text.insert(at, kPieces[below(random, std::size(kPieces))]); break;
    case 1: text.erase(at, size + 1); break;
    case 2: text.insert(at, text.substr(below(random, text.size() + 1), size)); break;
    default:
      if (at < text.size()) text[at] = static_cast<char>(random());
  }
}

TEST(JsonText, AgreesOnRandomDocumentsAndTheirMutations) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  Random random(20240607);
  unsigned documents = 0, valid = 0, refused = 0;
  for (; documents < 100'000 && !testing::Test::HasFailure(); ++documents) {
    if (documents % 100 == 0 && std::chrono::steady_clock::now() > until) break;
    const Json value = random_value(random, 1);
    std::string fault;
    const std::optional<std::string> written = json_text(value, fault);
    ASSERT_EQ(written, value.dump());
    std::string text = below(random, 4) ? *written : value.dump(static_cast<int>(below(random, 3)));
    for (std::size_t n = below(random, 3); n > 0; --n) mutate(random, text);
    agrees(text) ? ++valid : ++refused;
  }
  RecordProperty("documents", static_cast<int>(documents));
  EXPECT_GT(valid, documents / 4);
  EXPECT_GT(refused, documents / 4);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Freed memory stays in quarantine, and all memory has a shadow.
constexpr std::size_t kSlack = 384 << 20;
#else
constexpr std::size_t kSlack = 96 << 20;
#endif

// The most memory that this process has had since reset_peak(), or ever.
std::size_t peak_memory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::size_t kib = 0;
  while (status >> word)
    if (word == "VmHWM:") status >> kib;
  return kib << 10;
}

void reset_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
}

std::string array_of(std::string_view part, std::size_t size) {
  std::string text = "[";
  while (text.size() < size) text += part;
  text.back() = ']';
  return text;
}

TEST(JsonText, TheWorstTextTakesFourTimesItsSizeAndAConstant) {
  constexpr std::size_t kSize = 8 << 20;
  std::string keys = "{";
  for (int i = 0; keys.size() < kSize; ++i) keys += fmt::format("\"{:x}\":1,", i);
  keys.back() = '}';
  std::string deep;
  for (const std::string part = std::string(120, '[') + std::string(120, ']') + ",";
       deep.size() < kSize;)
    deep += part;
  deep = "[" + deep;
  deep.back() = ']';
  std::string unfinished = array_of("{},", kSize);
  unfinished.back() = ',';
  const std::pair<const char*, std::string> texts[] = {
      {"empty objects", array_of("{},", kSize)},
      {"empty arrays", array_of("[],", kSize)},
      {"small numbers", array_of("1,", kSize)},
      {"empty strings", array_of("\"\",", kSize)},
      {"short strings", array_of("\"sixteen letters!\",", kSize)},
      {"small objects", array_of("{\"a\":{}},", kSize)},
      {"keys", std::move(keys)},
      {"depth", std::move(deep)},
      {"unfinished", std::move(unfinished)}};
  for (const auto& [what, text] : texts) {
    reset_peak();
    const std::size_t before = peak_memory();
    std::string fault;
    const bool taken = json_from(text, fault).has_value();
    EXPECT_LT(peak_memory() - before, 4 * text.size() + kSlack) << what;
    // In this one some of the memory is text, which the allowance does not count.
    if (what == std::string_view("short strings")) continue;
    EXPECT_FALSE(taken) << what;
    EXPECT_TRUE(is_too_many(fault)) << what << ": " << fault;
  }
}

TEST(JsonText, AMillionValuesAreNotTooMany) {
  for (const char* part : {"1,", "0.25,", "true,"}) {
    std::string text = "[", fault;
    for (int i = 0; i < 1'000'000; ++i) text += part;
    text.back() = ']';
    EXPECT_TRUE(json_from(text, fault)) << part << fault;
  }
  // A long text may hold more values.
  std::string text = "[", fault;
  for (int i = 0; i < 1'800'000; ++i) text += "0.12345678901234567,";
  text.back() = ']';
  EXPECT_TRUE(json_from(text, fault)) << fault;
}

TEST(JsonText, AFaultOfALongTextIsShort) {
  const std::string longest(3 << 20, 'a');
  for (const std::string& text :
       {"\"" + longest, "{\"" + longest + "\" 1}", "[" + longest + "]", "\"" + longest + "\"x",
        "\"" + std::string(10'000, 'a'), "[\"" + std::string(10'000, 'a') + "\":]"}) {
    std::string fault;
    EXPECT_FALSE(json_from(text, fault));
    EXPECT_LT(fault.size(), 500u) << text.substr(0, 10);
    EXPECT_NE(fault.find("error"), std::string::npos) << fault;
  }
  std::string fault;
  EXPECT_FALSE(json_from("[\"" + longest + "\"", fault));
  EXPECT_EQ(fault, "syntax error after byte 3145731 of 3145731");
}

TEST(JsonText, ARefusalSaysWhatTheLimitIsAndNotThatItIsNoJson) {
  std::string fault;
  EXPECT_FALSE(json_from(array_of("{},", 3 << 20), fault));
  const std::string refusal = json_refusal("not JSON: ", fault);
  EXPECT_EQ(refusal.find("not JSON"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("64 MiB"), std::string::npos) << refusal;
  EXPECT_FALSE(json_from("[", fault));
  EXPECT_FALSE(is_too_many(fault));
  EXPECT_EQ(json_refusal("not JSON: ", fault).find("not JSON: "), 0u);
}

}  // namespace
}  // namespace brig
