// Tool: a named function with a JSON Schema, and what a client learns about it.
#pragma once

#include <brig/json.h>
#include <brig/policy.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace brig {

// A parameter's name, and its description for the model. A parameter with a default is not
// required.
struct Parameter {
  std::string name;
  std::string description;
  std::optional<Json> default_value;

  Parameter(const char* name_) : name(name_) {}             // NOLINT: "a" is a parameter
  Parameter(std::string name_) : name(std::move(name_)) {}  // NOLINT
  Parameter(std::string name_, std::string description_, std::optional<Json> default_ = {})
      : name(std::move(name_)),
        description(std::move(description_)),
        default_value(std::move(default_)) {}
};

// What a tool does, for clients that ask their user first. The defaults are MCP's. Clients read
// them; brig enforces none of them.
struct ToolAnnotations {
  bool read_only = false, destructive = true, idempotent = false, open_world = true;
};

struct ToolOptions {
  ToolAnnotations annotations;
  // Replaces the sandbox's policy for this tool. Only the operator sets it, never the model.
  std::optional<Policy> policy;
  // Accepts "8" for an integer and "true" for a boolean.
  bool coerce = true;
};

// Types of brig's own code.
struct PythonRuntime;
struct CallMaker;

// Exactly one of `call`, `argv`, `library`, `python` and `maker` must be set; it says what the tool
// runs. Only `maker` may also stand beside `python`.
struct Tool {
  // The name: 1 to 64 letters, digits, '_', '-' or '.'.
  std::string name, description;
  // A schema with "type": "object".
  Json input_schema;
  // Unset: the result may be anything.
  std::optional<Json> output_schema;
  ToolOptions options;
  // A function of this process. Its arguments are an object that input_schema allows. It runs in a
  // cell, in a copy of this process, and may throw: that is the call's error.
  std::function<Json(Json arguments)> call;
  // A command: words with {placeholders} for the parameters. Each value becomes one element of
  // argv; no shell is involved.
  std::vector<std::string> argv;
  // The path of the shared library that has the function.
  std::string library;
  // The interpreter that has imported the function's module; see Toolbox::add_python.
  std::shared_ptr<const PythonRuntime> python;
  // brig's own code that makes a command of the arguments, as for the server's run_command. Beside
  // `python`: what brig's own code does around each call, as for the server's run_python.
  std::shared_ptr<const CallMaker> maker;
};

// Whether `query` occurs in the name or the description. Upper and lower case are the same.
[[nodiscard]] bool matches(const Tool& tool, const std::string& query);

}  // namespace brig
