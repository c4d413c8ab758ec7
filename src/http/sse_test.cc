#include "http/sse.h"

#include <gtest/gtest.h>

namespace brig::serve {
namespace {

// A client that takes what it is told to.
class Reader final : public Exchange {
 public:
  void respond(Response) override { answered_ = begun_ = true; }
  void begin(Response response) override {
    begun_ = true;
    head = std::move(response);
  }
  void write(std::string_view piece) override { text += piece; }
  void end() override { answered_ = true; }
  std::size_t unsent() const override { return waiting; }
  void on_gone(std::function<void()>) override {}

  Response head;
  std::string text;
  std::size_t waiting = 0;
};

class SseStreamOf : public testing::Test {
 protected:
  Loop loop_;
  std::shared_ptr<Reader> reader_ = std::make_shared<Reader>();
  SseStream stream_{loop_, reader_, {{"Extra", "x"}}};
};

TEST_F(SseStreamOf, BeginsTheAnswerAtOnce) {
  EXPECT_TRUE(reader_->begun());
  EXPECT_EQ(reader_->head.type, "text/event-stream");
  const auto has = [&](const char* name, const char* value) {
    for (const Header& each : reader_->head.headers)
      if (each.name == name && each.value == value) return true;
    return false;
  };
  EXPECT_TRUE(has("Cache-Control", "no-store"));
  EXPECT_TRUE(has("X-Accel-Buffering", "no"));
  EXPECT_TRUE(has("Extra", "x"));
  EXPECT_EQ(reader_->text, "");
}

TEST_F(SseStreamOf, NumbersItsEvents) {
  stream_.send("a", std::string("1"));
  stream_.send("b", Json{{"x", 2}});
  EXPECT_EQ(reader_->text, "id: 1\nevent: a\ndata: 1\n\nid: 2\nevent: b\ndata: {\"x\":2}\n\n");
  stream_.end();
  EXPECT_TRUE(reader_->answered());
}

TEST_F(SseStreamOf, ATextOfManyLinesIsOneLineOfJson) {
  stream_.send("a", Json{{"text", "one\ntwo\r\n"}});
  EXPECT_EQ(reader_->text, "id: 1\nevent: a\ndata: {\"text\":\"one\\ntwo\\r\\n\"}\n\n");
}

TEST_F(SseStreamOf, WhoIsTooSlowIsToldHowMuchWasLost) {
  reader_->waiting = 2 << 20;
  for (int i = 0; i < 3; ++i) stream_.send("a", std::string("x"));
  EXPECT_EQ(reader_->text, "");
  reader_->waiting = 0;
  stream_.send("b", std::string("y"));
  const std::string begin = "id: 1\nevent: lost\ndata: {\"kind\":\"lost\",\"at\":\"",
                    end = "Z\",\"dropped\":3}\n\nid: 2\nevent: b\ndata: y\n\n";
  EXPECT_TRUE(reader_->text.starts_with(begin) && reader_->text.ends_with(end)) << reader_->text;
}

TEST_F(SseStreamOf, WhatMustBeSentIs) {
  reader_->waiting = 2 << 20;
  stream_.send("a", std::string("x"));
  stream_.send("result", std::string("y"), true);
  EXPECT_NE(reader_->text.find("event: lost\n"), std::string::npos) << reader_->text;
  EXPECT_NE(reader_->text.find("event: result\ndata: y\n"), std::string::npos) << reader_->text;
}

}  // namespace
}  // namespace brig::serve
