// The arguments that run_command and run_python share: how long a call may take, its variables, its
// files, where it starts. All of them stay within the policy. A wrong one throws Error(config),
// with a sentence that begins with its name.
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
// Takes it out of the arguments: the host keeps the time, and the cell need not know. Returns
// nothing if it is missing.
std::optional<std::chrono::milliseconds> taken_timeout(Json& arguments);

// "env": variables by name.
Json env_schema();
std::map<std::string, std::string> env_of(const Json& arguments);

// "cwd": a path in the cell; a relative one begins in the working directory.
Json cwd_schema();
std::string cwd_of(const Json& arguments);

// "files": by path, a text, or bytes as {"base64": ...}.
std::vector<InputFile> files_of(const Json& arguments);
// Checks what the paths alone show: each is inside the workspace, none is given twice or lies below
// another file.
void check_that_all_can_be_made(std::span<const InputFile> files);

}  // namespace brig::serve
