#include "service/run_command.h"

#include "base/error.h"
#include "base/text.h"
#include "sandbox/call_maker.h"
#include "service/builtin.h"
#include "service/call_arguments.h"
#include "service/left_files.h"

namespace brig::serve {
namespace {

void present_command(ToolResult& result, const Workspace* workspace, const GivenFiles& given) {
  Json output = Json::object();
  if (result.report.exit_code) output["exit_code"] = *result.report.exit_code;
  if (result.report.signal) output["signal"] = *result.report.signal;
  add_streams(output, result.report);
  if (workspace) add_left_files(output, *workspace, given);
  result.output = std::move(output);
}

MadeCall make_command(Json& arguments) {
  MadeCall made;
  const bool line = arguments.contains("command");
  if (line == arguments.contains("argv"))
    throw Error(ErrorKind::config,
                "give either \"argv\", a list of words, or \"command\", a shell line");
  if (line)
    made.command = Command::shell(arguments["command"].get<std::string>());
  else
    made.command.argv = arguments["argv"].get<std::vector<std::string>>();
  if (const auto input = arguments.find("stdin"); input != arguments.end())
    made.command.stdin_bytes = input->get<std::string>();
  made.limits.timeout = taken_timeout(arguments);
  made.variables = env_of(arguments);
  made.directory = cwd_of(arguments);
  made.files = files_of(arguments);
  made.output = [given = given_files(made.files)](ToolResult& result, const Workspace* workspace) {
    present_command(result, workspace, given);
  };
  return made;
}

// A path, and its text, or its bytes as {"base64": ...}.
Json files_schema() {
  return Json::parse(R"({
    "type": "object", "description": "files to put into the workspace first, by relative path",
    "maxProperties": 1000,
    "additionalProperties": {"anyOf": [
      {"type": "string"},
      {"type": "object", "properties": {"base64": {"type": "string"}}, "required": ["base64"],
       "additionalProperties": false}]}})");
}

}  // namespace

Tool run_command_tool() {
  Tool tool;
  tool.name = kRunCommand;
  tool.description =
      "Runs a command in a fresh, isolated cell. Give either argv (a list of words) or command (a "
      "line for /bin/sh). Images and files that it leaves in its workspace come back. Afterwards "
      "nothing of it is left but what the policy lets it write.";
  tool.input_schema = Json::parse(R"({
    "type": "object", "additionalProperties": false,
    "properties": {
      "argv": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 10000,
               "description": "the program and its arguments; no shell"},
      "command": {"type": "string", "description": "a line for /bin/sh -c, in place of argv"},
      "stdin": {"type": "string", "description": "what the command reads from its standard input"}
    }})");
  Json& properties = tool.input_schema["properties"];
  properties["files"] = files_schema();
  properties["timeout"] = timeout_schema("command");
  properties["env"] = env_schema();
  properties["cwd"] = cwd_schema();
  tool.options.annotations = {
      .read_only = false, .destructive = false, .idempotent = false, .open_world = false};
  tool.options.coerce = false;
  tool.maker = std::make_shared<const CallMaker>(CallMaker{{}, make_command});
  return tool;
}

}  // namespace brig::serve
