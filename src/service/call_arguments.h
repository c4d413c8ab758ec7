// Arguments that run_command and run_python share, or that are read with care: how long a call may take, its variables, where it
// starts. Each within the policy. What is wrong throws Error(config), in a sentence that begins with the argument's name.
#pragma once

#include <brig/json.h>

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cell/call.h"

namespace brig::serve {

// "timeout", in seconds or as "500ms". `what`: "command" or "code".
Json timeout_schema(const char* what);
// Takes it out of the arguments: the host keeps the time, and the cell need not know. Nothing if it is not there.
std::optional<std::chrono::milliseconds> taken_timeout(Json& arguments);

// "env": variables by name.
Json env_schema();
std::map<std::string, std::string> env_of(const Json& arguments);

// "cwd": a path in the cell; a relative one begins in the working directory.
Json cwd_schema();
std::string cwd_of(const Json& arguments);

// "files": by path, a text, or bytes as {"base64": ...}.
std::vector<InputFile> files_of(const Json& arguments);
// As far as the words tell: each inside the workspace, none twice or below another.
void check_that_all_can_be_made(std::span<const InputFile> files);

}  // namespace brig::serve
