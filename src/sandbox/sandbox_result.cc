#include <fmt/format.h>

#include "base/text.h"
#include "base/time_text.h"
#include "cell/report_json.h"
#include "json/json_line.h"
#include "json/json_text.h"
#include "sandbox/sandbox_impl.h"

namespace brig {
namespace {

// Replaces the message by words that are not the cell's: it no longer mentions any violation.
void set_message(Report& report, std::string message) {
  report.message = std::move(message);
  for (Violation& each : report.violations) each.mentioned = false;
}

void fail(ToolResult& result, Outcome outcome, std::string message) {
  result.report.outcome = outcome;
  set_message(result.report, message);
  result.error = std::move(message);
}

// What a function threw, as the tool reported it: text, nothing more.
void read_thrown(const std::string& bytes, ToolResult& result) {
  std::string fault;
  const std::optional<Json> error = json_from(bytes, fault);
  if (!error || !error->is_object()) {
    result.error = "the tool failed, and its error could not be read";
    return;
  }
  const auto text = [&](const char* key) {
    const auto found = error->find(key);
    return found != error->end() && found->is_string() ? found->get<std::string>() : "";
  };
  const std::string message = text("message");
  result.error_type = text("type");
  result.traceback = text("traceback");
  result.error = message.empty() ? result.error_type : result.error_type + ": " + message;
}

// The beginning of a text: at most that many bytes, cut between characters.
std::string beginning_of(const std::string& text, std::size_t most) {
  std::string beginning = text.substr(0, most);
  if (text.size() > most) beginning.resize(most - utf8_cut_at_end(beginning));
  return beginning;
}

// A command's output is its result: text, without the newline that ends it.
void read_output(ToolResult& result) {
  std::string text = result.report.out.bytes;
  if (result.report.out.truncated)
    return fail(result, Outcome::output_limit,
                fmt::format("the command wrote {}, but only {} are kept; raise limits.output",
                            format_size(result.report.out.total), format_size(text.size())));
  if (!is_valid_utf8(text))
    return fail(result, Outcome::tool_error, "the command's output is not UTF-8 text");
  if (text.ends_with('\n')) text.pop_back();
  result.output = std::move(text);
}

}  // namespace

namespace {

// If the arguments set the time limit, the message names them and not the policy.
void use_own_words(std::string& message) {
  constexpr std::string_view kPolicys = "limits.timeout";
  if (const std::size_t at = message.find(kPolicys); at != std::string::npos)
    message.replace(at, kPolicys.size(), "timeout");
}

}  // namespace

void read_result(const SandboxCall& call, CellResult cell, ToolResult& result) {
  const PreparedTool& tool = *call.tool;
  result.report = std::move(cell.report);
  if (call.own_time && result.report.outcome == Outcome::timeout)
    use_own_words(result.report.message);
  if (result.report.outcome == Outcome::tool_error) {
    read_thrown(cell.answer.bytes, result);
    set_message(result.report, result.error);
  } else if (result.report.outcome != Outcome::ok) {
    result.error = result.report.message;
    // What a command says about its failure is worth more than its exit code.
    if (tool.command && result.report.outcome == Outcome::exit &&
        is_valid_utf8(result.report.err.bytes) && !result.report.err.bytes.empty())
      result.error += ": " + beginning_of(result.report.err.bytes, 2000);
  } else if (tool.command) {
    read_output(result);
  } else if (!tool.tool->maker || tool.tool->python) {
    std::string fault;
    std::optional<Json> value = json_taken_from(std::move(cell.answer.bytes), fault);
    if (value)
      result.output = std::move(*value);
    else
      fail(result, is_too_many(fault) ? Outcome::output_limit : Outcome::tool_error,
           is_too_many(fault) ? "the tool's result is too large: " + fault
                              : "the tool's result is not valid JSON: " + fault);
  }
  if (result.report.outcome == Outcome::ok && tool.output) {
    const auto faults = tool.output->check(result.output);
    if (!faults.empty())
      fail(result, Outcome::tool_error,
           fmt::format("the tool's result does not match its output schema: {}: expected {}",
                       faults[0].path.empty() ? "the result" : faults[0].path, faults[0].expected));
  }
  if (!result.ok()) result.output = nullptr;
  // A failed call has an output if it was run. A cancelled one has none: its caller does not wait
  // for it.
  if (!call.output || !(result.ok() || cell.workspace) ||
      result.report.outcome == Outcome::cancelled)
    return;
  const bool was_ok = result.ok();
  call.output(result, cell.workspace.get());
  if (!was_ok || result.ok() || !cell.made) return;
  // The output maker found the failure: the cell knew of none, and has not looked for its cause
  // yet.
  conclude(result.report, tool.warden->settings(), cell.made->view, tool.limits.scratch, {},
           result.error);
  set_message(result.report, result.error);
}

namespace {

// Everything except the report, without the closing brace.
std::string head_of(const ToolResult& result) {
  const auto quoted = [](const std::string& text, bool is_there = true) {
    return is_there ? json_line(text) : "null";
  };
  std::string fault;
  return fmt::format(
      R"({{"call_id":{},"ok":{},"output":{},"error":{},"error_type":{},"traceback":{},"denied":{},)"
      R"("reason":{},"duration_ms":{:.3f},"started_at":"{}")",
      quoted(result.call_id), result.ok(), json_text(result.output, fault).value_or("null"),
      quoted(result.error, !result.ok()), quoted(result.error_type, !result.error_type.empty()),
      quoted(result.traceback, !result.traceback.empty()), result.denied(),
      quoted(result.error, result.denied()), milliseconds_of(result.duration),
      time_text(result.started_at));
}

}  // namespace

std::string to_json(const ToolResult& result, int indent) {
  std::string text = head_of(result) + ",\"report\":" + to_json(result.report) + "}";
  if (indent < 0) return text;
  return Json::parse(text).dump(indent, ' ', false);
}

std::string to_json_lines(const ToolResult& result) {
  return head_of(result) + "}\n" + to_json(result.report);
}

}  // namespace brig
