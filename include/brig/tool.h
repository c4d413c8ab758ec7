// Tool: a named function with a JSON Schema, and what a client is told of it.
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

// A parameter's name, and what the model is told of it. One with a default is not required.
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

// What a client is told that a tool does, and may be asked to confirm. MCP's defaults.
struct ToolAnnotations {
  bool read_only = false, destructive = true, idempotent = false, open_world = true;
};

struct ToolOptions {
  ToolAnnotations annotations;
  std::optional<Policy>
      policy;          // instead of the sandbox's; the operator's to say, never the model's
  bool coerce = true;  // "8" for an integer, "true" for a boolean
};

struct PythonRuntime;  // brig's own
struct CallMaker;      // likewise

// Exactly one of `call`, `argv`, `library`, `python` and `maker` says what the tool is; `maker` may stand beside `python`.
struct Tool {
  std::string name, description;
  Json input_schema;                  // an object's
  std::optional<Json> output_schema;  // none: anything
  ToolOptions options;
  // A function. The arguments are an object that input_schema allows, and the function's to
  // take apart. May throw; runs in a cell.
  std::function<Json(Json arguments)> call;
  // A command: words with {placeholders} for the parameters, each value one argv element, never a shell.
  std::vector<std::string> argv;
  // A function of that shared library.
  std::string library;
  // A function of a module that an interpreter has imported: see Toolbox::add_python.
  std::shared_ptr<const PythonRuntime> python;
  // A command that brig's own code makes of the arguments: the server's run_command. Beside `python`: what brig's own code does
  // around each call, as for the server's run_python.
  std::shared_ptr<const CallMaker> maker;
};

// Whether `query` is in the name or the description, whatever the case.
bool matches(const Tool& tool, const std::string& query);

}  // namespace brig
