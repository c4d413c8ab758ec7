#include "sandbox/event_json.h"

#include "base/time_text.h"
#include "cell/report_json.h"

namespace brig {

Json json_of(const Event& event) {
  Json json{{"kind", to_string(event.kind)}, {"at", time_text(event.at)}};
  if (!event.tool.empty()) json["tool"] = event.tool;
  if (!event.call_id.empty()) json["call_id"] = event.call_id;
  switch (event.kind) {
    case Event::Kind::output:
      json["stream"] = event.stream == Stream::out ? "stdout" : "stderr";
      add_bytes(json, "text", event.text);
      break;
    case Event::Kind::progress:
      json["fraction"] = event.fraction;
      add_bytes(json, "text", event.text);
      break;
    case Event::Kind::finished:
      json["outcome"] = to_string(event.outcome);
      json["message"] = event.text;
      break;
    default: break;
  }
  json["dropped"] = event.dropped;
  return json;
}

void add_end(Json& event, const ToolResult& result) {
  const Report& report = result.report;
  event["outcome"] = to_string(report.outcome);
  event["message"] = result.ok() ? report.message : result.error;
  event["duration_ms"] = milliseconds_of(result.duration);
  event["stdout_bytes"] = report.out.total;
  event["stderr_bytes"] = report.err.total;
  event["usage"] = json_of(report.usage);
  event["steps"] = json_of(report.steps);
  event["violations"] = json_of(report.violations);
}

}  // namespace brig
