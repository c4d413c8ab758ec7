// CallMaker: what brig's own code does around each call of a tool of its own, the server's run_command and run_python. Before the
// call it makes a command of the arguments, or takes out of them what is the host's to see to; after it, it looks at what the call
// has left in its workspace and makes the output of that, whether the call went well or not.
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

// Gets the result of a call that was run to its end: all is set but for `output`, which is what a function has answered, or null.
// Sets `output`, and may find that the call has failed (fail_call). `workspace`: what it has left, or null if that is not known.
// Everything in the answer and the workspace was made by the tool.
using OutputMaker = std::function<void(ToolResult& result, const Workspace* workspace)>;

struct MadeCall {
  // Of a tool that is a command: see CellRequest.
  Command command;
  std::map<std::string, std::string> variables;
  std::string directory;
  std::vector<InputFile> files;
  // Of all: narrower limits, in the words of the arguments ("timeout").
  CallLimits limits;
  OutputMaker output;
};

struct CallMaker {
  // Of an interpreter's tool: what the host adds to what the tool says of itself. May be empty.
  std::function<void(Tool& tool)> adapt;
  // On the caller's thread. May take members out of the arguments. Throws Error(config) for arguments of which no call can be made,
  // in words for whoever gave them.
  std::function<MadeCall(Json& arguments)> make;
};

// The call has failed, for that reason.
inline void fail_call(ToolResult& result, Outcome outcome, std::string message) {
  result.report.outcome = outcome;
  result.report.message = message;
  result.error = std::move(message);
}

}  // namespace brig
