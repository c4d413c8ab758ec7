#include "service/event_json.h"

#include "base/text.h"

namespace brig::serve {
namespace {

// In an event and in a line of the audit log. A result has all that the report has.
constexpr std::size_t kMostConnectionsTold = 64;

}  // namespace

double milliseconds_of(std::chrono::microseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

Json data_of(const Event& event) {
  Json data = Json::object();
  const auto add_text = [&] {
    if (is_valid_utf8(event.text))
      data["text"] = event.text;
    else
      data["base64"] = base64(event.text);
  };
  switch (event.kind) {
    case Event::Kind::output:
      data["stream"] = event.stream == Stream::out ? "stdout" : "stderr";
      add_text();
      break;
    case Event::Kind::progress:
      data["fraction"] = event.fraction;
      add_text();
      break;
    case Event::Kind::lost: data["dropped"] = event.dropped; break;
    default: break;
  }
  return data;
}

Json data_of(const std::vector<Violation>& violations) {
  Json list = Json::array();
  for (const Violation& each : violations) list.push_back(Json::parse(to_json(each)));
  return list;
}

void add_connections(Json& data, const Report& report) {
  if (report.connections_total == 0) return;
  Json list = Json::array();
  for (const Connection& each : report.connections) {
    if (list.size() == kMostConnectionsTold) break;
    list.push_back(Json::parse(to_json(each)));
  }
  data["connections"] = std::move(list);
  data["connections_total"] = report.connections_total;
}

Json data_of(const ToolResult& result) {
  const Report& report = result.report;
  Json data{
      {"outcome", to_string(report.outcome)},
      {"message", result.ok() ? report.message : result.error},
      {"duration_ms", milliseconds_of(result.duration)},
      {"steps",
       {{"queue_ms", milliseconds_of(report.steps.queue)},
        {"dispatch_ms", milliseconds_of(report.steps.dispatch)},
        {"run_ms", milliseconds_of(report.steps.run)},
        {"teardown_ms", milliseconds_of(report.steps.teardown)}}},
      {"usage",
       {{"cpu_ms", milliseconds_of(report.usage.cpu)}, {"memory_peak", report.usage.memory_peak}}},
      {"violations", data_of(report.violations)},
      {"stdout_bytes", report.out.total},
      {"stderr_bytes", report.err.total}};
  if (report.usage.processes_peak) data["usage"]["processes_peak"] = *report.usage.processes_peak;
  add_connections(data, report);
  return data;
}

}  // namespace brig::serve
