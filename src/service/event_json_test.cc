#include "service/event_json.h"

#include <gtest/gtest.h>

#include "base/time_text.h"
#include "testing/failed_result.h"

namespace brig::serve {
namespace {

TEST(TimeText, IsRfc3339InUtcWithMilliseconds) {
  using std::chrono::system_clock;
  EXPECT_EQ(time_text(system_clock::time_point(std::chrono::milliseconds(1500))),
            "1970-01-01T00:00:01.500Z");
  EXPECT_EQ(time_text(system_clock::time_point(std::chrono::microseconds(1'794'994'013'589'999))),
            "2026-11-18T09:26:53.589Z");
  EXPECT_EQ(time_text(system_clock::time_point(std::chrono::milliseconds(-1))),
            "1969-12-31T23:59:59.999Z");
}

using namespace std::chrono_literals;

Event output(std::string text, Stream stream = Stream::out) {
  Event event;
  event.kind = Event::Kind::output;
  event.text = std::move(text);
  event.stream = stream;
  return event;
}

TEST(EventJson, OutputIsTextWhereItIsText) {
  EXPECT_EQ(data_of(output("ä\n")), (Json{{"stream", "stdout"}, {"text", "ä\n"}}));
  EXPECT_EQ(data_of(output("x", Stream::err)), (Json{{"stream", "stderr"}, {"text", "x"}}));
}

TEST(EventJson, OtherBytesAreBase64) {
  EXPECT_EQ(data_of(output("\xff\x01")), (Json{{"stream", "stdout"}, {"base64", "/wE="}}));
}

TEST(EventJson, ProgressHasItsFractionAndText) {
  Event event;
  event.kind = Event::Kind::progress;
  event.fraction = 0.5;
  event.text = "half";
  EXPECT_EQ(data_of(event), (Json{{"fraction", 0.5}, {"text", "half"}}));
}

TEST(EventJson, WhatWasLostIsCounted) {
  Event event;
  event.kind = Event::Kind::lost;
  event.dropped = 7;
  EXPECT_EQ(data_of(event), (Json{{"dropped", 7}}));
}

TEST(EventJson, OthersHaveNoMore) {
  Event event;
  for (const auto kind : {Event::Kind::queued, Event::Kind::started}) {
    event.kind = kind;
    EXPECT_EQ(data_of(event), Json::object());
  }
}

TEST(EventJson, AnEndHasAllThatTheConsoleShows) {
  ToolResult result = failed();
  result.report.usage.processes_peak = 2;
  EXPECT_EQ(data_of(result), Json::parse(R"({
      "outcome": "memory_limit", "message": "it failed", "duration_ms": 2.5,
      "steps": {"queue_ms": 1.0, "dispatch_ms": 0.0, "run_ms": 1.5, "teardown_ms": 0.0},
      "usage": {"cpu_ms": 0.5, "memory_peak": 4096, "processes_peak": 2},
      "violations": [{"code": "syscall.refused", "what": "mount", "target": "", "rule": "", "grant": "",
                      "retry": "never", "count": 3, "certain": true}],
      "stdout_bytes": 10, "stderr_bytes": 20})"));
  result.report.outcome = Outcome::ok;
  EXPECT_EQ(data_of(result)["message"], "other");
  result.report.usage.processes_peak.reset();
  EXPECT_FALSE(data_of(result)["usage"].contains("processes_peak"));
  EXPECT_FALSE(data_of(result).contains("connections"));
}

TEST(EventJson, AnEndHasTheFirstConnections) {
  ToolResult result = failed();
  result.report.connections.assign(
      100, {.host = "api.github.com", .port = 443, .verdict = Connection::Verdict::allowed});
  result.report.connections_total = 5000;
  const Json data = data_of(result);
  ASSERT_EQ(data["connections"].size(), 64u);
  EXPECT_EQ(data["connections"][63]["host"], "api.github.com");
  EXPECT_EQ(data["connections"][63]["verdict"], "allowed");
  EXPECT_EQ(data["connections_total"], 5000);
}

}  // namespace
}  // namespace brig::serve
