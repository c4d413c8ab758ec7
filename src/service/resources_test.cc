#include "service/resources.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace brig::serve {
namespace {

CallerPtr caller_of(const std::string& name, bool alone = false) {
  auto caller = std::make_shared<Caller>();
  caller->name = name;
  caller->alone = alone;
  return caller;
}

class McpResource : public testing::Test {
 protected:
  Json read(const McpResources& from, const CallerPtr& owner, const std::string& uri) {
    fault.clear();
    return from.read(owner, uri, fault).value_or(Json());
  }
  std::size_t listed(const McpResources& from, const CallerPtr& owner) {
    bool more = false;
    return from.list(owner, "", more)->size();
  }
  Loop loop;
  const CallerPtr a = caller_of("a"), b = caller_of("b");
  std::string fault;
};

TEST_F(McpResource, IsListedAndReadByItsOwner) {
  McpResources kept(loop);
  const Json told = kept.keep(a, "d/out ü.csv", "text/csv", "x,y\n");
  const std::string uri = told["uri"];
  EXPECT_TRUE(uri.starts_with("brig://kept/"));
  EXPECT_TRUE(uri.ends_with("/d/out%20%C3%BC.csv"));
  EXPECT_EQ(told["name"], "d/out ü.csv");
  EXPECT_EQ(told["size"], 4);
  EXPECT_EQ(read(kept, a, uri)["contents"][0],
            (Json{{"uri", uri}, {"mimeType", "text/csv"}, {"text", "x,y\n"}}));
  EXPECT_EQ(listed(kept, a), 1u);
  const Json blob = kept.keep(a, "b", "application/octet-stream", "\xff");
  EXPECT_EQ(read(kept, a, blob["uri"])["contents"][0]["blob"], "/w==");
}

TEST_F(McpResource, IsNothingToAnybodyElse) {
  McpResources kept(loop);
  const std::string uri = kept.keep(a, "x", "text/plain", "secret")["uri"];
  EXPECT_TRUE(read(kept, b, uri).is_null());
  const std::string others = fault;
  EXPECT_TRUE(read(kept, b, "brig://kept/00000000000000000000000000000000/x").is_null());
  EXPECT_EQ(fault, others) << "nor does it show that there is one";
  EXPECT_EQ(listed(kept, b), 0u);
  bool more = false;
  EXPECT_FALSE(kept.list(b, uri, more)) << "as a cursor, neither";
  for (const char* bad : {"", "x", "?offset=0", "brig://kept/", "file:///etc/passwd"})
    EXPECT_TRUE(read(kept, a, bad).is_null()) << bad;
}

TEST_F(McpResource, ALargeOneIsReadInParts) {
  McpResources kept(loop, {.page = 10});
  std::string text;
  for (int i = 0; i < 11; ++i) text += "€";
  const std::string uri = kept.keep(a, "t", "text/plain", text)["uri"];
  EXPECT_TRUE(read(kept, a, uri).is_null());
  EXPECT_NE(fault.find("?offset=0"), fault.npos) << fault;
  std::string all, at = uri + "?offset=0";
  for (int i = 0; i < 10 && !at.empty(); ++i) {
    const Json part = read(kept, a, at);
    ASSERT_FALSE(part.is_null()) << fault;
    const std::string piece = part["contents"][0]["text"];
    EXPECT_TRUE(is_valid_utf8(piece) && piece.size() <= 10);
    all += piece;
    at = part.value("/_meta/brig~1next"_json_pointer, "");
  }
  EXPECT_EQ(all, text);
  for (const char* bad :
       {"?offset=", "?offset=34", "?offset=-1", "?offset=1x", "?offset=99999999999999999999999"})
    EXPECT_TRUE(read(kept, a, uri + bad).is_null()) << bad;
  EXPECT_TRUE(read(kept, b, uri + "?offset=0").is_null());
}

TEST_F(McpResource, ACallerThatKeepsMuchLosesItsOldestAndOthersNothing) {
  McpResources kept(loop, {.count = 100, .bytes = 1000});
  const std::string others = kept.keep(b, "b", "text/plain", "b")["uri"];
  const std::string first = kept.keep(a, "a", "text/plain", std::string(100, 'a'))["uri"];
  std::string last;
  for (int i = 0; i < 50; ++i) {
    const Json told = kept.keep(a, "a", "text/plain", std::string(100, 'a'));
    ASSERT_FALSE(told.is_null());
    last = told["uri"];
  }
  EXPECT_LE(kept.bytes(), 1000u);
  EXPECT_TRUE(read(kept, a, first).is_null());
  EXPECT_FALSE(read(kept, a, last).is_null());
  EXPECT_FALSE(read(kept, b, others).is_null());
  EXPECT_TRUE(kept.keep(a, "a", "text/plain", std::string(2000, 'a')).is_null());
  EXPECT_FALSE(read(kept, a, last).is_null()) << "what can't be kept costs nothing that is";
}

TEST_F(McpResource, GoesAfterAWhile) {
  McpResources kept(loop);
  const std::string uri = kept.keep(a, "a", "text/plain", "a")["uri"];
  const auto now = std::chrono::steady_clock::now();
  kept.expire(now + std::chrono::minutes(9));
  EXPECT_FALSE(read(kept, a, uri).is_null());
  kept.expire(now + std::chrono::minutes(11));
  EXPECT_TRUE(read(kept, a, uri).is_null());
  EXPECT_EQ(kept.bytes(), 0u);
}

TEST_F(McpResource, OneAloneMayHaveAll) {
  McpResources kept(loop, {.bytes = 1000});
  const CallerPtr alone = caller_of("x", true);
  EXPECT_FALSE(kept.keep(alone, "a", "text/plain", std::string(1000, 'a')).is_null());
  EXPECT_FALSE(kept.keep(alone, "a", "text/plain", std::string(1, 'a')).is_null());
  EXPECT_EQ(kept.count(), 1u);
}

TEST_F(McpResource, AListComesInPages) {
  McpResources kept(loop);
  for (int i = 0; i < 250; ++i) kept.keep(i % 2 ? a : b, std::to_string(i), "text/plain", "x");
  std::size_t all = 0;
  std::string after;
  for (bool more = true; more;) {
    const auto page = kept.list(a, after, more);
    ASSERT_TRUE(page);
    all += page->size();
    after = page->back()["uri"];
  }
  EXPECT_EQ(all, 125u);
}

TEST_F(McpResource, IsCalledByWhatItIs) {
  EXPECT_EQ(mime_type_of("x.txt", "\x89PNG\r\n\x1a\n..."), "image/png");
  EXPECT_EQ(mime_type_of("x.csv", "a,b"), "text/csv");
  EXPECT_EQ(mime_type_of("x.csv", "\xff"), "application/octet-stream");
  EXPECT_EQ(mime_type_of("x", "text"), "text/plain");
}

TEST_F(McpResource, TextThatWouldGrowAsJsonIsSentAsBytes) {
  McpResources kept(loop);
  const Json told = kept.keep(a, "x", "text/plain", std::string(1000, '\x01'));
  EXPECT_TRUE(read(kept, a, told["uri"])["contents"][0].contains("blob"));
}

}  // namespace
}  // namespace brig::serve
