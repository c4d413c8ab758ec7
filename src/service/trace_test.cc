#include "service/trace.h"

#include <gtest/gtest.h>

namespace brig::serve {
namespace {

constexpr const char* kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr const char* kParent = "00f067aa0ba902b7";
const std::string kGood = std::string("00-") + kTrace + "-" + kParent + "-01";

bool is_hex(const std::string& text, std::size_t size) {
  return text.size() == size && text.find_first_not_of("0123456789abcdef") == text.npos &&
         text.find_first_not_of('0') != text.npos;
}

TEST(Trace, GoesOnWithTheCallers) {
  const Trace trace = Trace::from(&kGood);
  EXPECT_EQ(trace.trace_id, kTrace);
  EXPECT_EQ(trace.parent_id, kParent);
  EXPECT_TRUE(is_hex(trace.span_id, 16)) << trace.span_id;
  EXPECT_NE(trace.span_id, kParent);
  EXPECT_EQ(trace.traceparent(), std::string("00-") + kTrace + "-" + trace.span_id + "-01");
}

TEST(Trace, BeginsWhereThereIsNone) {
  const Trace a = Trace::from(nullptr), b = Trace::from(nullptr);
  EXPECT_TRUE(is_hex(a.trace_id, 32)) << a.trace_id;
  EXPECT_TRUE(is_hex(a.span_id, 16)) << a.span_id;
  EXPECT_EQ(a.parent_id, "");
  EXPECT_NE(a.trace_id, b.trace_id);
  EXPECT_NE(a.span_id, b.span_id);
  EXPECT_EQ(a.traceparent(), "00-" + a.trace_id + "-" + a.span_id + "-00");
}

TEST(Trace, OfALaterVersionMayHaveMoreBehindIt) {
  const std::string rest = kGood.substr(2);
  for (const std::string& text :
       {"01" + rest, "cc" + rest + "-what-the-future-brings", "fe" + rest}) {
    EXPECT_EQ(Trace::from(&text).trace_id, kTrace) << text;
    EXPECT_EQ(Trace::from(&text).traceparent().substr(0, 3), "00-") << "ours is the first version";
  }
}

TEST(Trace, ThatIsMalformedIsBegunAnew) {
  const std::string trace = kTrace, parent = kParent, rest = kGood.substr(2);
  for (const std::string& text :
       {std::string(), std::string("x"), "ff" + rest, "0g" + rest, kGood + "-more", kGood + " ",
        "01" + rest + "more", kGood.substr(0, 54),
        "00-" + std::string(32, '0') + "-" + parent + "-01",
        "00-" + trace + "-" + std::string(16, '0') + "-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + parent + "-01",
        "00-" + trace + "-00F067AA0BA902B7-01", "00-" + trace + "-" + parent + "-0G",
        "00_" + trace + "_" + parent + "_01", " " + kGood, "00-" + trace + parent + "--01"}) {
    const Trace made = Trace::from(&text);
    EXPECT_NE(made.trace_id, kTrace) << text;
    EXPECT_TRUE(is_hex(made.trace_id, 32)) << text;
    EXPECT_EQ(made.parent_id, "") << text;
    EXPECT_EQ(made.flags, "00") << text;
  }
}

}  // namespace
}  // namespace brig::serve
