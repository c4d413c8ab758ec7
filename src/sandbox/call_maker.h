// CallMaker: what the host does around each call of brig's own tools, the server's run_command and
// run_python. Before the call it makes a command of the arguments, or takes out those that the host
// handles. After it, it looks at what the call has left in its workspace and makes the output,
// whether the call succeeded or not.
#pragma once

#include <brig/command.h>
#include <brig/json.h>
#include <brig/runner.h>
#include <brig/sandbox.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cell/call.h"
#include "cell/workspace.h"

namespace brig {

// Receives the result of a call that was run to its end. Everything in it is set except `output`,
// which is what a function has answered, or null. Sets `output`, and may decide that the call has
// failed (fail_call). `workspace` is what the call has left, or null if that is not known. The tool
// made everything in the answer and the workspace.
using OutputMaker = std::function<void(ToolResult& result, const Workspace* workspace)>;

struct MadeCall {
  // For a tool that is a command: see CellRequest.
  Command command;
  std::map<std::string, std::string> variables;
  std::string directory;
  std::vector<InputFile> files;
  // For every tool: narrower limits, as the arguments name them ("timeout").
  CallLimits limits;
  OutputMaker output;
};

struct CallMaker {
  // For a tool of an interpreter: adds the host's part to the tool's description. May be empty.
  std::function<void(Tool& tool)> adapt;
  // Runs on the caller's thread. May take members out of the arguments. Throws Error(config) if no
  // call can be made of the arguments; the message is for the caller that gave them.
  std::function<MadeCall(Json& arguments)> make;
};

// Marks the call as failed, for that reason.
inline void fail_call(ToolResult& result, Outcome outcome, std::string message) {
  result.report.outcome = outcome;
  result.report.message = message;
  result.error = std::move(message);
}

}  // namespace brig
