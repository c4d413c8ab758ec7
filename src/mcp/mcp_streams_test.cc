#include "mcp/mcp_streams.h"

#include <gtest/gtest.h>

#include "json/json_line.h"

namespace brig::serve {
namespace {

// A connection that notes what it is sent, and can be lost.
class Line final : public Exchange {
 public:
  void respond(Response) override { answered_ = begun_ = true; }
  void begin(Response) override { begun_ = true; }
  void write(std::string_view piece) override { text += piece; }
  void end() override { answered_ = true; }
  std::size_t unsent() const override { return 0; }
  void on_gone(std::function<void()> job) override { gone_ = std::move(job); }
  void lose() { gone_(); }
  bool has(std::string_view what) const { return text.find(what) != text.npos; }

  std::string text;

 private:
  std::function<void()> gone_;
};

class McpStreamOf : public testing::Test {
 protected:
  static McpSessionPtr session_of(const CallerPtr& caller) {
    auto made = std::make_shared<McpSession>();
    made->caller = caller;
    return made;
  }
  // What somebody gets who comes back with that event.
  std::shared_ptr<Line> back(McpStreams& streams, const McpSessionPtr& of, const std::string& id) {
    std::uint64_t number = 0;
    const McpStreamPtr stream = streams.find(*of, id, number);
    if (!stream) return nullptr;
    auto line = std::make_shared<Line>();
    stream->attach(line, {}, number);
    return line;
  }
  Json note(const std::string& text) { return {{"note", text}}; }
  Json answer(int id, const std::string& text = "") { return {{"id", id}, {"result", text}}; }
  void finish(const McpStreamPtr& stream, const Json& last) {
    stream->finish(last["id"], json_line(last));
  }

  Loop loop;
  const CallerPtr a = std::make_shared<Caller>(), b = std::make_shared<Caller>();
  const McpSessionPtr session = session_of(a), other = session_of(b);
};

TEST_F(McpStreamOf, WhatCameWhileNobodyWasThereIsSentLater) {
  McpStreams streams(loop);
  const McpStreamPtr stream = streams.open(session);
  const auto line = std::make_shared<Line>();
  stream->attach(line, {});
  stream->notify(note("one"));
  line->lose();
  stream->notify(note("two"));
  finish(stream, answer(7));
  EXPECT_FALSE(line->has("two"));
  const auto later = back(streams, session, stream->id + "-1");
  ASSERT_TRUE(later);
  EXPECT_FALSE(later->has("one"));
  EXPECT_TRUE(later->has("two") && later->has("\"id\":7"));
  EXPECT_TRUE(later->answered());
  EXPECT_FALSE(back(streams, other, stream->id + "-1")) << "another's session";
}

TEST_F(McpStreamOf, GoesTwoMinutesAfterItsAnswerAndNotBefore) {
  McpStreams streams(loop);
  const McpStreamPtr stream = streams.open(session);
  const auto now = std::chrono::steady_clock::now();
  streams.expire(now + std::chrono::hours(1));
  EXPECT_TRUE(back(streams, session, stream->id + "-0")) << "it has not ended";
  finish(stream, answer(7));
  streams.expire(now + std::chrono::seconds(100));
  EXPECT_TRUE(back(streams, session, stream->id + "-0"));
  streams.expire(now + std::chrono::minutes(5));
  EXPECT_FALSE(back(streams, session, stream->id + "-0"));
  EXPECT_EQ(streams.bytes(), 0u);
}

TEST_F(McpStreamOf, OfManyNotificationsTheLastAreKeptAndTheAnswerAlways) {
  McpStreams streams(loop, {.notices = 1000});
  const McpStreamPtr stream = streams.open(session);
  for (int i = 0; i < 1000; ++i) stream->notify(note("n" + std::to_string(i) + "."));
  EXPECT_LE(streams.bytes(), 1000u);
  finish(stream, answer(7, std::string(5000, 'x')));
  const auto later = back(streams, session, stream->id + "-0");
  EXPECT_FALSE(later->has("n1."));
  EXPECT_TRUE(later->has("n999.") && later->has("\"id\":7"));
}

TEST_F(McpStreamOf, AnAnswerThatIsTooLargeToKeepIsAnError) {
  McpStreams streams(loop, {.bytes = 1000});
  const McpStreamPtr stream = streams.open(session);
  finish(stream, answer(7, std::string(5000, 'x')));
  const auto later = back(streams, session, stream->id + "-0");
  ASSERT_TRUE(later);
  EXPECT_TRUE(later->has("\"id\":7") && later->has("too large to keep")) << later->text;
  EXPECT_LE(streams.bytes(), 1000u);
}

TEST_F(McpStreamOf, OneCallerTakesNothingOfAnothers) {
  McpStreams streams(loop, {.count = 8, .bytes = 10'000});
  const McpStreamPtr first = streams.open(other);
  finish(first, answer(1, "b's"));
  for (int i = 0; i < 100; ++i)
    if (const McpStreamPtr each = streams.open(session))
      finish(each, answer(i, std::string(1000, 'x')));
  EXPECT_LE(streams.count(), 8u);
  EXPECT_LE(streams.bytes(), 10'000u);
  EXPECT_TRUE(back(streams, other, first->id + "-0")->has("b's"));
  EXPECT_TRUE(streams.open(other)) << "and there is room for more";
}

TEST_F(McpStreamOf, GoesWithItsSession) {
  McpStreams streams(loop);
  const McpStreamPtr stream = streams.open(session);
  const auto line = std::make_shared<Line>();
  stream->attach(line, {});
  streams.forget(*session);
  EXPECT_FALSE(back(streams, session, stream->id + "-0"));
  finish(stream, answer(7));
  EXPECT_TRUE(line->has("\"id\":7")) << "who is there still gets it";
  EXPECT_EQ(streams.bytes(), 0u);
}

}  // namespace
}  // namespace brig::serve
