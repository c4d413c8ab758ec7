#include "service/run_python.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "sandbox/call_maker.h"
#include "service/builtin.h"
#include "service/call_arguments.h"
#include "service/left_files.h"
#include "service/python_displays.h"

namespace brig::serve {
namespace {

constexpr std::size_t kLongestErrorType = 200, kLongestError = 16 << 10, kLongestTrace = 64 << 10;

const std::string* string_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? &found->get_ref<const std::string&>()
                                                     : nullptr;
}

// The beginning of a text, or with `end` its end.
std::string part_of(const std::string* text, std::size_t most, bool end = false) {
  if (!text) return "";
  if (text->size() <= most) return *text;
  std::string part = end ? text->substr(text->size() - most) : text->substr(0, most);
  if (end)
    part.erase(0, utf8_cut_at_start(part));
  else
    part.resize(part.size() - utf8_cut_at_end(part));
  return part;
}

// Reads from the cell's answer how the code ended. The cell can only report its own failure here.
// The answer that the code was not run may be made by the code itself, so what it wrote and left
// still comes back.
void read_end(ToolResult& result, const Json& answer) {
  result.report.exit_code = 0;
  if (const std::string* why = string_in(answer, "not_run")) {
    result.report.exit_code.reset();
    result.error_type = "NotRun";
    return fail_call(result, Outcome::tool_error, part_of(why, kLongestError));
  }
  if (const auto error = answer.find("error"); error != answer.end()) {
    result.report.exit_code.reset();
    if (!error->is_object())
      return fail_call(result, Outcome::tool_error,
                       "the code failed, and its error could not be read");
    result.error_type = part_of(string_in(*error, "type"), kLongestErrorType);
    if (result.error_type.empty()) result.error_type = "Exception";
    result.traceback = part_of(string_in(*error, "traceback"), kLongestTrace, true);
    const std::string message = part_of(string_in(*error, "message"), kLongestError);
    return fail_call(result, Outcome::tool_error,
                     message.empty() ? result.error_type : result.error_type + ": " + message);
  }
  const auto code = answer.find("exit_code");
  if (code == answer.end() || code->is_null()) return;
  if (!code->is_number_integer() || *code < 0 || *code > 255) {
    result.report.exit_code.reset();
    return fail_call(result, Outcome::tool_error,
                     "the code exited, and its exit code could not be read");
  }
  result.report.exit_code = code->get<int>();
  if (*result.report.exit_code != 0)
    fail_call(result, Outcome::exit,
              fmt::format("the code exited with code {}", *result.report.exit_code));
}

void present(ToolResult& result, const Workspace* workspace, const GivenFiles& given) {
  Json answer = std::exchange(result.output, nullptr);
  Json output = Json::object();
  if (result.ok() && !answer.is_object()) {
    fail_call(result, Outcome::tool_error, "the cell's answer is not an object");
  } else if (result.ok()) {
    read_end(result, answer);
    if (result.ok()) output["value"] = std::move(answer["value"]);
  } else if (result.report.outcome == Outcome::tool_error) {
    // Of the interpreter's process, not the code's.
    result.report.exit_code.reset();
  }
  add_streams(output, result.report);
  if (answer.is_object()) add_displays(output, answer, result.report.out.total);
  if (workspace) add_left_files(output, *workspace, given);
  result.output = std::move(output);
}

MadeCall make_python(Json& arguments) {
  MadeCall made;
  made.limits.timeout = taken_timeout(arguments);
  // Checks the arguments alone. What only the cell can find out (a missing directory, an existing
  // file, no room), it reports itself.
  (void)env_of(arguments);
  (void)cwd_of(arguments);
  const std::vector<InputFile> files = files_of(arguments);
  check_that_all_can_be_made(files);
  made.output = [given = given_files(files)](ToolResult& result, const Workspace* workspace) {
    present(result, workspace, given);
  };
  return made;
}

void adapt_python(Tool& tool) {
  if (tool.name != kRunPython) return;
  tool.input_schema["properties"]["timeout"] = timeout_schema("code");
}

}  // namespace

std::shared_ptr<const CallMaker> run_python_maker() {
  return std::make_shared<const CallMaker>(CallMaker{adapt_python, make_python});
}

}  // namespace brig::serve
