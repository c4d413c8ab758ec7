#include "serve/http.h"

#include <gtest/gtest.h>

namespace brig::serve {
namespace {

using namespace std::string_literals;

Request accepting(std::vector<std::string> values) {
  Request request;
  for (std::string& each : values) request.headers.push_back({"accept", std::move(each)});
  return request;
}

TEST(Request, WithoutAnAcceptHeaderAnythingIsTaken) {
  EXPECT_TRUE(Request().accepts("text/event-stream"));
  EXPECT_FALSE(Request().accepts("text/event-stream", true)) << "but it was not asked for";
}

TEST(Request, ATypeIsAcceptedByItsNameInAnyCaseAndPlace) {
  for (const char* value :
       {"text/event-stream", "TEXT/Event-Stream", "  text/event-stream\t",
        "application/json, text/event-stream", "a/b;q=0.1 , text/event-stream;q=0.9;x=y"}) {
    EXPECT_TRUE(accepting({value}).accepts("text/event-stream", true)) << value;
    EXPECT_TRUE(accepting({value}).accepts("text/event-stream")) << value;
  }
  EXPECT_TRUE(accepting({"a/b", "text/event-stream"}).accepts("text/event-stream", true))
      << "in a second header";
}

TEST(Request, ARangeAcceptsATypeButDoesNotNameIt) {
  for (const char* value : {"*/*", "text/*", "a/b, */*;q=0.1"}) {
    EXPECT_TRUE(accepting({value}).accepts("text/event-stream")) << value;
    EXPECT_FALSE(accepting({value}).accepts("text/event-stream", true)) << value;
  }
  for (const char* value : {"application/*", "tex/*", "text", "*", "", ",", ";q=1",
                            "text/event-stream-x", "text/event", "xtext/event-stream"})
    EXPECT_FALSE(accepting({value}).accepts("text/event-stream")) << value;
}

TEST(Request, AHeaderIsFoundByItsNameTheFirstOfSeveral) {
  Request request;
  request.headers = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
  ASSERT_NE(request.header("a"), nullptr);
  EXPECT_EQ(*request.header("a"), "1");
  EXPECT_EQ(request.count("a"), 2u);
  EXPECT_EQ(request.header("c"), nullptr);
  EXPECT_EQ(request.count("c"), 0u);
}

TEST(Request, AParameterIsDecoded) {
  Request request;
  request.query = "a=1&query=two+words%21&empty=&bare&a=2&bad=%zz";
  EXPECT_EQ(request.parameter("a"), "1") << "the first";
  EXPECT_EQ(request.parameter("query"), "two words!");
  EXPECT_EQ(request.parameter("empty"), "");
  EXPECT_EQ(request.parameter("bare"), "");
  EXPECT_EQ(request.parameter("none"), std::nullopt);
  EXPECT_EQ(request.parameter("bad"), std::nullopt);
  request.query = "";
  EXPECT_EQ(request.parameter(""), std::nullopt);
}

TEST(PercentDecoding, TakesWhatIsWellFormed) {
  EXPECT_EQ(percent_decoded("a%20b"), "a b");
  EXPECT_EQ(percent_decoded("%41%6a%4A"), "AjJ");
  EXPECT_EQ(percent_decoded(""), "");
  EXPECT_EQ(percent_decoded("%C3%A4"), "ä");
  EXPECT_EQ(percent_decoded("a+b"), "a+b");
  EXPECT_EQ(percent_decoded("a+b%2B", true), "a b+");
}

TEST(PercentDecoding, RefusesWhatIsNotAndNul) {
  for (const std::string& text : {"%"s, "%4"s, "a%"s, "%g0"s, "%0g"s, "% 1"s, "%00"s, "a\0b"s})
    EXPECT_EQ(percent_decoded(text), std::nullopt) << text;
}

TEST(ServerSentEvent, IsThreeLinesAndAnEmptyOne) {
  EXPECT_EQ(sse_event("queued", "{}", "7"), "id: 7\nevent: queued\ndata: {}\n\n");
}

TEST(ServerSentEvent, HasNoMoreThanItWasGiven) {
  EXPECT_EQ(sse_event("message", "x"), "event: message\ndata: x\n\n");
  EXPECT_EQ(sse_event("", ""), "data: \n\n");
}

TEST(Reason, EveryStatusThatIsUsedHasOne) {
  for (const unsigned status : {200u, 202u, 204u, 400u, 401u, 403u, 404u, 405u, 406u, 408u,
                                409u, 413u, 415u, 417u, 422u, 429u, 431u, 500u, 503u, 505u})
    EXPECT_NE(reason_of(status), "Unknown") << status;
}

}  // namespace
}  // namespace brig::serve
