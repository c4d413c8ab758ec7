#include "service/metrics.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "testing/failed_result.h"

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
  EXPECT_TRUE(has_line(text, "brig_violations_total{code=\"syscall.refused\"} 3")) << text;
  EXPECT_TRUE(has_line(text, "brig_output_bytes_total{stream=\"stderr\"} 20")) << text;
  EXPECT_TRUE(has_line(text, "brig_call_duration_seconds_count{tool=\"add\"} 3")) << text;
  EXPECT_EQ(text.find("step=\"total\""), std::string::npos) << "a sum beside its parts";
  EXPECT_TRUE(has_line(text, "brig_call_step_seconds_count{step=\"run\"} 1"))
      << "only of those that ran: " << text;
}

TEST(Metrics, CountConnectionsByVerdictAndTheirBytes) {
  Metrics metrics;
  ToolResult result;
  const auto add = [&](Connection::Verdict verdict, std::uint64_t sent, std::uint64_t received) {
    result.report.connections.push_back(
        {.host = "a.example", .verdict = verdict, .sent = sent, .received = received});
  };
  add(Connection::Verdict::allowed, 100, 2000);
  add(Connection::Verdict::allowed, 1, 2);
  add(Connection::Verdict::denied, 0, 0);
  result.report.connections_total = 10;
  metrics.called("get", result);
  const std::string text = metrics.text({});
  for (const char* line : {"brig_connections_total{verdict=\"allowed\"} 2",
                           "brig_connections_total{verdict=\"denied\"} 1",
                           "brig_connections_total{verdict=\"unlisted\"} 7",
                           "brig_connection_bytes_total{direction=\"sent\"} 101",
                           "brig_connection_bytes_total{direction=\"received\"} 2002"})
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
  EXPECT_EQ(text.find("a.example"), std::string::npos) << "a tool must not make labels";
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
  gauges.audit_failures = 7;
  (void)metrics.text(gauges);
  gauges.audit_failures = 9;
  gauges.http_bytes_in = 100;
  const std::string text = metrics.text(gauges);
  for (const char* line :
       {"brig_refused_total{why=\"rate-limited\"} 1", "brig_cells_ready 2", "brig_calls_running 3",
        "brig_calls_waiting 4", "brig_http_connections 5", "brig_http_event_streams 6",
        "brig_audit_failures_total 9", "brig_http_received_bytes_total 100",
        "# TYPE brig_refused_total counter"})
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
  EXPECT_NE(text.find("brig_info{version=\""), std::string::npos);
}

TEST(Metrics, CountAnswersByMethodRouteAndStatus) {
  Metrics metrics;
  metrics.answered("POST", "/v1/tools/a%20b/call", 200);
  metrics.answered("POST", "/v1/tools/other/call", 200);
  metrics.answered("BREW", "/coffee/" + std::string(1000, 'x'), 404);
  metrics.answered("", "", 400);
  const std::string text = metrics.text({});
  const auto line = [](const char* method, const char* route, const char* rest) {
    return std::string("brig_http_requests_total{method=\"") + method + "\",route=\"" + route +
           "\"," + rest;
  };
  EXPECT_TRUE(has_line(text, line("POST", "/v1/tools/{name}/call", "status=\"200\"} 2"))) << text;
  EXPECT_TRUE(has_line(text, line("other", "other", "status=\"404\"} 1"))) << text;
  EXPECT_TRUE(has_line(text, line("other", "other", "status=\"400\"} 1"))) << text;
}

TEST(Metrics, KnowAPathByItsRoute) {
  for (const auto& [path, route] :
       std::map<std::string, std::string>{{"/", "/"},
                                          {"/console/main.js", "/console/{file}"},
                                          {"/v1/calls", "/v1/calls"},
                                          {"/v1/calls/x", "/v1/calls/{id}"},
                                          {"/v1/jobs/x", "/v1/jobs/{id}"},
                                          {"/v1/jobs/x/y", "other"},
                                          {"/v1/tools/x/call", "/v1/tools/{name}/call"},
                                          {"/v1/tools//call", "other"},
                                          {"/v1/tools/call", "other"},
                                          {"/mcp", "/mcp"},
                                          {"", "other"},
                                          {"/mcp/", "other"}})
    EXPECT_EQ(route_of(path), route) << path;
}

