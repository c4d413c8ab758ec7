#include "serve/metrics.h"

#include <gtest/gtest.h>

#include "serve/failed_result.h"

namespace brig::serve {
namespace {

using namespace std::chrono_literals;

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, CountCallsByToolAndOutcome) {
  Metrics metrics;
  ToolResult good;
  good.report.outcome = Outcome::ok;
  metrics.called("add", good);
  metrics.called("add", good);
  metrics.called("add", failed());
  EXPECT_EQ(metrics.calls(), 3u);
  const std::string text = metrics.text({});
  const auto calls = [](const char* outcome, const char* count) {
    return std::string("brig_calls_total{outcome=\"") + outcome + "\",tool=\"add\"} " + count;
  };
  EXPECT_TRUE(has_line(text, calls("ok", "2"))) << text;
  EXPECT_TRUE(has_line(text, calls("memory_limit", "1"))) << text;
  EXPECT_TRUE(has_line(text, "brig_oom_kills_total 1")) << text;
  EXPECT_TRUE(has_line(text, "brig_kills_total{why=\"memory_limit\"} 1")) << text;
  EXPECT_TRUE(has_line(text, "brig_violations_total{layer=\"seccomp\"} 3")) << text;
  EXPECT_TRUE(has_line(text, "brig_output_bytes_total{stream=\"stderr\"} 20")) << text;
  EXPECT_TRUE(has_line(text, "brig_call_step_seconds_count{step=\"total\"} 3")) << text;
  EXPECT_TRUE(has_line(text, "brig_call_step_seconds_count{step=\"run\"} 1"))
      << "only of those that ran: " << text;
}

TEST(Metrics, AToolThatIsNoneHasNoNameOfItsOwn) {
  Metrics metrics;
  metrics.called("", failed());
  EXPECT_NE(metrics.text({}).find("tool=\"(unknown)\"} 1"), std::string::npos);
}

TEST(Metrics, LeaveOutToolsThatAreNotToBeShown) {
  Metrics metrics;
  metrics.called("add", failed());
  metrics.called("secret", failed());
  const std::string text =
      metrics.text({}, [](const std::string& tool) { return tool != "secret"; });
  EXPECT_NE(text.find("tool=\"add\"} 1"), std::string::npos) << text;
  EXPECT_EQ(text.find("secret"), std::string::npos) << text;
  EXPECT_NE(metrics.text({}).find("secret"), std::string::npos);
}

TEST(Metrics, TellRefusalsAndWhatIsNow) {
  Metrics metrics;
  metrics.refused("rate-limited");
  Gauges gauges;
  gauges.ready = 2;
  gauges.running = 3;
  gauges.waiting = 4;
  gauges.connections = 5;
  gauges.streams = 6;
  gauges.http_requests = 7;
  (void)metrics.text(gauges);
  gauges.http_requests = 9;
  gauges.http_bytes_in = 100;
  const std::string text = metrics.text(gauges);
  for (const char* line :
       {"brig_refused_total{why=\"rate-limited\"} 1", "brig_cells{state=\"ready\"} 2",
        "brig_cells{state=\"running\"} 3", "brig_cells{state=\"waiting\"} 4",
        "brig_http_connections{kind=\"all\"} 5", "brig_http_connections{kind=\"events\"} 6",
        "brig_http_requests_total{kind=\"served\"} 9",
        "brig_http_bytes_total{direction=\"in\"} 100", "# TYPE brig_refused_total counter"})
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
  EXPECT_NE(text.find("brig_info{version=\""), std::string::npos);
}

}  // namespace
}  // namespace brig::serve
