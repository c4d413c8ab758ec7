#include <fmt/format.h>

#include "base/text.h"
#include "tool/json_text.h"
#include "tool/sandbox_impl.h"

namespace brig {
namespace {

void fail(ToolResult& result, Outcome outcome, std::string message) {
  result.report.outcome = outcome;
  result.report.message = message;
  result.error = std::move(message);
}

// What a function threw, as the tool told it: text, nothing more.
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

// At most that many bytes, cut between characters.
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
                fmt::format("the command wrote {}, more than the {} that are kept; raise "
                            "limits.output",
                            format_size(result.report.out.total), format_size(text.size())));
  if (!is_valid_utf8(text))
    return fail(result, Outcome::tool_error, "the command's output is not UTF-8 text");
  if (text.ends_with('\n')) text.pop_back();
  result.output = std::move(text);
}

}  // namespace

void read_result(const PreparedTool& tool, CellResult cell, ToolResult& result) {
  result.report = std::move(cell.report);
  if (result.report.outcome == Outcome::tool_error) {
    read_thrown(cell.answer.bytes, result);
    result.report.message = result.error;
  } else if (result.report.outcome != Outcome::ok) {
    result.error = result.report.message;
    // What a command says of its failure is worth more than its exit code.
    if (tool.command && result.report.outcome == Outcome::exit &&
        is_valid_utf8(result.report.err.bytes) && !result.report.err.bytes.empty())
      result.error += ": " + beginning_of(result.report.err.bytes, 2000);
  } else if (tool.command) {
    read_output(result);
  } else {
    std::string fault;
    std::optional<Json> value = json_taken_from(std::move(cell.answer.bytes), fault);
    if (value)
      result.output = std::move(*value);
    else
      fail(result, Outcome::tool_error, "the tool's result is not valid JSON: " + fault);
  }
  if (result.report.outcome == Outcome::ok && tool.output) {
    const auto faults = tool.output->check(result.output);
    if (!faults.empty())
      fail(result, Outcome::tool_error,
           fmt::format("the tool's result is not what its schema says: {}: expected {}",
                       faults[0].path.empty() ? "the result" : faults[0].path, faults[0].expected));
  }
  result.ok = result.report.outcome == Outcome::ok;
  if (!result.ok) result.output = nullptr;
}

std::string to_json(const ToolResult& result, int indent) {
  const auto text_or_null = [](const std::string& text, bool is_there) {
    return is_there ? Json(text) : Json();
  };
  Json json{{"call_id", result.call_id}, {"ok", result.ok}};
  json["error"] = text_or_null(result.error, !result.ok);
  json["error_type"] = text_or_null(result.error_type, !result.error_type.empty());
  json["traceback"] = text_or_null(result.traceback, !result.traceback.empty());
  json["denied"] = result.denied;
  json["reason"] = text_or_null(result.reason, result.denied);
  json["duration_ms"] = static_cast<double>(result.duration.count()) / 1000;
  json["started_at"] = fmt::format(
      "{:.3f}", std::chrono::duration<double>(result.started_at.time_since_epoch()).count());
  constexpr auto kReplace = Json::error_handler_t::replace;
  if (indent >= 0) {
    json["output"] = result.output;
    json["report"] = Json::parse(to_json(result.report));
    return json.dump(indent, ' ', false, kReplace);
  }
  // What can be large is not made into another value first.
  std::string text = json.dump(-1, ' ', false, kReplace), fault;
  text.back() = ',';
  text += "\"output\":" + json_text(result.output, fault).value_or("null");
  return text + ",\"report\":" + to_json(result.report) + "}";
}

}  // namespace brig