TEST(Metrics, HaveABoundedNumberOfTools) {
  Metrics metrics;
  for (int i = 0; i < 300; ++i) metrics.called("tool_" + std::to_string(i), failed());
  const std::string text = metrics.text({});
  EXPECT_NE(text.find("tool=\"tool_99\""), std::string::npos);
  EXPECT_EQ(text.find("tool=\"tool_100\""), std::string::npos);
  EXPECT_TRUE(has_line(text, "brig_call_duration_seconds_count{tool=\"(other)\"} 200"));
}

TEST(Metrics, TellOfReloadsAndOfTheProcess) {
  Metrics metrics;
  metrics.reloaded(true);
  metrics.reloaded(false);
  const std::string text = metrics.text({});
  EXPECT_TRUE(has_line(text, "brig_reloads_total{result=\"ok\"} 1")) << text;
  EXPECT_TRUE(has_line(text, "brig_reloads_total{result=\"failed\"} 1")) << text;
  const auto value = [&](const std::string& name) {
    const std::size_t at = ("\n" + text).find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 1));
  };
  EXPECT_GT(value("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(value("process_virtual_memory_bytes"), value("process_resident_memory_bytes"));
  EXPECT_GE(value("process_open_fds"), 3);
  EXPECT_GE(value("process_max_fds"), value("process_open_fds"));
  EXPECT_GE(value("process_cpu_seconds_total"), 0);
  EXPECT_GT(value("process_start_time_seconds"), 1.6e9);
}

// What `promtool check metrics` looks at.
TEST(Metrics, AreNamedByConvention) {
  Metrics metrics;
  metrics.called("add", failed());
  metrics.refused("draining");
  metrics.answered("GET", "/", 200);
  std::istringstream lines(metrics.text({}));
  std::map<std::string, std::string> help, types;
  std::set<std::string> samples;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, what, name, rest;
    if (line.starts_with("#")) {
      words >> hash >> what >> name;
      std::getline(words >> std::ws, rest);
      EXPECT_TRUE((what == "HELP" ? help : types).emplace(name, rest).second) << "twice: " << line;
    } else {
      samples.insert(line.substr(0, line.find_first_of("{ ")));
    }
  }
  EXPECT_GT(types.size(), 25u);
  for (const auto& [name, type] : types) {
    EXPECT_FALSE(help[name].empty()) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << name;
    EXPECT_TRUE(name.starts_with("brig_") || name.starts_with("process_")) << name;
    EXPECT_EQ(name.ends_with("_total"), type == "counter") << name << " is a " << type;
    EXPECT_TRUE(type != "histogram" || name.ends_with("_seconds")) << name;
    for (const char* wrong :
         {"_ms", "milliseconds", "kilobytes", "_count", "_sum", "_bucket", "gauge", "counter"})
      EXPECT_EQ(name.find(wrong), std::string::npos) << name;
    for (const char* unit : {"_seconds", "_bytes"})
      EXPECT_TRUE(name.find(unit) == std::string::npos || name.ends_with(unit) ||
                  name.ends_with(std::string(unit) + "_total"))
          << name;
  }
  for (std::string name : samples) {
    for (const std::string end : {"_bucket", "_sum", "_count"})
      if (const auto found =
              types.find(name.substr(0, name.size() - std::min(end.size(), name.size())));
          name.ends_with(end) && found != types.end() && found->second == "histogram")
        name = found->first;
    EXPECT_TRUE(types.contains(name)) << name;
  }
}

}  // namespace
}  // namespace brig::serve
