#include "sandbox/event_json.h"

#include <gtest/gtest.h>

#include "base/time_text.h"
#include "cell/report_json.h"
#include "testing/failed_result.h"

namespace brig {
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

constexpr const char* kAt = "1970-01-01T00:00:01.500Z";

Event event_of(Event::Kind kind, std::string text = "") {
  Event event;
  event.kind = kind;
  event.tool = "add";
  event.call_id = "c-1";
  event.text = std::move(text);
  event.at = std::chrono::system_clock::time_point(1500ms);
  return event;
}

// With what every event of a call has.
Json whole(const char* kind, Json own) {
  Json json{{"kind", kind}, {"at", kAt}, {"tool", "add"}, {"call_id", "c-1"}};
  json.update(own);
  json["dropped"] = 0;
  return json;
}

TEST(EventJson, OutputIsTextWhereItIsText) {
  Event event = event_of(Event::Kind::output, "ä\n");
  EXPECT_EQ(json_of(event), whole("output", {{"stream", "stdout"}, {"text", "ä\n"}}));
  event.stream = Stream::err;
  EXPECT_EQ(json_of(event)["stream"], "stderr");
}

TEST(EventJson, OtherBytesAreBase64) {
  EXPECT_EQ(json_of(event_of(Event::Kind::output, "\xff\x01")),
            whole("output", {{"stream", "stdout"}, {"text_base64", "/wE="}}));
}

TEST(EventJson, ProgressHasItsFractionAndText) {
  Event event = event_of(Event::Kind::progress, "half");
  event.fraction = 0.5;
  EXPECT_EQ(json_of(event), whole("progress", {{"fraction", 0.5}, {"text", "half"}}));
}

TEST(EventJson, AnEndHasItsOutcomeAndMessage) {
  Event event = event_of(Event::Kind::finished, "it failed");
  event.outcome = Outcome::memory_limit;
  EXPECT_EQ(json_of(event),
            whole("finished", {{"outcome", "memory_limit"}, {"message", "it failed"}}));
}

TEST(EventJson, WhatWasLostIsCounted) {
  Event event;
  event.kind = Event::Kind::lost;
  event.at = std::chrono::system_clock::time_point(1500ms);
  event.dropped = 7;
  EXPECT_EQ(json_of(event), (Json{{"kind", "lost"}, {"at", kAt}, {"dropped", 7}}));
}

TEST(EventJson, OthersHaveNoMore) {
  for (const auto kind : {Event::Kind::queued, Event::Kind::started})
    EXPECT_EQ(json_of(event_of(kind, "ignored")), whole(to_string(kind), Json::object()));
}

TEST(EventJson, AnEndHasAllThatTheConsoleShows) {
  ToolResult result = failed();
  result.report.usage.processes_peak = 2;
  Json json = Json::object();
  add_end(json, result);
  EXPECT_EQ(json, Json::parse(R"({
      "outcome": "memory_limit", "message": "it failed", "duration_ms": 2.5,
      "stdout_bytes": 10, "stderr_bytes": 20,
      "usage": {"wall_ms": 0.0, "cpu_ms": 0.5, "memory_peak_bytes": 4096, "processes_peak": 2},
      "steps": {"queue_ms": 1.0, "dispatch_ms": 0.0, "run_ms": 1.5, "teardown_ms": 0.0},
      "violations": [{"code": "syscall.refused", "what": "mount", "target": "", "rule": "",
                      "grant": "", "retry": "never", "count": 3, "certain": true}]})"));
  result.report.outcome = Outcome::ok;
  add_end(json, result);
  EXPECT_EQ(json["message"], "other");
}

// What stands in an event stands in a report under the same name, with the same text.
TEST(EventJson, PartsOfAReportAreThoseOfTheReport) {
  const ToolResult result = failed();
  const Json report = Json::parse(to_json(result.report));
  Json json = Json::object();
  add_end(json, result);
  for (const char* name :
       {"outcome", "stdout_bytes", "stderr_bytes", "usage", "steps", "violations"})
    EXPECT_EQ(json[name].dump(), report[name].dump()) << name;
}

}  // namespace
}  // namespace brig
