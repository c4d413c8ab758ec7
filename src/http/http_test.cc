#include "http/http.h"

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
  EXPECT_EQ(Request().quality_of("text/event-stream"), 1000u);
}

TEST(Request, ATypeIsAcceptedByItsNameInAnyCaseAndPlace) {
  for (const char* value :
       {"text/event-stream", "TEXT/Event-Stream", "  text/event-stream\t",
        "application/json, text/event-stream", "a/b;q=0.1 , text/event-stream;q=0.9;x=y"})
    EXPECT_TRUE(accepting({value}).accepts("text/event-stream")) << value;
  EXPECT_TRUE(accepting({"a/b", "text/event-stream"}).accepts("text/event-stream"))
      << "in a second header";
}

TEST(Request, ARangeAcceptsItsTypes) {
  for (const char* value : {"*/*", "text/*", "a/b, */*;q=0.1"})
    EXPECT_TRUE(accepting({value}).accepts("text/event-stream")) << value;
  for (const char* value : {"application/*", "tex/*", "text", "*", "", ",", ";q=1",
                            "text/event-stream-x", "text/event", "xtext/event-stream"})
    EXPECT_FALSE(accepting({value}).accepts("text/event-stream")) << value;
}

TEST(Request, AnAcceptIsReadByItsWeights) {
  const auto quality = [](const char* value) {
    return accepting({value}).quality_of("text/event-stream");
  };
  EXPECT_EQ(quality("text/event-stream;q=0"), 0u) << "means no";
  EXPECT_EQ(quality("text/event-stream;q=0.000, */*"), 0u) << "what is more exact holds";
  EXPECT_EQ(quality("*/*;q=0.2, text/*;q=0.5"), 500u);
  EXPECT_EQ(quality("text/*;q=0.5, text/event-stream; Q=0.25"), 250u);
  EXPECT_EQ(quality("text/event-stream;q=1.000"), 1000u);
  EXPECT_EQ(quality("application/json, text/event-stream;q=0.001"), 1u);
  for (const char* wrong : {"2", "1.5", "0.1234", "-1", "x", "", ".5", "0,5"})
    EXPECT_EQ(quality(("text/event-stream;q="s + wrong).c_str()), 0u) << wrong;
}

TEST(Request, AnEncodingIsTakenIfItIsNamed) {
  const auto takes = [](std::vector<Header> headers) {
    Request request;
    request.headers = std::move(headers);
    return request.takes_encoding("gzip");
  };
  EXPECT_FALSE(takes({}));
  EXPECT_TRUE(takes({{"accept-encoding", "gzip, deflate, br"}}));
  EXPECT_TRUE(takes({{"accept-encoding", "*"}}));
  EXPECT_FALSE(takes({{"accept-encoding", "gzip;q=0, *"}}));
  EXPECT_FALSE(takes({{"accept-encoding", "br"}}));
}

TEST(Request, TagsAreComparedWeakly) {
  const auto knows = [](const char* value) {
    Request request;
    request.headers = {{"if-none-match", value}};
    return request.knows_tag("\"abc\"");
  };
  for (const char* value : {"\"abc\"", "W/\"abc\"", "\"x\", W/\"abc\"", "*", " \"a,b\",\"abc\""})
    EXPECT_TRUE(knows(value)) << value;
  for (const char* value : {"", "abc", "\"ab\"", "\"abc", "\"x, \"abc", "W/"})
    EXPECT_FALSE(knows(value)) << value;
  EXPECT_FALSE(Request().knows_tag("\"abc\""));
}

TEST(Http, ADateIsAsTheStandardHasIt) {
  const std::string date = http_date();
  ASSERT_EQ(date.size(), 29u) << date;
  EXPECT_EQ(date.substr(3, 2), ", ");
  EXPECT_TRUE(date.ends_with(" GMT")) << date;
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
