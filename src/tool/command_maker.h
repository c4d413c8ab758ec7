// CommandMaker: a tool of brig's own, each call of which is a command that the host makes of the arguments. It runs
// in a cell like any other command and is judged like one; before it, files are put into its working directory, and
// after it, the host looks at what it has left there.
#pragma once

#include <brig/command.h>
#include <brig/json.h>
#include <brig/report.h>

#include <functional>
#include <vector>

#include "cell/call.h"
#include "cell/workspace.h"

namespace brig {

// The output of a call whose command has succeeded. `workspace`: what it has left, or null.
using OutputMaker = std::function<Json(const Report& report, const Workspace* workspace)>;

struct MadeCommand {
  Command command;
  std::vector<InputFile> files;
  OutputMaker output;
};

struct CommandMaker {
  // On the caller's thread. Throws Error(config) for arguments of which no command can be made, in words for
  // whoever gave them.
  std::function<MadeCommand(const Json& arguments)> make;
};

}  // namespace brig
